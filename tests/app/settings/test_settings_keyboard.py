"""The settings page by keyboard: the order of Tab, what Escape leaves, where the caret is after each step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListWidget, QPushButton, QVBoxLayout, QWidget

from tests.app.settings.conftest import Desk


@pytest.fixture
def open_desk(desk: Desk) -> Desk:
    desk.open()
    desk.page.activateWindow()
    return desk


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def name_of(widget: QWidget) -> str:
    return widget.accessibleName() or widget.objectName()


def press(desk: Desk, key: Qt.Key) -> None:
    desk.do(lambda: QTest.keyClick(focused(), key))


@pytest.fixture
def desk_in_a_window(desk: Desk) -> Iterator[Desk]:
    """The page below something else that takes the focus, as in the real window: what is out of order then shows."""
    window = QWidget()
    layout = QVBoxLayout(window)
    layout.addWidget(QPushButton("above"))
    layout.addWidget(desk.page)
    desk.do(window.show)
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    desk.open()
    yield desk
    desk.page.setParent(None)
    window.hide()
    window.deleteLater()


def test_tab_walks_through_the_page_as_it_stands(desk_in_a_window: Desk) -> None:
    desk = desk_in_a_window
    desk.find(QListWidget, "settings-sections").setFocus()
    walked: list[str] = []
    for _ in range(8):
        press(desk, Qt.Key.Key_Tab)
        walked.append(name_of(focused()))
    assert walked == [
        "Connect: OpenAI",
        "Show details of OpenAI",
        "Connect: Ollama",
        "Show details of Ollama",
        "Connect: Demo model (offline, scripted)",
        "Show details of Demo model (offline, scripted)",
        "add-provider",
        "refresh-local-servers",
    ]


def test_the_page_opens_at_its_sections(open_desk: Desk) -> None:
    desk = open_desk
    desk.page.hide()
    focus = QApplication.focusWidget()
    if focus is not None:
        focus.clearFocus()
    desk.page.show()
    desk.page.activateWindow()
    desk.do(QApplication.processEvents)
    listing = desk.page.focusWidget()
    assert listing is not None
    assert listing.objectName() == "settings-sections"


def test_a_card_that_is_asked_for_opens_with_the_caret_at_its_key(open_desk: Desk) -> None:
    desk = open_desk
    desk.presenter.show_section("models/openai_direct")
    QApplication.processEvents()
    assert focused() is desk.card("openai_direct").form.key.input
    desk.presenter.show_section("models/ollama_direct")
    QApplication.processEvents()
    assert focused() is desk.card("ollama_direct").connect_button


def test_a_new_provider_can_be_asked_for(open_desk: Desk) -> None:
    desk = open_desk
    desk.page.resize(900, 620)
    QApplication.processEvents()
    desk.presenter.show_section("models/+")
    QApplication.processEvents()
    custom = desk.page.models.custom
    assert focused() is custom.name
    add = custom.add.mapTo(desk.page, custom.add.rect().bottomLeft())
    assert desk.page.rect().contains(add), "the whole form is in sight"


def test_escape_leaves_the_innermost_thing_first(open_desk: Desk) -> None:
    desk = open_desk
    closed: list[bool] = []
    desk.presenter.closed.connect(lambda: closed.append(True))
    desk.runtime.secrets["openai_direct"] = "x"
    desk.runtime.providers["openai_direct"] |= {"connected": True}
    desk.do(desk.presenter._reload)
    card = desk.card("openai_direct")
    card.set_expanded(True)
    card.connect_button.setFocus()
    press(desk, Qt.Key.Key_Space)
    assert card.confirm_disconnect.isVisible()
    press(desk, Qt.Key.Key_Escape)
    assert not card.confirm_disconnect.isVisible()
    assert focused() is card.connect_button
    card.form.key.replace.setFocus()
    press(desk, Qt.Key.Key_Space)
    assert focused() is card.form.key.input
    press(desk, Qt.Key.Key_Escape)
    assert focused() is card.form.key.replace
    desk.page.models.add.setFocus()
    press(desk, Qt.Key.Key_Space)
    assert focused() is desk.page.models.custom.name
    press(desk, Qt.Key.Key_Escape)
    assert not desk.page.models.custom.isVisible()
    assert closed == []
    press(desk, Qt.Key.Key_Escape)
    assert closed == [True]


@pytest.mark.parametrize("name", ["test", "connect"])
def test_the_keyboard_comes_back_to_the_button_that_waited(open_desk: Desk, name: str) -> None:
    desk = open_desk
    card = desk.card("ollama_direct")
    card.set_expanded(True)
    button = card.form.test if name == "test" else card.connect_button
    button.setFocus()
    during: list[object] = []
    desk.runtime.on_call = lambda: during.append(QApplication.focusWidget())
    press(desk, Qt.Key.Key_Space)
    assert set(during) == {None}, "nothing else can be pressed by mistake"
    assert focused() is button


def test_the_keyboard_is_not_lost_with_the_row_of_a_server(open_desk: Desk) -> None:
    desk = open_desk
    desk.runtime.servers = [
        {
            "provider_id": "lm_studio",
            "name": "LM Studio",
            "base_url": "http://127.0.0.1:1234/v1",
            "models": ["m"],
        }
    ]
    desk.do(desk.page.models.local_servers.refresh.click)
    button = desk.find(QWidget, "connect-local-lm_studio")
    button.setFocus()
    press(desk, Qt.Key.Key_Space)
    assert desk.runtime.providers["lm_studio"]["connected"]
    assert desk.page.focusWidget() is desk.page.models.local_servers.refresh
