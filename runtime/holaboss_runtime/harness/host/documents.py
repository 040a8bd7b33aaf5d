"""The text of documents, read by a throw-away child that sees nothing but the bytes it is given.

Where commands can be contained the child is too: no network, no home, nothing to write to. Elsewhere the bounds it
sets for itself have to do.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from functools import cache
from html import escape
from pathlib import Path

from holaboss_runtime.containment.bubblewrap import Bubblewrap
from holaboss_runtime.harness.host.bounded_answer import bounded_answer
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.processes import (
    OWNER_VARIABLE,
    child_environment,
    owner_of,
    self_command,
)
from holaboss_runtime.workspace.documents.kinds import (
    MAX_CHARS,
    MAX_DOCUMENT_BYTES,
    DocumentKind,
    Parsed,
    kind_of,
    read_answer,
)

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 4 << 20
_TAGS: dict[DocumentKind, tuple[str, str, str]] = {
    "pdf": ("pdf", "page", "number"),
    "docx": ("docx", "", ""),
    "pptx": ("pptx", "slide", "number"),
    "xlsx": ("excel", "sheet", "name"),
}
_TROUBLES = {
    "encrypted": "is protected with a password. Ask the person for one without",
    "too_large": "is too large to be read. Ask for a part of it, or look into it with a command",
    "damaged": "is damaged, or is not what its name says",
    "slow": "took too long to read. Look into it with a command",
    "empty": "holds no text; it may consist of pictures",
}


class DocumentError(Exception):
    """There is no text to be had; the message is a sentence for the model."""


def document_kind(name: str, head: bytes) -> DocumentKind | None:
    """Whether this is a document `read_document` can read; `head` is at least the first kilobyte."""
    return kind_of(name, head)


async def read_document(name: str, content: bytes, commands: CommandRunner) -> str:
    """The text of a document, clipped, in tags that name the file and its pages, slides or sheets.

    Raises `DocumentError` with a sentence for the model when there is none to be had.
    """
    kind = kind_of(name, content[:1024])
    if kind is None:
        raise DocumentError(f"{name} is not a document whose text can be read.")
    if len(content) > MAX_DOCUMENT_BYTES:
        raise _trouble(name, "too_large")
    parsed = await _ask_child(kind, content, contained=commands.containment == "bubblewrap")
    if "sections" not in parsed:
        raise _trouble(name, parsed.get("trouble", "damaged"))
    if not any(section["text"] for section in parsed["sections"]):
        raise _trouble(name, "empty")
    return _rendered(kind, name, parsed)


def _trouble(name: str, trouble: str) -> DocumentError:
    return DocumentError(f"{name} {_TROUBLES.get(trouble, _TROUBLES['damaged'])}.")


def _rendered(kind: DocumentKind, name: str, parsed: Parsed) -> str:
    tag, inner, attribute = _TAGS[kind]
    parts: list[str] = []
    for section in parsed.get("sections", []):
        text = without_tags(section["text"], tag, inner)
        opening = f'<{inner} {attribute}="{escape(section["label"])}">'
        parts.append(f"{opening}\n{text}\n</{inner}>" if inner else text)
    if parsed.get("truncated"):
        parts.append(f"[… the rest is left out; only the first {MAX_CHARS:,} characters are shown …]")
    body = "\n".join(parts)
    return f'<{tag} filename="{escape(name)}">\n{body}\n</{tag}>'


def without_tags(text: str, *tags: str) -> str:
    """The text with nothing in it that could pass for the end of what it is wrapped in."""
    for tag in filter(None, tags):
        text = text.replace(f"</{tag}", f"&lt;/{tag}")
    return text


async def _ask_child(kind: DocumentKind, content: bytes, *, contained: bool) -> Parsed:
    owner = owner_of(os.getpid())
    environment = child_environment(**{OWNER_VARIABLE: owner, "PYTHONDONTWRITEBYTECODE": "1"})
    words = self_command("parse-document", kind)
    process = await asyncio.create_subprocess_exec(
        *(_contained(words, environment) if contained else words),
        env={OWNER_VARIABLE: owner} if contained else environment,
        cwd="/" if contained else None,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    answer = await bounded_answer(process, content, timeout_s=TIMEOUT_S, max_bytes=MAX_ANSWER_BYTES)
    if answer.timed_out:
        return {"trouble": "slow"}
    if not answer.whole:
        return {"trouble": "too_large" if answer.exit_code and answer.exit_code < 0 else "damaged"}
    try:
        return read_answer(json.loads(answer.output))
    except ValueError:
        return {"trouble": "damaged"}


def _contained(words: list[str], environment: dict[str, str]) -> list[str]:
    program = shutil.which("bwrap")
    assert program is not None, "it held commands a moment ago"
    variables = {name: value for name, value in environment.items() if name != "TMPDIR"}
    return Bubblewrap(program).wrap(words, variables, list(_own_places()), offline=True)


@cache
def _own_places() -> tuple[str, ...]:
    """What this very program needs to run, to be read only: the interpreter, its packages and ours."""
    named = {sys.prefix, sys.base_prefix, str(Path(sys.executable).parent), *sys.path}
    named |= {str(Path(sys.executable).resolve().parent)}
    if frozen := getattr(sys, "_MEIPASS", None):
        named.add(str(frozen))
    home = Path.home()
    words: list[str] = []
    for folder in sorted(Path(name) for name in named if name):
        inside_system = folder.is_relative_to("/usr") or folder == Path("/")
        if folder.is_dir() and not inside_system and not home.is_relative_to(folder):
            words += ["--ro-bind", str(folder), str(folder)]
    return tuple(words)
