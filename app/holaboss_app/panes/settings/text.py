"""Text from outside, made fit for a label. No widgets."""

from __future__ import annotations

import re
from typing import Final

WORD: Final = 24
"""Names and commands are broken after as many characters."""

ADDRESS: Final = 48
"""Addresses are read as a whole, so they are broken later."""

LONGEST_ADDRESS: Final = 240

_BREAK: Final = "\u200b"


def breakable(text: str, at: int = WORD) -> str:
    """A word that is wider than the window may be broken after every `at` characters; doing it twice changes
    nothing more."""
    letter = rf"[^\s{_BREAK}]"
    return re.sub(rf"{letter}{{{at}}}(?={letter})", lambda found: found[0] + _BREAK, text)


def shortened(url: str) -> str:
    """An endless address without its middle."""
    if len(url) <= LONGEST_ADDRESS:
        return url
    return f"{url[: LONGEST_ADDRESS - 60]}…{url[-60:]}"
