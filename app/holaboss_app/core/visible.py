"""Text of strangers as somebody can judge it: nothing in it is invisible, turns other letters round or ends a line.

It changes how a text is shown, never the text.
"""

from __future__ import annotations

import re

_LONGEST_RUN = 40
_JOINT = "\u200b"
# Letters and marks that are drawn as nothing; the rest of what cannot be seen is not printable for Python either.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\U000e0100-\U000e01ef]"
)
_LAYOUT = str.maketrans("", "", "\n\t")
_RUN = re.compile(rf"\S{{{_LONGEST_RUN}}}(?=\S)")


def is_visible(text: str) -> bool:
    """Whether every character is one that is seen, or the end of a line, or a tab."""
    return text.translate(_LAYOUT).isprintable() and _BLANK.search(text) is None


def spelt_out(text: str, keep: str = "\n\t") -> str:
    r"""What cannot be seen is written as JSON writes it (`\u202e`), except the characters to `keep`."""
    if text.isprintable() and _BLANK.search(text) is None:
        return text
    return "".join(char if char in keep else _spelt(char) for char in text)


def for_label(text: str) -> str:
    """For a label that wraps: long words can be broken, so that none makes the label wider than its place."""
    return _RUN.sub(lambda run: run[0] + _JOINT, spelt_out(text, "\n"))


def _spelt(char: str) -> str:
    if char.isprintable() and not _BLANK.match(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
