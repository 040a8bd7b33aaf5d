"""Which files are documents whose text can be read, and what the child says about one. Imports no parser."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Literal, NotRequired, TypedDict, cast

DocumentKind = Literal["pdf", "docx", "pptx", "xlsx"]

MAX_DOCUMENT_BYTES = 32 << 20
MAX_CHARS = 120_000
MEDIA_TYPES: dict[DocumentKind, str] = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_SUFFIXES: dict[str, DocumentKind] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}


class Section(TypedDict):
    """A page, slide or sheet; `label` is its number or name. A text document is one section without a label."""

    label: str
    text: str


class Parsed(TypedDict):
    """What the child says, as one JSON object: sections, or why there are none (`TroubleError`)."""

    sections: NotRequired[list[Section]]
    truncated: NotRequired[bool]
    trouble: NotRequired[str]


class TroubleError(Exception):
    """Why a document has no text for us; the message is one of the words the host knows."""


def kind_of(name: str, head: bytes) -> DocumentKind | None:
    """By name and first bytes together: a name alone proves nothing, and every office file begins alike."""
    if head.startswith(b"%PDF-"):
        return "pdf"
    kind = _SUFFIXES.get(PurePath(name).suffix.lower())
    if kind == "pdf":
        return "pdf" if b"%PDF-" in head[:1024] else None
    return kind if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")) else None


def read_answer(value: object) -> Parsed:
    """What a child said, checked. Raises `ValueError` for anything else."""
    if not isinstance(value, dict):
        raise ValueError("not an answer")
    answer = cast(dict[str, Any], value)
    if isinstance(trouble := answer.get("trouble"), str):
        return {"trouble": trouble}
    listed = answer.get("sections")
    if not isinstance(listed, list):
        raise ValueError("an answer without sections")
    sections = [_section(item) for item in cast(list[object], listed)]
    return {"sections": sections, "truncated": answer.get("truncated") is True}


def _section(value: object) -> Section:
    item = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    label, text = item.get("label"), item.get("text")
    if not isinstance(label, str) or not isinstance(text, str):
        raise ValueError("not a section")
    return {"label": label, "text": text}
