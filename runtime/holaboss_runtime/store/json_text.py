"""JSON as the database keeps it: compact, and readable in any language."""

from __future__ import annotations

import json
from typing import Any


def encode(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode_optional(value: Any) -> str | None:  # noqa: ANN401
    return None if value is None else encode(value)


def decode_optional(text: str | None) -> Any:  # noqa: ANN401
    return None if text is None else json.loads(text)
