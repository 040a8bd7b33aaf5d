"""Reaching into JSON that somebody else wrote: what is not there is None, never an error."""

from __future__ import annotations

from typing import cast


def dig(value: object, *way: str | int) -> object:
    """What lies at the end of a way of keys and places."""
    for step in way:
        if isinstance(step, str) and isinstance(value, dict):
            value = cast("dict[str, object]", value).get(step)
        elif isinstance(step, int) and step < len(items_of(value)):
            value = items_of(value)[step]
        else:
            return None
    return value


def items_of(value: object) -> list[object]:
    """The items of a list; none of anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text_at(value: object, *way: str | int) -> str | None:
    """A text that is not empty at the end of a way."""
    found = dig(value, *way)
    return found if isinstance(found, str) and found else None
