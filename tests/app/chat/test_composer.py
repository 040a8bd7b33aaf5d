"""The composer: keys, growth, reasons in words, send and stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from holaboss_app.panes.chat.composer import Composer
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.message_field import TALLEST
from holaboss_app.theme import style

Show = Callable[..., None]


@pytest.fixture
def composer(show: Show) -> Composer:
    composer = Composer()
    show(composer, 700, 120)
    return composer


def sent(composer: Composer) -> list[str]:
    texts: list[str] = []
    composer.send_requested.connect(texts.append)
    return texts


def button(composer: Composer, name: str) -> QAbstractButton:
    return composer.findChild(QAbstractButton, name)


def hints(composer: Composer) -> str:
    return " ".join(label.full_text for label in composer.findChildren(ElidedLabel))


def test_the_placeholder_and_the_text_follow_the_text_scale(composer: Composer, qapp: QApplication) -> None:
    def written(shot: QImage) -> int:
        """How high the letters of the placeholder are."""
        paper = shot.pixelColor(shot.width() - 2, 1)
        rows = [
            y
            for y in range(shot.height())
            if any(shot.pixelColor(x, y) != paper for x in range(8, shot.width() // 2))
        ]
        return rows[-1] - rows[0] + 1

    before = written(composer.field.grab().toImage())
    style.apply(qapp, "light", 2.0)
    composer.resize(700, 200)
    qapp.processEvents()
    after = written(composer.field.grab().toImage())
    assert after == pytest.approx(2 * before, abs=3)


def test_the_first_sign_below_the_message_stands_on_its_left_edge(
    composer: Composer, qapp: QApplication
) -> None:
    def left_edge(widget: QWidget) -> int:
        shot = widget.grab().toImage()
        paper = shot.pixelColor(0, 0)
        columns = range(shot.width())
        first = next(x for x in columns if any(shot.pixelColor(x, y) != paper for y in range(shot.height())))
        return widget.mapTo(composer, QPoint(first, 0)).x()

    composer.picker.set_model("own/Model")
    composer.field.setPlaceholderText("Message")
    composer.field.clearFocus()
    qapp.processEvents()
    assert left_edge(button(composer, "attach-files")) == pytest.approx(left_edge(composer.field), abs=2)


def test_enter_sends_and_shift_enter_breaks_the_line(composer: Composer) -> None:
    texts = sent(composer)
    QTest.keyClicks(composer.field, "one")
    QTest.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.field, "two")
    assert texts == []
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == ["one\ntwo"]
    QTest.keyClick(composer.field, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert len(texts) == 2


def test_enter_while_an_input_method_composes_sends_nothing(composer: Composer) -> None:
    texts = sent(composer)
    QTest.keyClicks(composer.field, "ni")
    QApplication.sendEvent(composer.field, QInputMethodEvent("你", []))
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == []
    done = QInputMethodEvent("", [])
    done.setCommitString("你")
    QApplication.sendEvent(composer.field, done)
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == ["ni你"]


def test_nothing_but_space_is_not_sent(composer: Composer) -> None:
    texts = sent(composer)
    composer.text = "  \n "
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == []
    assert not button(composer, "send").isEnabled()


def test_it_grows_with_its_text_up_to_a_limit(composer: Composer) -> None:
    low = composer.field.height()
    composer.text = "a\nb\nc\nd"
    middle = composer.field.height()
    composer.text = "line\n" * 80
    assert low < middle < composer.field.height() <= TALLEST + 4
    composer.text = ""
    assert composer.field.height() == low


def test_a_reason_is_said_and_enter_waits_for_it(composer: Composer) -> None:
    texts = sent(composer)
    composer.text = "hello"
    composer.set_blocked("The folder of this workspace is missing.")
    assert "folder of this workspace is missing" in hints(composer)
    assert not button(composer, "send").isEnabled()
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == []
    assert composer.field.isEnabled(), "writing goes on"
    composer.set_blocked("")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts == ["hello"]


def test_without_a_model_there_is_a_way_to_connect_one(composer: Composer) -> None:
    asked: list[bool] = []
    composer.connect_requested.connect(lambda: asked.append(True))
    assert not button(composer, "connect-model").isVisible()
    composer.set_blocked("No model is connected yet.", connectable=True)
    assert not composer.picker.isVisible()
    button(composer, "connect-model").click()
    assert asked == [True]


def test_while_busy_stop_takes_the_place_of_send(composer: Composer) -> None:
    stopped: list[bool] = []
    composer.stop_requested.connect(lambda: stopped.append(True))
    composer.set_busy(True)
    assert button(composer, "stop").isVisible()
    assert not button(composer, "send").isVisible()
    composer.text = "and then"
    assert button(composer, "send").isVisible(), "a message may wait"
    assert "after the answer" in hints(composer)
    button(composer, "stop").click()
    assert stopped == [True]
    composer.set_busy(True, stopping=True)
    assert not button(composer, "stop").isEnabled()
    assert "Stopping" in hints(composer)
    composer.set_busy(False)
    assert not button(composer, "stop").isVisible()


def test_escape_twice_stops(composer: Composer) -> None:
    stopped: list[bool] = []
    composer.stop_requested.connect(lambda: stopped.append(True))
    composer.set_busy(True)
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stopped == []
    assert "Esc again" in hints(composer)
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stopped == [True]
    composer.set_busy(False)
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stopped == [True]


def test_up_in_an_empty_composer_asks_for_the_last_message(composer: Composer) -> None:
    asked: list[bool] = []
    composer.recall_requested.connect(lambda: asked.append(True))
    QTest.keyClick(composer.field, Qt.Key.Key_Up)
    assert asked == [True]
    composer.text = "something"
    QTest.keyClick(composer.field, Qt.Key.Key_Up)
    assert asked == [True]
