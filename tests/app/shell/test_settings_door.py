"""The settings page comes with the first look at it, and then knows what happened before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from holaboss_app.panes.settings.page import SettingsPage
from holaboss_app.services.keychain import Keychain
from holaboss_app.services.profile import Profile
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.shell.main_window import MainWindow, Page
from holaboss_app.shell.settings_door import SettingsDoor
from holaboss_client.config import ProviderCatalogue
from tests.app.conftest import QLoop
from tests.app.settings.conftest import MemoryStore
from tests.app.settings.fake_runtime import FakeRuntime


class House:
    """A window, and the door to its settings."""

    def __init__(self, folder: Path) -> None:
        self.window = MainWindow()
        store = MemoryStore()
        self.door = SettingsDoor(
            self.window,
            Keychain(open_backend=lambda: store),
            SettingsStore(folder / "settings.json"),
            Profile(folder),
            pytest.fail,
        )

    @property
    def page(self) -> SettingsPage | None:
        return self.window.findChild(SettingsPage)

    async def open(self, section: str = "models") -> SettingsPage:
        self.door.show_section(section)
        self.window.show_page(Page.SETTINGS)
        page = self.page
        assert page is not None
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        return page


@pytest.fixture
def house(qloop: QLoop, qapp: QApplication, tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    house.window.show()
    yield house
    qloop.run(house.door.close())
    house.window.hide()
    house.window.deleteLater()


def test_there_is_no_page_until_somebody_opens_it(qloop: QLoop, house: House) -> None:
    async def scenario() -> None:
        async with FakeRuntime().client() as client:
            house.door.attach(client)
            house.door.show_workspace(None)
            house.door.detach("It went away.")
            assert house.page is None
            page = await house.open("privacy")
            assert page.isVisible()
            assert page.section == "privacy"
            assert (await house.open("about")) is page, "it is built once"

    qloop.run(scenario())


def test_the_page_learns_what_happened_before_it_was_there(qloop: QLoop, house: House) -> None:
    async def scenario() -> None:
        house.door.detach("The runtime has gone away.")
        page = await house.open()
        assert page.models.connection.label.text() == "The runtime has gone away."

    qloop.run(scenario())


def test_an_attached_runtime_fills_the_page_and_signals_pass_the_door(qloop: QLoop, house: House) -> None:
    async def scenario() -> None:
        read: list[ProviderCatalogue] = []
        themes: list[str] = []
        closings: list[bool] = []
        house.door.catalogue_changed.connect(read.append)
        house.door.theme_requested.connect(themes.append)
        house.door.closed.connect(lambda: closings.append(True))
        async with FakeRuntime().client() as client:
            house.door.attach(client)
            page = await house.open()
            assert read
            assert set(page.models.cards) == {view.id for view in read[-1].providers}
            page.appearance.theme_chosen.emit("dark")
            page.closed.emit()
            assert (themes, closings) == (["dark"], [True])
            house.door.detach("It went away.")
            assert page.models.connection.label.text() == "It went away."

    qloop.run(scenario())


def test_a_catalogue_that_is_known_is_shown_without_waiting_for_a_runtime(qloop: QLoop, house: House) -> None:
    async def scenario() -> None:
        async with FakeRuntime().client() as client:
            catalogue = await client.providers()
        house.door.know(catalogue)
        page = await house.open()
        arrived = asyncio.Event()
        page.models.card_added.connect(lambda _card: arrived.set())
        if not page.models.cards:
            await arrived.wait()
        assert set(page.models.cards) == {view.id for view in catalogue.providers}

    qloop.run(scenario())
