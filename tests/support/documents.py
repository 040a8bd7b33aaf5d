"""Documents for tests, made by real writers where there is one."""

from __future__ import annotations

import io
import zipfile

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from pypdf import PdfReader, PdfWriter

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f0005000"
    "1ff56c72f0d0000000049454e44ae426082"
)


def pdf(*pages: str) -> bytes:
    """Each page shows one line of ASCII."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids: list[bytes] = []
    for page in pages:
        shown = f"BT /F1 12 Tf 72 700 Td ({page}) Tj ET".encode()
        number = len(objects) + 1
        kids.append(b"%d 0 R" % number)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 %s >> >> >>" % (number + 1, font)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def locked_pdf(password: str, *pages: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(*pages))))
    writer.encrypt(password, algorithm="AES-256")
    return _saved(writer.write)


def docx(*paragraphs: str, table: list[list[str]] | None = None, heading: str = "") -> bytes:
    document = Document()
    if heading:
        document.add_heading(heading, level=2)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if table:
        made = document.add_table(rows=len(table), cols=len(table[0]))
        for row, values in zip(made.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
    return _saved(document.save)


def pptx(*slides: str, notes: str = "") -> bytes:
    show = Presentation()
    for text in slides:
        slide = show.slides.add_slide(show.slide_layouts[6])
        box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(1))
        box.text_frame.text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return _saved(show.save)


def xlsx(sheets: dict[str, list[list[object]]]) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    return _saved(book.save)


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    """An office file with one of its parts replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, part if entry.filename == name else old.read(entry.filename))
        if name not in old.namelist():
            new.writestr(name, part)
    return out.getvalue()


def _saved(save: object) -> bytes:
    out = io.BytesIO()
    assert callable(save)
    save(out)
    return out.getvalue()
