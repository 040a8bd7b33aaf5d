"""A settings page over a fake runtime and an in-memory keychain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QWidget

from holaboss_app.panes.settings.page import SettingsPage
from holaboss_app.panes.settings.presenter import SettingsPresenter
from holaboss_app.panes.settings.provider_card import ProviderCard
from holaboss_app.services.keychain import Keychain, KeychainAbsentError, PasswordStore
from holaboss_app.services.profile import Profile
from holaboss_app.services.settings_store import SettingsStore
from holaboss_client.client import RuntimeClient
from tests.app.conftest import QLoop
from tests.app.settings.fake_runtime import FakeRuntime

HERE = Path(__file__).parent
Kind = TypeVar("Kind", bound=QObject)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            # The offscreen platform says so about every window with a smallest size; it means nothing here.
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints"))


class MemoryStore:
    """A keyring backend; `error` is raised by every question while it is set, `forgetful` loses what it is given."""

    def __init__(self) -> None:
        self.passwords: dict[str, str] = {}
        self.error: Exception | None = None
        self.forgetful = False

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.passwords.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.passwords[username] = "something else" if self.forgetful else password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.passwords[username]


class Desk:
    """Everything of one settings page, with the few gestures that most tests make."""

    def __init__(self, qloop: QLoop, directory: Path, *, keychain: bool = True) -> None:
        self.qloop = qloop
        self.runtime = FakeRuntime()
        self.store = MemoryStore()
        self.errors: list[BaseException] = []
        self.page = SettingsPage()
        self.keychain = Keychain(open_backend=self._backend if keychain else _no_backend)
        self.settings = SettingsStore(directory / "settings.json")
        self.presenter = SettingsPresenter(self.page, self.keychain, self.settings, self.errors.append)
        self.presenter.show_profile(Profile(directory))
        self.client: RuntimeClient | None = None

    def _backend(self) -> PasswordStore:
        return self.store

    def open(self) -> None:
        """Show the page, attach the runtime and wait until everything is there."""
        self.qloop.run(self._open())

    async def _open(self) -> None:
        self.page.resize(900, 800)
        self.page.show()
        self.client = self.runtime.client()
        self.presenter.attach(self.client)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing that the page started still runs."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    def do(self, gesture: Callable[[], object]) -> None:
        """Make a gesture on the loop and wait for everything it started."""

        async def run() -> None:
            gesture()
            await self.settle()

        self.qloop.run(run())

    def card(self, provider_id: str) -> ProviderCard:
        return self.page.models.cards[provider_id]

    def find(self, kind: type[Kind], name: str, within: QWidget | None = None) -> Kind:
        found = (within or self.page).findChild(kind, name)
        assert found is not None, name
        return found

    async def _close(self) -> None:
        await self.presenter.close()
        await self.settings.close()
        if self.client is not None:
            await self.client.aclose()

    def close(self) -> None:
        self.qloop.run(self._close())
        self.page.close()
        self.page.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert self.errors == []


def _no_backend() -> PasswordStore:
    raise KeychainAbsentError("No keychain answers on this computer.")


@pytest.fixture
def desk(qloop: QLoop, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qloop, tmp_path)
    yield desk
    desk.close()


@pytest.fixture
def desk_without_keychain(qloop: QLoop, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(qloop, tmp_path, keychain=False)
    yield desk
    desk.close()
