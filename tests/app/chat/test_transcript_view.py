"""The transcript view: few widgets, nothing moves by itself, and the end is followed only by who wants it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from holaboss_app.core.transcript import Transcript
from holaboss_app.panes.chat.code_block import CodeBlock, CodeText
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.trace import BLEED, TraceHeader
from holaboss_app.panes.chat.transcript_view import TranscriptView
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_app.theme import style
from holaboss_client.sessions import Turn
from tests.app.chat.scene import conversation
from tests.support.conversations import Events, index, long_conversation, turn

Show = Callable[..., None]
TURNS = long_conversation(600)


class Stage:
    """A view, its transcript, and a runtime that answers page requests at once."""

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.requests = 0
        self.transcript = Transcript()
        self.transcript.take_index(index(turns))
        self.view = TranscriptView()
        self.view.bodies_wanted.connect(self._answer)

    def _answer(self, first: int, last: int) -> None:
        while (page := self.transcript.wanted(first, last)) is not None:
            self.requests += 1
            self.transcript.take_turns(self.turns[page.from_seq - 1 : page.from_seq - 1 + page.limit])
        self.view.bodies_arrived()

    def open(self) -> None:
        self.view.set_transcript(self.transcript)
        QApplication.processEvents()

    def visible(self) -> dict[str, int]:
        """Turns on screen with their tops."""
        widgets = self.view.viewport().findChildren(TurnWidget)
        height = self.view.viewport().height()
        return {
            widget.findChild(ProseView).toPlainText(): widget.y()
            for widget in widgets
            if widget.isVisible() and widget.y() < height and widget.y() + widget.height() > 0
        }

    def start_answer(self) -> Events:
        events = Events("live", first_id=90_000)
        self.transcript.add("live", "Tell me more")
        self.view.row_appended()
        for event in events.started():
            self.transcript.apply(event)
        return events

    def grow(self, events: Events, text: str) -> None:
        self.transcript.apply(events.delta(text))
        self.view.turn_changed("live")
        self.view.flush()


@pytest.fixture
def stage(show: Show) -> Stage:
    stage = Stage(TURNS)
    show(stage.view)
    stage.open()
    return stage


def bottom(stage: Stage) -> int:
    """Where the last turn ends, in pixels below the lower edge."""
    last = max(
        (w for w in stage.view.viewport().findChildren(TurnWidget) if w.isVisible()), key=lambda w: w.y()
    )
    return last.y() + last.measure(last.width() - 2 * BLEED) - stage.view.viewport().height()


def test_it_opens_at_the_end_with_a_handful_of_widgets(stage: Stage) -> None:
    assert TURNS[-1].text in stage.visible()
    assert bottom(stage) == 0
    assert stage.view.live_widgets < 16
    assert stage.requests <= 2


def test_scrolling_the_whole_way_keeps_few_widgets(stage: Stage) -> None:
    bar = stage.view.verticalScrollBar()
    for value in range(bar.maximum(), -1, -bar.maximum() // 40):
        bar.setValue(max(0, value))
        assert stage.view.live_widgets < 16
    bar.setValue(0)
    assert TURNS[0].text in stage.visible()
    assert len(stage.view.viewport().findChildren(TurnWidget)) < 40


def test_corrected_heights_move_nothing_on_screen(stage: Stage) -> None:
    stage.view.verticalScrollBar().setValue(stage.view.verticalScrollBar().maximum() // 2)
    for _ in range(60):
        before = stage.visible()
        stage.view.scroll_by(-30)
        after = stage.visible()
        moved = {after[text] - before[text] for text in before.keys() & after.keys()}
        assert moved == {30}


def test_a_growing_answer_is_followed_from_the_end(stage: Stage) -> None:
    events = stage.start_answer()
    assert stage.view.at_end
    for _ in range(30):
        stage.grow(events, "And another sentence of the answer.\n\n")
        assert bottom(stage) == 0


class Painted(QObject):
    """Counts how often something is drawn."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_what_is_drawn_is_shifted_while_an_answer_grows(stage: Stage, qapp: QApplication) -> None:
    events = stage.start_answer()
    stage.grow(events, "```\n" + "a line of code that stays as it is\n" * 12 + "```\n\n")
    stage.grow(events, "And a paragraph")
    qapp.processEvents()
    live = max(
        (w for w in stage.view.viewport().findChildren(TurnWidget) if w.isVisible()), key=lambda w: w.y()
    )
    painted = Painted(live.findChild(CodeText).viewport())
    before = live.y()
    for _ in range(10):
        stage.grow(events, " that grows by more than one line with every piece that comes" * 3)
        qapp.processEvents()
    assert live.y() < before - 200, "it moves up"
    assert painted.count == 0
    assert bottom(stage) == 0


