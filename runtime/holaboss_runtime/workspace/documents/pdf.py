"""The text of a PDF, page by page. Scanned pages have none: nothing here recognises letters in pictures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from pypdf import PdfReader
from pypdf.errors import DependencyError, PdfReadError

from holaboss_runtime.workspace.documents.kinds import Section, TroubleError


def pages(content: BinaryIO) -> Iterator[Section]:
    """Raises `TroubleError` `encrypted` for one that opens only with a password."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every flaw it reads over
    reader = PdfReader(content, strict=False)
    if reader.is_encrypted and not _opens(reader):
        raise TroubleError("encrypted")
    for number, page in enumerate(reader.pages, 1):
        try:
            text = page.extract_text()
        except (PdfReadError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            text = ""
        yield {"label": str(number), "text": text.strip()}


def _opens(reader: PdfReader) -> bool:
    """Many are encrypted only to forbid printing, with no password to read."""
    try:
        return bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError, PdfReadError):
        return False
