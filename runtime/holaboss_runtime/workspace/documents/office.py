"""The text of office documents: paragraphs and tables, slides with their notes, sheets as rows of values.

Formulas are not computed, macros are not run, nothing that is linked or embedded is opened.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from holaboss_runtime.workspace.documents.kinds import Section, TroubleError

MAX_UNPACKED = 256 << 20
MAX_ENTRIES = 10_000
MAX_ROWS = 20_000
MAX_COLUMNS = 256
MAX_DEPTH = 16
_HEAD = 4096
_COMPOUND = b"\xd0\xcf\x11\xe0"


def check(content: BinaryIO) -> None:
    """Refuse what would not fit, and what no office program writes. Raises `TroubleError`."""
    start = content.read(4)
    content.seek(0)
    if start == _COMPOUND:
        raise TroubleError("encrypted")  # or an old format under a new name: neither can be read
    with zipfile.ZipFile(content) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED:
            raise TroubleError("too_large")
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                with archive.open(entry) as part:
                    _check_part(part.read(_HEAD))
    content.seek(0)


def _check_part(head: bytes) -> None:
    """Office files declare no entities; who does means harm."""
    plain = head.replace(b"\0", b"").upper()
    if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
        raise TroubleError("damaged")


def document(content: BinaryIO) -> Iterator[Section]:
    from docx import Document
    from docx.text.paragraph import Paragraph

    lines: list[str] = []
    for block in Document(content).iter_inner_content():
        if isinstance(block, Paragraph):
            lines.append(_paragraph(block))
        else:
            lines += [_row(cell.text for cell in row.cells) for row in block.rows]
    yield {"label": "", "text": "\n".join(lines).strip()}


def _paragraph(block: Any) -> str:  # noqa: ANN401 - a paragraph of python-docx
    style = str(getattr(block.style, "name", "") or "")
    level = style.removeprefix("Heading ")
    if block.text and style.startswith("Heading ") and level.isdigit():
        return f"{'#' * min(6, int(level))} {block.text}"
    return str(block.text)


def slides(content: BinaryIO) -> Iterator[Section]:
    from pptx import Presentation

    for number, slide in enumerate(Presentation(content).slides, 1):
        lines = list(_texts(slide.shapes, 0))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            lines += [f"Notes: {notes}"] if notes else []
        yield {"label": str(number), "text": "\n".join(lines).strip()}


def _texts(shapes: Iterable[Any], depth: int) -> Iterator[str]:
    for shape in shapes:
        if depth < MAX_DEPTH and hasattr(shape, "shapes"):
            yield from _texts(shape.shapes, depth + 1)
        elif getattr(shape, "has_table", False):
            yield from (_row(cell.text for cell in row.cells) for row in shape.table.rows)
        elif getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
            yield str(shape.text_frame.text).strip()


def sheets(content: BinaryIO) -> Iterator[Section]:
    from openpyxl import load_workbook

    book = load_workbook(content, read_only=True, data_only=True, keep_links=False)
    for sheet in cast(list[Any], book.worksheets):
        if hasattr(sheet, "reset_dimensions"):
            sheet.reset_dimensions()  # what a sheet says of its size is not always so
        rows = sheet.iter_rows(max_row=MAX_ROWS, max_col=MAX_COLUMNS, values_only=True)
        filled = (_row("" if value is None else str(value) for value in row) for row in rows)
        yield {"label": str(sheet.title), "text": "\n".join(row for row in filled if row)}


def _row(values: Iterable[str]) -> str:
    return "\t".join(" ".join(value.split()) for value in values).rstrip()
