"""Points in time as the database keeps them: ISO-8601 UTC text with milliseconds, which sorts as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def from_now(seconds: float) -> str:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_until(moment: str) -> float:
    """Negative when `moment` is past. Raises `ValueError` for text that is not a time."""
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
