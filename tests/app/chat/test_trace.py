"""What a row says about a step."""

from __future__ import annotations

import pytest

from holaboss_app.panes.chat.trace import SHOWN_LINES, shortened


@pytest.mark.parametrize(
    ("lines", "last"),
    [
        (SHOWN_LINES, f"line {SHOWN_LINES - 1}"),
        (SHOWN_LINES + 1, "… 1 more line"),
        (SHOWN_LINES + 2, "… 2 more lines"),
    ],
)
def test_a_long_result_says_how_much_is_left_out(lines: int, last: str) -> None:
    text = "\n".join(f"line {number}" for number in range(lines))
    assert shortened(text).split("\n")[-1] == last
