"""What a row says about a step."""

from __future__ import annotations

import pytest

from holaboss_app.core.reducer import ToolSegment
from holaboss_app.panes.chat.trace import SHOWN_LINES, details, shortened
from holaboss_app.panes.chat.trace_words import state_words, title


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


def test_a_call_that_waits_for_somebody_is_not_called_done() -> None:
    tool = ToolSegment(0, "call-1", name="bash", arguments={"command": "make"}, state="waiting")
    assert title(tool) == "Wants to run a command"
    assert state_words(tool) == "waits for your decision"
    assert [name for name, _, _ in details(tool)] == ["Command"]
