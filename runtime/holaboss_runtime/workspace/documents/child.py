"""The child process: limits first, then the bytes, then one JSON object on standard output. Never runs for long."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO

from holaboss_runtime.workspace.documents.kinds import (
    MAX_CHARS,
    MAX_DOCUMENT_BYTES,
    Parsed,
    Section,
    TroubleError,
)

MEMORY_BYTES = 1 << 30
CPU_S = 15
OPEN_FILES = 64
MAX_SECTIONS = 2_000


def main(kind: str) -> int:
    """0 with an answer; 2 for a kind nobody knows."""
    limit()
    if kind not in ("pdf", "docx", "pptx", "xlsx"):
        sys.stderr.write("parse-document takes one of pdf, docx, pptx, xlsx\n")
        return 2
    content = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    sys.stdout.buffer.write(json.dumps(parsed(kind, content)).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return 0


def limit() -> None:
    """Bounds of the system. They also hold when whoever asked is gone."""
    if os.name != "posix":
        return
    import resource

    from holaboss_runtime.processes import die_with_parent

    die_with_parent(signal.SIGKILL)
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower one is there already, or the system knows none
            resource.setrlimit(what, (most, most))


def parsed(kind: str, content: bytes) -> Parsed:
    """What is in a document; whatever a parser stumbles over is a trouble, not a crash."""
    if len(content) > MAX_DOCUMENT_BYTES:
        return {"trouble": "too_large"}
    try:
        return _bounded(_sections(kind, BytesIO(content)))
    except TroubleError as trouble:
        return {"trouble": str(trouble)}
    except MemoryError:
        return {"trouble": "too_large"}
    except Exception:  # noqa: BLE001 - parsers of strangers' bytes raise whatever they like
        return {"trouble": "damaged"}


def _sections(kind: str, content: BinaryIO) -> Iterable[Section]:
    if kind == "pdf":
        from holaboss_runtime.workspace.documents.pdf import pages

        return pages(content)
    from holaboss_runtime.workspace.documents import office

    office.check(content)
    return {"docx": office.document, "pptx": office.slides, "xlsx": office.sheets}[kind](content)


def _bounded(sections: Iterable[Section]) -> Parsed:
    """Up to `MAX_CHARS` characters in all; the rest is not even read."""
    kept: list[Section] = []
    room = MAX_CHARS
    for section in sections:
        if room <= 0 or len(kept) >= MAX_SECTIONS:
            return {"sections": kept, "truncated": True}
        text = section["text"]
        kept.append({"label": section["label"][:200], "text": text[:room]})
        if len(text) > room:
            return {"sections": kept, "truncated": True}
        room -= len(text)
    return {"sections": kept, "truncated": False}
