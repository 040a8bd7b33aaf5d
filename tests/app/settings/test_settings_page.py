"""Everything on the page that is not one provider card."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from holaboss_app.theme import style
from holaboss_client.base import utc_now
from holaboss_client.config import ProviderCatalogue
from holaboss_client.events import Change, ChangeEvent
from tests.app.settings.conftest import Desk
from tests.app.settings.fake_runtime import MARKER_KEY, provider


def test_the_catalogue_is_announced_without_drawing_an_unseen_page(desk: Desk) -> None:
    seen: list[ProviderCatalogue] = []
    desk.presenter.catalogue_changed.connect(seen.append)
    client = desk.runtime.client()
    desk.do(lambda: desk.presenter.attach(client))
    assert [view.id for view in seen[0].providers] == ["openai_direct", "ollama_direct", "demo"]
    assert desk.page.models.cards == {}
    assert desk.runtime.calls == [("GET", "/runtime/providers", {})]
    desk.qloop.run(client.aclose())


def test_a_change_of_the_configuration_is_read_again(desk: Desk) -> None:
    desk.open()
    desk.runtime.providers["new"] = provider("new", "New")
    event = ChangeEvent(id=1, kind=Change.CONFIG, created_at=utc_now())
    desk.do(lambda: desk.presenter.on_change(event))
    assert "new" in desk.page.models.cards
    del desk.runtime.providers["new"]
    desk.do(lambda: desk.presenter.on_change(event))
    assert "new" not in desk.page.models.cards


def test_a_catalogue_that_cannot_be_read_can_be_asked_for_again(desk: Desk) -> None:
    desk.runtime.refuse["/runtime/providers"] = (503, "The configuration is being written.")
    desk.open()
    notice = desk.page.models.connection
    assert notice.label.text() == "The configuration is being written."
    desk.runtime.refuse.clear()
    desk.do(desk.page.models.reload.click)
    assert not notice.isVisibleTo(desk.page)
    assert desk.page.models.cards


def test_a_custom_provider_is_checked_then_added_with_its_key(desk: Desk) -> None:
    desk.open()
    form = desk.page.models.custom
    desk.do(desk.page.models.add.click)
    desk.do(form.add.click)
    assert desk.runtime.bodies("PUT", "") == []
    form.name.setText("Our Lab")
    form.base_url.setText("https://llm.lab.example/v1")
    form.key.setText(MARKER_KEY)
    form.models.text.setPlainText("lab/large")
    form.kind.setCurrentIndex(form.kind.findData("openai_compatible"))
    desk.do(form.add.click)
    assert desk.runtime.bodies("PUT", "/providers/our_lab") == [
        {
            "name": "Our Lab",
            "kind": "openai_compatible",
            "base_url": "https://llm.lab.example/v1",
            "models": ["lab/large"],
        }
    ]
    assert desk.store.passwords == {"provider/our_lab": MARKER_KEY}
    assert not form.isVisible()
    assert desk.card("our_lab").state_label.text() == "Connected"


def test_servers_of_this_computer_are_found_once_and_connected(desk: Desk) -> None:
    desk.runtime.servers = [
        {
            "provider_id": "lm_studio",
            "name": "LM Studio",
            "base_url": "http://127.0.0.1:1234/v1",
            "models": ["qwen/qwen3"],
        }
    ]
    desk.open()
    desk.page.hide()
    desk.do(desk.page.show)
    assert len([path for _, path, _ in desk.runtime.calls if path.endswith("local-servers")]) == 1
    desk.do(desk.find(QPushButton, "connect-local-lm_studio").click)
    assert desk.runtime.bodies("PUT", "/lm_studio") == [
        {
            "name": "LM Studio",
            "kind": "openai_compatible",
            "base_url": "http://127.0.0.1:1234/v1",
            "models": ["qwen/qwen3"],
        }
    ]
    QApplication.sendPostedEvents()
    assert desk.page.findChild(QPushButton, "connect-local-lm_studio") is None


def test_background_tasks_take_the_providers_own_small_model(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"] |= {"connected": True, "models": ["large", "small"]}
    desk.runtime.providers["ollama_direct"] |= {"connected": True, "models": ["qwen3:8b"]}
    desk.open()
    card = desk.page.models.background
    assert card.provider.currentText() == "Off"

    def choose(provider_id: str) -> None:
        card.provider.setCurrentIndex(card.provider.findData(provider_id))
        card.provider.chosen.emit()

    desk.do(lambda: choose("openai_direct"))
    assert desk.runtime.background == {"provider": "openai_direct", "model": "small"}
    desk.do(lambda: choose("ollama_direct"))
    assert desk.runtime.background == {"provider": "ollama_direct", "model": None}
    assert card.warning.label.text() == "Choose a model: without one, background tasks do not run."
    card.model.setCurrentText("qwen3:8b")
    desk.do(card.settled.timeout.emit)
    assert desk.runtime.background == {"provider": "ollama_direct", "model": "qwen3:8b"}
    assert not card.warning.isVisibleTo(card)


def test_background_tasks_of_a_disconnected_provider_warn(desk: Desk) -> None:
    desk.runtime.background = {"provider": "openai_direct", "model": "small"}
    desk.open()
    warning = desk.page.models.background.warning.label.text()
    assert warning == "OpenAI is not connected, so background tasks do not run."
    assert desk.runtime.bodies("PUT", "/background-tasks") == []


def test_the_default_model_is_chosen_among_connected_ones(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"] |= {"connected": True, "models": ["large", "small"]}
    desk.runtime.default_model = "openai_direct/large"
    desk.open()
    picker = desk.page.models.default_model.model
    assert picker.currentText() == "OpenAI · large"
    picker.setCurrentIndex(1)
    desk.do(picker.chosen.emit)
    assert desk.runtime.default_model == "openai_direct/small"


def test_notices_of_the_runtime_are_shown(desk: Desk) -> None:
    desk.runtime.notices = ["The file was unreadable and kept aside."]
    desk.open()
    assert desk.page.models.file_notice.isVisibleTo(desk.page)
    assert desk.page.models.file_notice.label.text() == "The file was unreadable and kept aside."


def test_a_deep_link_opens_the_card(desk: Desk) -> None:
    desk.open()
    desk.presenter.show_section("about")
    assert desk.page.section == "about"
    desk.presenter.show_section("models/ollama_direct")
    assert desk.page.section == "models"
    assert desk.card("ollama_direct").expanded
    assert not desk.card("openai_direct").expanded


def test_a_deep_link_that_comes_before_the_catalogue_opens_its_card_later(desk: Desk) -> None:
    desk.presenter.show_section("models/ollama_direct")
    desk.open()
    assert desk.card("ollama_direct").expanded
    desk.card("ollama_direct").toggle()
    desk.presenter.show_section("about")
    desk.do(lambda: desk.presenter.attach(desk.runtime.client()))
    assert desk.page.section == "about", "it is followed once"


def test_theme_and_text_size_are_asked_for(desk: Desk, qapp: QApplication) -> None:
    desk.open()
    wanted: list[object] = []
    desk.presenter.theme_requested.connect(wanted.append)
    desk.presenter.scale_requested.connect(wanted.append)
    desk.page.appearance.tiles["dark"].click()
    scale = desk.page.appearance.scale
    scale.setCurrentIndex(scale.findData(150))
    scale.chosen.emit()
    assert wanted == ["dark", 1.5]
    style.apply(qapp, "light", 1.3)
    assert scale.currentText() == "130 %"
    style.apply(qapp, "light", 1.0)


def test_the_section_of_providers_has_the_name_that_the_runtime_uses_for_it(desk: Desk) -> None:
    desk.open()
    desk.presenter.show_section("models")
    assert desk.find(QListWidget, "settings-sections").item(0).text() == "Model Providers"
    titles = [label.text() for label in desk.page.findChildren(QLabel) if label.property("role") == "title"]
    assert "Model Providers" in titles


def test_pictures_of_themes_grow_with_the_text(desk: Desk, qapp: QApplication) -> None:
    tile = desk.page.appearance.tiles["light"]
    style.apply(qapp, "light", 1.0)
    small = tile.sizeHint()
    style.apply(qapp, "light", 2.0)
    assert tile.sizeHint() == small * 2
    style.apply(qapp, "light", 1.0)


def test_facts_are_filled_in(desk: Desk) -> None:
    desk.open()
    assert desk.find(QLabel, "runtime-version").text() == "0.1.0 (protocol 1.0, database schema 1)"
    assert desk.find(QLabel, "keychain-state").text().startswith("Keys are kept in")
    desk.presenter.detach("gone")
    assert desk.find(QLabel, "runtime-version").text() == "Not connected"


def test_everything_that_takes_the_focus_has_a_name(desk: Desk) -> None:
    desk.open()
    for card in desk.page.models.cards.values():
        card.set_expanded(True)
    desk.do(desk.page.models.add.click)
    nameless = [
        f"{type(widget).__name__} {widget.objectName()}"
        for widget in desk.page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and not (isinstance(widget.parentWidget(), QComboBox) and not isinstance(widget, QLineEdit))
    ]
    assert nameless == []


def test_escape_goes_back_and_the_keyboard_reaches_a_card(desk: Desk, qtbot: QtBot) -> None:
    desk.open()
    closed: list[bool] = []
    desk.presenter.closed.connect(lambda: closed.append(True))
    chevron = desk.card("openai_direct").chevron
    qtbot.keyClick(chevron, Qt.Key.Key_Space)
    assert desk.card("openai_direct").expanded
    desk.page.activateWindow()
    qtbot.keyClick(desk.find(QListWidget, "settings-sections"), Qt.Key.Key_Escape)
    assert closed == [True]


def test_a_theme_chosen_elsewhere_is_marked_at_once(desk: Desk, qapp: QApplication) -> None:
    desk.open()
    desk.presenter.show_section("appearance")

    async def choose() -> None:
        desk.settings.update(theme="dark")
        style.apply(qapp, "dark", 1.0)
        await desk.settings.close()

    try:
        desk.qloop.run(choose())
        assert desk.page.appearance.tiles["dark"].isChecked()
    finally:
        style.apply(qapp, "light", 1.0)
