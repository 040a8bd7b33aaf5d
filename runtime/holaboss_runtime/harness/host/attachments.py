"""The files of a message, as the model gets them: pictures to look at, text to read, everything else by its path.

Bounded as a whole, because a person may attach anything. Nothing is fetched: a picture comes from the workspace or
with the message itself.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import unquote_to_bytes

from pydantic_ai import BinaryContent

from holaboss_runtime.harness.contract import Attachment, Mount, RunPackage
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.documents import DocumentError, document_kind, read_document, without_tags
from holaboss_runtime.harness.host.pictures import MAX_PICTURE_BYTES, media_type_of
from holaboss_runtime.harness.host.tools.beneath import open_place
from holaboss_runtime.harness.host.tools.places import Areas, Place, PlaceError
from holaboss_runtime.workspace.attached import PLACE, STAGING, seen_as
from holaboss_runtime.workspace.documents.kinds import MAX_DOCUMENT_BYTES

MAX_TEXT_BYTES = 128 * 1024
MAX_PICTURES = 20
MAX_PICTURES_BYTES = 20 << 20
LISTED_ENTRIES = 100
REMEMBERED_CHARS = 20_000
_CHARS_PER_TOKEN = 3
_OPENINGS = ("<pdf filename=", "<docx filename=", "<pptx filename=", "<excel filename=", "<file name=")

Part = str | BinaryContent


def attachments_mount(root: Path) -> Mount:
    """The staged files of a workspace, to be read."""
    return Mount(mount_path=PLACE, source=str(root / STAGING))


class Rendering:
    """Collects what becomes of each attachment. `root` is real."""

    def __init__(self, package: RunPackage, root: Path, commands: CommandRunner) -> None:
        self._commands = commands
        self._areas = Areas(root, [attachments_mount(root)])
        self._sees = package.model_facts.takes_images
        self._model = package.model_id
        self._room = package.model_facts.context_window * _CHARS_PER_TOKEN // 2
        self._picture_bytes = 0
        self._pictures: list[BinaryContent] = []
        self._texts: list[str] = []
        self._images: list[str] = []
        self._folders: list[str] = []
        self._others: list[str] = []

    async def add(self, attachment: Attachment) -> None:
        shown = seen_as(attachment.workspace_path)
        try:
            place = self._areas.locate(shown)
            if place.path.is_dir():
                self._folders.append(await asyncio.to_thread(_listing, place))
                return
            content = await asyncio.to_thread(_read, place)
        except (OSError, PlaceError, ValueError):
            self._others.append(f"{shown} (it is not there any more, or cannot be opened)")
            return
        await self._take(attachment.name or place.path.name, shown, content)

    def add_url(self, url: str) -> None:
        """A picture that is part of the message. Addresses are never followed."""
        content = _decoded(url)
        media_type = media_type_of(content)
        if media_type is None or not self._show(content, media_type):
            self._images.append("a picture that came with the message, which cannot be shown to you")

    def parts(self) -> list[Part]:
        """What is said beside the message, in order; empty when nothing was attached."""
        images = ["The person attached pictures:\n" + _lines(self._images)] if self._images else []
        folders = ["The person attached folders:\n" + _lines(self._folders)] if self._folders else []
        others = (
            ["The person attached files that are not shown here:\n" + _lines(self._others)]
            if self._others
            else []
        )
        return [*self._pictures, *self._texts, *images, *folders, *others]

    async def _take(self, name: str, shown: str, content: bytes | None) -> None:
        if content is None:
            self._others.append(f"{shown} (larger than {MAX_DOCUMENT_BYTES >> 20} MB)")
        elif (media_type := media_type_of(content)) is not None:
            self._take_picture(shown, content, media_type)
        elif document_kind(name, content[:1024]) is not None:
            await self._take_document(name, shown, content)
        elif (text := _as_text(content)) is not None:
            self._say(f'<file name="{escape(shown)}">\n{without_tags(text, "file")}\n</file>', shown)
        else:
            self._others.append(f"{shown} ({len(content):,} bytes)")

    def _take_picture(self, shown: str, content: bytes, media_type: str) -> None:
        if self._show(content, media_type):
            self._images.append(f"{shown} (shown to you)")
        elif not self._sees:
            self._images.append(f"{shown} ({self._model} cannot look at pictures)")
        else:
            self._images.append(f"{shown} (too large to be shown)")

    def _show(self, content: bytes, media_type: str) -> bool:
        size = self._picture_bytes + len(content)
        fits = len(content) <= MAX_PICTURE_BYTES and size <= MAX_PICTURES_BYTES
        if not self._sees or not fits or len(self._pictures) >= MAX_PICTURES:
            return False
        self._picture_bytes = size
        self._pictures.append(BinaryContent(content, media_type=media_type))
        return True

    async def _take_document(self, name: str, shown: str, content: bytes) -> None:
        try:
            text = await read_document(name, content, self._commands)
        except DocumentError as error:
            self._others.append(f"{shown}: {error}")
        else:
            self._say(f"{text}\n(The file is {shown}.)", shown)

    def _say(self, text: str, shown: str) -> None:
        if len(text) > self._room:
            self._others.append(f"{shown} (too much beside the rest; read it in parts)")
            return
        self._room -= len(text)
        self._texts.append(text)


async def render_attachments(package: RunPackage, commands: CommandRunner) -> list[Part]:
    """Parts of the person's message, in the order: pictures, texts and documents, lists of the rest."""
    if not package.attachments and not package.image_urls:
        return []
    root = await asyncio.to_thread(Path(package.workspace_dir).resolve)
    rendering = Rendering(package, root, commands)
    for attachment in package.attachments:
        await rendering.add(attachment)
    for url in package.image_urls:
        rendering.add_url(url)
    return rendering.parts()


def remembered(text: str) -> str:
    """A part of an earlier message as it is kept: a long document would crowd out the conversation."""
    if len(text) <= REMEMBERED_CHARS or not text.startswith(_OPENINGS):
        return text
    return text[:REMEMBERED_CHARS] + "\n[… the rest was shown once; read the file again to see it …]"


def _read(place: Place) -> bytes | None:
    """None for what is too large for anything that is done with it."""
    with open_place(place) as file:
        content = file.read(MAX_DOCUMENT_BYTES + 1)
    return content if len(content) <= MAX_DOCUMENT_BYTES else None


def _as_text(content: bytes) -> str | None:
    if len(content) > MAX_TEXT_BYTES or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _listing(place: Place) -> str:
    with os.scandir(place.path) as found:
        names = sorted(
            entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "")
            for entry in found
            if entry.name not in (".holaboss", ".openboa", ".git")
        )
    more = f", and {len(names) - LISTED_ENTRIES:,} more" if len(names) > LISTED_ENTRIES else ""
    return f"{place.shown or '.'}: {', '.join(names[:LISTED_ENTRIES]) or 'empty'}{more}"


def _decoded(url: str) -> bytes:
    """The bytes of a data URL; nothing for any other."""
    head, comma, data = url.partition(",")
    if not comma or not head.lower().startswith("data:image/") or not head.lower().endswith(";base64"):
        return b""
    try:
        return base64.b64decode(unquote_to_bytes(data), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
