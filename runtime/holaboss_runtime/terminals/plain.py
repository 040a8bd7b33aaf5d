"""What a terminal printed as plain text for a model: without colours, cursor movements and overwritten lines.

It is no screen: of a program that draws one, the pieces come in the order they were drawn.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # cursor and colours
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|\x1b(?:[\[\]PX^_][^\x07\x1b]*)?$"  # the beginning of one that is not complete yet
)
_BACKSPACE = re.compile(r"[^\x08\n]\x08(?: \x08)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ROUNDS = 200


def plain(text: str) -> str:
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    for _ in range(_ROUNDS):  # as many characters in a row can be taken back
        shorter = _BACKSPACE.sub("", text)
        if shorter == text:
            break
        text = shorter
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "\n".join(_CONTROL.sub("", line) for line in lines)
