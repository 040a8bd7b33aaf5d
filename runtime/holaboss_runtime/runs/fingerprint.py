"""Names for contents: equal contents have equal fingerprints, on any machine."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def of_text(text: str) -> str:
    """sha256 of the UTF-8 text, as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def of_value(value: Any) -> str:  # noqa: ANN401
    """sha256 of the canonical JSON of a value: sorted keys, no spaces."""
    return of_text(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")))
