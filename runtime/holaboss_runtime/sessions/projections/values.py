"""Values of a file that somebody else wrote, each as what it should be or as nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

Fields = dict[str, Any]


def time_of(value: object) -> str | None:
    """A time as the database compares it; None for what is none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def object_of(value: object) -> Fields:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, dict) else {}


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def count_of(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0
