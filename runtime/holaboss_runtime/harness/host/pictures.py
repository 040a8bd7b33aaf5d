"""Which bytes are a picture a model can look at: by what they are, never by a name."""

from __future__ import annotations

MAX_PICTURE_BYTES = 10 * 1024 * 1024
SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def media_type_of(content: bytes) -> str | None:
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`; None for everything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None
