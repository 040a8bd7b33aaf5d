"""A file name for what comes from elsewhere: one name, no path, nothing that any system takes for something special."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from urllib.parse import unquote, urlsplit

MAX_CHARS = 120
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069]+')
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_EXTENDED = re.compile(r"filename\*\s*=\s*([\w-]+)'[^']*'([^;]+)", re.IGNORECASE)
_PLAIN = re.compile(r'filename\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^;]+))', re.IGNORECASE)


def safe_name(name: str) -> str:
    """The name made harmless; empty when nothing is left of it."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    name = _UNSAFE.sub("_", name.encode("utf-8", "replace").decode()).strip(" ._")
    if _RESERVED.match(name):
        name = f"_{name}"
    stem, dot, suffix = name.rpartition(".")
    if len(name) > MAX_CHARS:
        name = f"{stem[: MAX_CHARS - len(suffix) - 1]}{dot}{suffix}" if len(suffix) < 20 else name[:MAX_CHARS]
    return name


def name_of_download(disposition: str, url: str, media_type: str) -> str:
    """What the server calls it, else the end of its address, else `download`, with an ending that fits."""
    name = safe_name(_said(disposition)) or safe_name(unquote(urlsplit(url).path)) or "download"
    if "." not in name:
        name += mimetypes.guess_extension(media_type) or ""
    return name


def _said(disposition: str) -> str:
    if found := _EXTENDED.search(disposition):
        try:
            return unquote(found[2].strip(), encoding=found[1], errors="replace")
        except LookupError:
            return ""
    if found := _PLAIN.search(disposition):
        return re.sub(r"\\(.)", r"\1", found[1]) if found[1] is not None else found[2].strip()
    return ""
