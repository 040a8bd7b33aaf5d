"""`outputs/reports/`: documents an agent wrote to be kept. A report never takes the place of another file."""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

REPORTS_FOLDER = "outputs/reports"
MAX_REPORT_BYTES = 2 * 1024 * 1024
MAX_STEM_BYTES = 100
_MOST_OF_ONE_NAME = 1000
_UNUSABLE = re.compile(r"[^\w]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def report_stem(*wishes: str) -> str:
    """The name of a report without its ending, from the first wish that has a letter or digit: a file name or title."""
    for wish in wishes:
        text = unicodedata.normalize("NFC", wish).replace("\\", "/").rpartition("/")[2]
        text = re.sub(r"\.(md|markdown)$", "", text.strip(), flags=re.IGNORECASE)
        text = _UNUSABLE.sub("-", text).strip("-_")
        stem = text.encode("utf-8", "ignore")[:MAX_STEM_BYTES].decode("utf-8", "ignore").rstrip("-_")
        if stem:
            return f"report-{stem}" if _DEVICES.fullmatch(stem) else stem
    return "report"


def write_new_report(folder: Path, stem: str, content: str) -> Path:
    """Write `<stem>.md` into `folder`, or `<stem>-2.md` and so on where that is taken. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = content.encode("utf-8", "replace")
    for number in range(1, _MOST_OF_ONE_NAME):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
        _fill(path, descriptor, raw)
        return path
    raise FileExistsError(f"there are {_MOST_OF_ONE_NAME} reports called {stem}")


def _fill(path: Path, descriptor: int, raw: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
