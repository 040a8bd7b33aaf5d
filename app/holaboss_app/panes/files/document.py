"""The text of one open file and what may happen to it: plain data, no widgets, no network.

A file is edited only when an editor can give back exactly the bytes it was given, so that saving changes
nothing but what the person changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final

from PySide6.QtCore import QCoreApplication

from holaboss_app.core.attachments import STAGED, is_picture, readable_size
from holaboss_client.workspaces import FileContent, FileEntry

MAX_TEXT_BYTES: Final = 2 * 1024 * 1024
MAX_PICTURE_BYTES: Final = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """What the editor was given. `text` has `\\n` line ends; `newline` is what the file uses."""

    path: str
    text: str
    newline: str
    sha256: str
    read_only_reason: str = ""

    def encode(self, text: str) -> bytes:
        """The bytes to write for what the editor now holds."""
        return text.replace("\n", self.newline).encode()

    def saved_as(self, text: str) -> Document:
        return replace(self, text=text, sha256=hashlib.sha256(self.encode(text)).hexdigest())


def opened(content: FileContent) -> Document | str:
    """A document, or a sentence that says why this file cannot be shown as text."""
    if content.encoding != "utf-8" or "\0" in content.content:
        return _tr("This is not a text file, so it cannot be shown here.")
    if content.size > MAX_TEXT_BYTES:
        return too_large(content.size)
    newline = "\r\n" if "\r\n" in content.content else "\n"
    text = content.content.replace("\r\n", "\n")
    reason = ""
    if text.replace("\n", newline) != content.content or any(mark in text for mark in _UNSAFE):
        reason = _tr(
            "This file mixes line ends or holds characters that an editor would change: read-only here."
        )
    if content.path.startswith(STAGED):
        reason = _tr("This file was sent with a message: it stays as it was.")
    return Document(content.path, text, newline, content.sha256, reason)


def refusal(entry: FileEntry) -> str | None:
    """Why an entry of the tree is not even fetched, as a sentence; None when it may be opened."""
    if entry.kind == "link":
        return _tr("This is a link. Links are not followed, because they may lead out of the workspace.")
    if entry.kind != "file":
        return _tr("Only files can be opened.")
    if is_picture(entry.name):
        return too_large(entry.size, MAX_PICTURE_BYTES) if entry.size > MAX_PICTURE_BYTES else None
    return too_large(entry.size) if entry.size > MAX_TEXT_BYTES else None


def may_be_picture(content: FileContent) -> bool:
    """Whether it is worth being looked at as a picture."""
    return content.encoding == "base64" and is_picture(content.path)


def too_large(size: int, limit: int = MAX_TEXT_BYTES) -> str:
    sentence = _tr("This file is {size}. Text up to {limit} can be opened here.")
    if limit == MAX_PICTURE_BYTES:
        sentence = _tr("This file is {size}. Pictures up to {limit} can be opened here.")
    return sentence.format(size=readable_size(size), limit=readable_size(limit))


_UNSAFE: Final = ("\r", "\u2028", "\u2029", "\ufdd0", "\ufdd1", "\ufeff")
"""What QTextDocument turns into something else, and the byte order mark, which would become text."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Document", text)
