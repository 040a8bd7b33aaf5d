"""Distances in a turn: a heading belongs to what follows it, and a grown answer stands like a stored one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from holaboss_app.core.reducer import TurnState
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.text_column import FOLD
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_app.theme import style
from tests.app.chat.scene import MARKDOWN
from tests.support.conversations import Events, Writer

Show = Callable[..., None]
WIDTH = 600
TABLE = "| File | Lines |\n|---|---|\n| a | 1 |"
CODE = "```\nx = 1\n```"


class Paper:
    """Turn widgets on a common parent."""

    def __init__(self, parent: QWidget) -> None:
        self._parent, self._lexing = parent, Lexing(parent)

    def turn(self, state: TurnState) -> TurnWidget:
        widget = TurnWidget(self._parent, self._lexing)
        widget.bind(state, set())
        widget.show()
        return widget


@pytest.fixture
def paper(show: Show) -> Paper:
    parent = QWidget()
    show(parent, 700, 700)
    return Paper(parent)


def stored(paper: Paper, text: str) -> TurnWidget:
    state, events = TurnState("a", "Hello"), Events("a")
    state.extend([*events.started(), events.delta(text), events.completed()])
    return paper.turn(state)


def streamed(paper: Paper, text: str, step: int) -> TurnWidget:
    """A turn that grew on screen until it was finished."""
    state, events = TurnState("a", "Hello"), Events("a")
    state.extend(events.started())
    widget = paper.turn(state)
    for start in range(0, len(text), step):
        state.apply(events.delta(text[start : start + step]))
        widget.refresh()
        widget.arrange(WIDTH)
    state.apply(events.completed())
    widget.refresh()
    return widget


def places(widget: TurnWidget) -> list[tuple[str, int, int]]:
    """Every piece of the answer with its top and its height, once laid out."""
    widget.arrange(WIDTH)
    return [(type(piece).__name__, piece.y(), piece.height()) for piece in widget._pieces()]


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("step", [3, 50])
@pytest.mark.parametrize(
    "text",
    [MARKDOWN, Writer(5).long_answer(4_000), "Short.\n\n" * (2 * FOLD + 5)],
    ids=["everything", "long", "folded"],
)
def test_a_finished_answer_stands_where_a_stored_one_does(
    paper: Paper, qapp: QApplication, text: str, step: int, scale: float
) -> None:
    style.apply(qapp, "light", scale)
    grown = streamed(paper, text, step)
    fresh = stored(paper, text)
    assert places(grown) == places(fresh)
    assert grown.arrange(WIDTH) == fresh.arrange(WIDTH)


def test_paragraphs_do_not_jump_when_the_answer_is_finished(paper: Paper) -> None:
    state, events = TurnState("a", "Hello"), Events("a")
    state.extend(events.started())
    widget = paper.turn(state)
    for number in range(FOLD - 1):
        state.apply(events.delta(f"Paragraph number {number}.\n\n"))
        widget.refresh()
    before = [(y, height) for _, y, height in places(widget)]
    assert len(before) == FOLD - 1
    state.apply(events.completed())
    widget.refresh()
    ((_, top, height),) = places(widget)
    assert top == before[0][0]
    # Pieces are whole pixels high, the lines of one document are not.
    assert height == pytest.approx(before[-1][0] + before[-1][1] - top, abs=FOLD / 2)


@pytest.mark.parametrize("above", ["Some words.", TABLE, CODE, "- a list"])
@pytest.mark.parametrize("below", ["Some words.", TABLE, CODE, "- a list"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_heading_is_nearer_to_what_it_is_the_heading_of(
    paper: Paper, qapp: QApplication, above: str, below: str, scale: float
) -> None:
    style.apply(qapp, "light", scale)
    over, under = drawn_gaps(stored(paper, f"{above}\n\n## Heading\n\n{below}\n"))
    assert over > 1.4 * under


def drawn_gaps(widget: TurnWidget) -> tuple[int, int]:
    """Empty pixels above and below the heading, as they are drawn."""
    widget.resize(WIDTH + 20, widget.arrange(WIDTH))
    QApplication.processEvents()
    picture = widget.grab().toImage()
    paper_colour = picture.pixelColor(0, 0)

    def is_empty(y: int) -> bool:
        return all(picture.pixelColor(x, y) == paper_colour for x in range(0, 300))

    prose = [piece for piece in widget._pieces() if isinstance(piece, ProseView)]
    heading = next(piece for piece in prose if "Heading" in piece.toPlainText().split("\n"))
    block = heading.document().begin()
    while block.text() != "Heading":
        block = block.next()
    area = heading.document().documentLayout().blockBoundingRect(block)
    middle = heading.y() + round(area.top() + area.height() * 0.45)
    top = bottom = middle
    while not is_empty(top):
        top -= 1
    while not is_empty(bottom):
        bottom += 1
    over, under = top, bottom
    while is_empty(over):
        over -= 1
    while is_empty(under):
        under += 1
    return top - over, under - bottom


def test_the_reason_of_another_attempt_is_readable_in_a_narrow_window(paper: Paper) -> None:
    state, events = TurnState("a", "Hello"), Events("a")
    state.extend(events.started())
    widget = paper.turn(state)
    running = widget.arrange(260)
    reason = "The provider is overloaded at the moment and asks everybody to come back a little later."
    state.apply(events.event("run_retrying", attempt=1, delay_s=119.9, message=reason))
    widget.refresh()
    assert widget._activity.accessibleName() == f"Trying again in 2 min (attempt 2): {reason}"
    assert widget.arrange(260) > running + 2 * widget._activity.fontMetrics().lineSpacing()
