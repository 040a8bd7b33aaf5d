"""The tags that say where a text comes from, and keeping any text from closing or opening one.

Only our own tags are escaped: all other markup in a message or a tool result stays as it is.
"""

from __future__ import annotations

import re

from holaboss_runtime.runs.directive import TAG as LOOP

WAKE = "session-wake"
EVENT = "session-event"
HISTORY = "session-history"
NOTES = "session-notes"

_OURS = re.compile(rf"<(?=[\s/]*(?:{'|'.join((WAKE, EVENT, HISTORY, NOTES, LOOP))})\b)", re.IGNORECASE)
_UNSAFE = re.compile(r'[<>"&\s\x00-\x1f\x7f]+')
ATTRIBUTE_CHARS = 100


def escape(text: str) -> str:
    """`<` of our own tags becomes `&lt;`."""
    return _OURS.sub("&lt;", text)


def wrap(tag: str, body: str, **attributes: str | int) -> str:
    """`body` must have been escaped; attribute values become one word, empty ones are left out."""
    given = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes.items() if value != "")
    return f"<{tag}{given}>\n{body}\n</{tag}>"


def _attribute(value: str | int) -> str:
    return _UNSAFE.sub("_", str(value)[:ATTRIBUTE_CHARS])