def test_what_is_settled_is_not_laid_out_again(stage: Stage) -> None:
    events = stage.start_answer()
    stage.grow(events, "```\na\n```\n\n" * 30)
    live = max(
        (w for w in stage.view.viewport().findChildren(TurnWidget) if w.isVisible()), key=lambda w: w.y()
    )
    asked: list[ProseView | CodeBlock] = []
    for piece in live._pieces():
        piece.fit = lambda width, piece=piece: asked.append(piece) or type(piece).fit(piece, width)
    stage.grow(events, "A word")
    stage.grow(events, " and another")
    assert len(live._pieces()) > 30
    assert asked == []


def test_a_growing_answer_does_not_pull_back_who_reads_above(stage: Stage) -> None:
    events = stage.start_answer()
    stage.view.scroll_by(-900)
    before = stage.visible()
    maximum = stage.view.verticalScrollBar().maximum()
    for _ in range(20):
        stage.grow(events, "And another sentence of the answer.\n\n")
    assert stage.visible() == before
    assert stage.view.verticalScrollBar().maximum() > maximum
    button = stage.view.findChild(QPushButton, "jump-to-latest")
    assert button.isVisible()
    button.click()
    assert stage.view.at_end
    assert bottom(stage) == 0
    assert not button.isVisible()


def test_selecting_text_stops_following(stage: Stage) -> None:
    events = stage.start_answer()
    stage.grow(events, "One paragraph.\n\nTwo")
    live = [w for w in stage.view.viewport().findChildren(TurnWidget) if w.isVisible()]
    answer = max(live, key=lambda w: w.y()).findChildren(ProseView)[-1]
    answer.selectAll()
    before = stage.visible()
    stage.grow(events, " more text\n\n" * 10)
    assert stage.visible() == before


def test_flushes_are_merged_while_nobody_has_time(stage: Stage, qtbot) -> None:  # noqa: ANN001
    events = stage.start_answer()
    counted: list[int] = []
    stage.view.flush()
    stage.view.flushed.connect(lambda: counted.append(1))
    for _ in range(50):
        stage.transcript.apply(events.delta("word "))
        stage.view.turn_changed("live")
    assert counted == [], "never inside the event that brings a delta"
    qtbot.waitUntil(lambda: bool(counted), timeout=30_000)
    assert counted == [1]
    state = stage.transcript.find("live")
    assert state is not None
    assert state.answer == "word " * 50


def test_keys_scroll(stage: Stage) -> None:
    bar = stage.view.verticalScrollBar()
    end = bar.value()
    QTest.keyClick(stage.view, Qt.Key.Key_PageUp)
    assert bar.value() < end - 300
    QTest.keyClick(stage.view, Qt.Key.Key_Home)
    assert bar.value() == 0
    QTest.keyClick(stage.view, Qt.Key.Key_Down)
    assert 0 < bar.value() < 100
    QTest.keyClick(stage.view, Qt.Key.Key_End)
    assert stage.view.at_end


