"""The first start by hand and by keyboard: the order of Tab, the search for local servers, the ways on and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.shell.first_run import FirstRunPage
from holaboss_client.config import LocalServer, ProviderCatalogue
from tests.app.conftest import QLoop
from tests.app.shell.conftest import FakeRuntime, provider_record
from tests.app.shell.test_providers import Start, done

pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints", extend=True)
OLLAMA = LocalServer(provider_id="ollama", name="Ollama", base_url="http://localhost:11434/v1", models=["m"])


def catalogue(*providers: dict[str, object]) -> ProviderCatalogue:
    return ProviderCatalogue.model_validate(
        {
            "providers": list(providers),
            "default_provider": None,
            "default_model": None,
            "background_tasks": {"provider": None, "model": None},
        }
    )


@pytest.fixture
def page(qapp: QApplication) -> Iterator[FirstRunPage]:
    """Below something else that takes the focus, as in the real window: what is out of order then shows."""
    window, page = QWidget(), FirstRunPage()
    layout = QVBoxLayout(window)
    layout.addWidget(QPushButton("above"))
    layout.addWidget(page)
    window.resize(900, 700)
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    yield page
    window.hide()
    window.deleteLater()


def button(page: FirstRunPage, name: str) -> QPushButton:
    found = page.findChild(QPushButton, name)
    assert found is not None, name
    return found


def test_tab_goes_from_what_was_found_over_the_providers_to_the_demo_model(page: FirstRunPage) -> None:
    page.show_providers(catalogue(provider_record("openai_direct"), provider_record("demo")))
    page.show_local_servers([OLLAMA])
    QApplication.processEvents()
    button(page, "first-run-ollama-found").setFocus()
    walked: list[str] = []
    for _ in range(6):
        focused = QApplication.focusWidget()
        assert focused is not None
        walked.append(focused.objectName().removeprefix("first-run-"))
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert walked == ["ollama-found", "openai_direct", "other", "demo", "look-again", "skip"]


def test_cards_that_are_made_anew_leave_the_keyboard_where_it_was(page: FirstRunPage) -> None:
    page.show_providers(catalogue(provider_record("openai_direct")))
    QApplication.processEvents()
    button(page, "first-run-openai_direct").setFocus()
    page.show_providers(catalogue(provider_record("openai_direct"), provider_record("demo")))
    focused = page.focusWidget()
    assert focused is button(page, "first-run-openai_direct")


def test_another_provider_can_be_added(page: FirstRunPage) -> None:
    asked: list[str] = []
    page.settings_requested.connect(asked.append)
    page.show_providers(catalogue(provider_record("openai_direct")))
    button(page, "first-run-other").click()
    assert asked == ["models/+"]


def test_looking_again_says_that_it_looks_and_that_it_found_nothing(page: FirstRunPage) -> None:
    page.show_providers(catalogue(provider_record("openai_direct")))
    page.show_local_servers([])
    told = page.findChild(QLabel, "first-run-search")
    assert not told.isVisible(), "nobody asked"
    look = button(page, "first-run-look-again")
    look.click()
    assert (told.isVisible(), look.isEnabled()) == (True, False)
    assert told.text().startswith("Looking for")
    page.show_local_servers([])
    assert look.isEnabled()
    assert told.text().startswith("No model server answers")
    look.click()
    page.show_local_servers([OLLAMA])
    assert not told.isVisible()


def test_the_second_step_leads_back_and_what_is_connected_is_said(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        first = Start(settings)
        first.page.show()
        async with runtime.client() as client:
            await first.providers.attach(client)
            await first.workspaces.attach(client)
            first.start.show_step()
            first.button("first-run-demo").click()
            await first.move()
            name = first.page.findChild(QLineEdit, "workspace-name")
            assert name.isVisible()
            first.button("first-run-back").click()
            await first.move()
            assert not name.isVisible()
            assert first.button("first-run-skip").text() == "Continue"
            runtime.providers[0]["connected"] = True
            await first.providers.attach(client)
            first.start.show_step()
            assert first.button("first-run-openai_direct").text() == "Change"
            first.button("first-run-skip").click()
            await first.move()
            assert name.isVisible()
            await done(first.providers)
        first.page.hide()
        await first.close()
        await settings.close()

    qloop.run(scenario())


def test_a_step_that_fits_does_not_scroll_because_the_other_one_is_longer(page: FirstRunPage) -> None:
    names = ("openai_direct", "anthropic_direct", "gemini_direct", "ollama_direct", "demo")
    scroll = page.findChild(QScrollArea)
    page.window().resize(900, 420)
    page.show_providers(catalogue(*map(provider_record, names)))
    QApplication.processEvents()
    assert scroll.verticalScrollBar().maximum() > 0
    page.show_workspace_step()
    QApplication.processEvents()
    assert scroll.verticalScrollBar().maximum() == 0
    assert page.findChild(QLineEdit, "workspace-name").hasFocus()
    page.show_providers(catalogue(*map(provider_record, names)))
    QApplication.processEvents()
    assert scroll.verticalScrollBar().maximum() > 0
    assert button(page, "first-run-skip").hasFocus(), "going back leads to where the person came from"
