"""The chat by keyboard alone: Tab goes from the message to its files, its buttons, and through the conversation."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from holaboss_app.panes.chat.file_chips import Chip
from holaboss_app.panes.chat.trace import TraceHeader
from tests.app.chat.stage import Chat


def tab(count: int = 1, *, back: bool = False) -> QWidget:
    for _ in range(count):
        focus = QApplication.focusWidget()
        assert focus is not None
        QTest.keyClick(focus, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab)
    focus = QApplication.focusWidget()
    assert focus is not None
    return focus


def names(widgets: list[QWidget]) -> list[str]:
    return [widget.objectName() or widget.accessibleName() for widget in widgets]


def test_tab_goes_through_the_composer_as_it_is_laid_out(chat: Chat) -> None:
    chat.start()
    chat.in_loop(lambda: chat.pane.paths_offered.emit(["a.md", "b.md"]))
    field = chat.pane.composer.field
    field.setFocus()
    walked = [tab() for _ in range(6)]
    assert names(walked[:4]) == ["a.md", "b.md", "attach-files", "model-picker"]
    assert names(walked[4:])[-1] == "send"
    walked[0].setFocus()
    assert tab(back=True) is field
    QTest.keyClick(field, Qt.Key.Key_Tab)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Delete)
    assert names([QApplication.focusWidget()]) == ["b.md"], "the next file takes the place"


def test_tab_walks_through_turns_in_the_order_they_stand(chat: Chat) -> None:
    session = chat.start()
    for number in range(3):
        chat.write(f"Message {number}")
        events = chat.world.claim(session)
        for event in events.tool(1, "write", {"path": f"{number}.md"}, "done", changed=[f"{number}.md"]):
            chat.world.publish(session, event)
        chat.world.finish(session)
        chat.rest()
    view = chat.pane.transcript
    view.setFocus()
    walked = [tab() for _ in range(6)]
    tops = [widget.mapTo(view.viewport(), QPoint(0, 0)).y() for widget in walked]
    assert tops == sorted(tops)
    assert [type(widget) for widget in walked[:2]] == [TraceHeader, type(walked[1])]
    assert walked[1].accessibleName() == "Open 0.md"
    assert names([walked[2]]) != names([walked[0]])
    assert tab(back=True) is walked[4]
    walked[0].setFocus()
    assert tab(back=True) is view
    walked[-1].setFocus()
    beyond = [tab() for _ in range(6)]
    assert chat.pane.composer.field in beyond, "and on to the message"


def test_tab_follows_the_turns_after_scrolling_too(chat: Chat) -> None:
    """Widgets that went out of sight come back for other turns."""
    session = chat.start()
    for number in range(24):
        chat.write(f"Message {number}")
        events = chat.world.claim(session)
        for event in events.tool(1, "read", {"path": f"{number}.md"}, "done"):
            chat.world.publish(session, event)
        chat.world.say(session, "A line.\n\n" * 9)
        chat.world.finish(session)
        chat.rest()
    view = chat.pane.transcript
    for part in (0.0, 0.7, 0.2, 0.5):
        view.verticalScrollBar().setValue(int(view.verticalScrollBar().maximum() * part))
        view.setFocus()
        walked = [tab() for _ in range(8)]
        rows = [widget.accessibleName() for widget in walked if isinstance(widget, TraceHeader)]
        numbers = [int(name.removeprefix("Read, ").partition(".")[0]) for name in rows]
        assert len(numbers) > 2
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_what_gets_the_keyboard_is_brought_into_sight(chat: Chat) -> None:
    session = chat.start()
    chat.write("Do it")
    events = chat.world.claim(session)
    for part in range(40):
        for event in events.tool(part, "read", {"path": f"{part}.md"}, "done"):
            chat.world.publish(session, event)
    chat.world.finish(session)
    chat.rest()
    view = chat.pane.transcript
    view.verticalScrollBar().setValue(0)
    view.enter(forward=True)
    for _ in range(30):
        focus = tab()
        top = focus.mapTo(view.viewport(), QPoint(0, 0)).y()
        assert 0 <= top <= view.viewport().height() - focus.height()
    assert view.verticalScrollBar().value() > 0


def test_files_of_a_message_are_opened_with_return(chat: Chat) -> None:
    chat.start()
    chat.in_loop(lambda: chat.pane.paths_offered.emit(["a.md"]))
    chip = chat.pane.composer.files.findChildren(Chip)[0]
    chip.setFocus()
    QTest.keyClick(chip, Qt.Key.Key_Return)
    assert chat.opened == ["a.md"]