def test_text_leaves_the_wheel_to_the_conversation(stage: Stage, qapp: QApplication) -> None:
    def turn_wheel(target: QWidget) -> bool:
        event = QWheelEvent(
            QPointF(5, 5),
            QPointF(target.mapToGlobal(QPoint(5, 5))),
            QPoint(),
            QPoint(0, 240),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        qapp.sendEvent(target, event)
        return event.isAccepted()

    texts = [*stage.view.viewport().findChildren(ProseView), *stage.view.viewport().findChildren(CodeText)]
    assert not any(turn_wheel(text.viewport()) for text in texts if text.isVisible())
    before = stage.view.verticalScrollBar().value()
    assert turn_wheel(stage.view.viewport())
    assert stage.view.verticalScrollBar().value() < before


def test_a_narrower_window_keeps_the_place(stage: Stage) -> None:
    stage.view.verticalScrollBar().setValue(stage.view.verticalScrollBar().maximum() // 3)
    place = stage.view.place()
    stage.view.resize(520, 700)
    QApplication.processEvents()
    after = stage.view.place()
    assert place is not None
    assert after is not None
    assert after[0] == place[0]
    stage.view.scroll_to_end()
    stage.view.resize(800, 500)
    QApplication.processEvents()
    assert bottom(stage) == 0


def test_a_short_conversation_begins_at_the_top(show: Show) -> None:
    events = Events("a")
    stage = Stage([turn(1, "hi", [*events.started(), events.delta("hello"), events.completed()])])
    show(stage.view)
    stage.open()
    assert stage.visible() == {"hi": 0}
    assert stage.view.verticalScrollBar().maximum() == 0


def test_text_scale_and_theme_are_followed(stage: Stage, qapp: QApplication) -> None:
    prose = next(p for p in stage.view.viewport().findChildren(ProseView) if p.isVisible())
    before = prose.font().pointSizeF()
    style.apply(qapp, "dark", 1.5)
    qapp.processEvents()
    prose = next(p for p in stage.view.viewport().findChildren(ProseView) if p.isVisible())
    assert prose.font().pointSizeF() == pytest.approx(before * 1.5)
    assert bottom(stage) == 0
    assert stage.view.viewport().palette().base().color().name() == style.current_tokens().pane


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("scheme", "scale"), [("dark", 1.0), ("light", 1.5)])
def test_after_a_change_of_theme_everything_is_as_high_as_in_a_new_view(
    show: Show, qapp: QApplication, scheme: style.Scheme, scale: float, hidden: bool
) -> None:
    turns = conversation()
    changed = Stage(turns)
    show(changed.view)
    changed.open()
    changed.view.setVisible(not hidden)  # the settings are opened over it
    style.apply(qapp, scheme, scale)
    qapp.processEvents()
    changed.view.show()
    qapp.processEvents()
    fresh = Stage(turns)
    show(fresh.view)
    fresh.open()
    assert changed.visible() == fresh.visible()
    assert [*map(changed.view._heights.__getitem__, range(4))] == [
        *map(fresh.view._heights.__getitem__, range(4))
    ]


def test_what_was_unfolded_stays_unfolded_and_in_place(show: Show) -> None:
    events = Events("a")
    run = [*events.started(), *events.tool(0, "bash", {"command": "ls"}, "a.txt\n" * 30), events.completed()]
    stage = Stage([*long_conversation(20), turn(21, "list", run)])
    show(stage.view, 800, 400)
    stage.open()
    header = next(h for h in stage.view.viewport().findChildren(TraceHeader) if h.isVisible())
    top = header.mapTo(stage.view, QPoint(0, 0)).y()
    header.click()
    assert header.mapTo(stage.view, QPoint(0, 0)).y() == top
    assert header.isChecked()
    bar = stage.view.verticalScrollBar()
    bar.setValue(0)
    stage.view.scroll_to_end()
    header = next(h for h in stage.view.viewport().findChildren(TraceHeader) if h.isVisible())
    assert header.isChecked()


def test_a_place_is_found_again(stage: Stage) -> None:
    stage.view.verticalScrollBar().setValue(stage.view.verticalScrollBar().maximum() // 2)
    place, before = stage.view.place(), stage.visible()
    stage.view.set_transcript(Transcript())
    assert stage.visible() == {}
    stage.view.set_transcript(stage.transcript, place)
    assert stage.visible().keys() == before.keys()


def test_rows_that_vanish_take_their_widgets_along(stage: Stage) -> None:
    place = stage.view.place()
    stage.transcript.take_index(index(TURNS[:300]))
    stage.view.rows_changed(place)
    assert TURNS[299].text in stage.visible()
    assert bottom(stage) == 0


def test_a_missing_body_is_drawn_as_bars(show: Show) -> None:
    transcript = Transcript()
    transcript.take_index(index(TURNS))
    view = TranscriptView()
    wanted: list[tuple[int, int]] = []
    view.bodies_wanted.connect(lambda first, last: wanted.append((first, last)))
    show(view)
    view.set_transcript(transcript)
    QApplication.processEvents()
    assert wanted[-1][1] == len(TURNS) - 1
    colours = {view.grab().toImage().pixelColor(200, y).name() for y in range(0, 700, 3)}
    assert style.current_tokens().hover in colours
