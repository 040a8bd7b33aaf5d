"""Keys on their way from the keychain to the runtime, and the first start."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from holaboss_app.services.keychain import Keychain, KeychainAbsentError
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.shell.first_run import FirstRunPage
from holaboss_app.shell.first_start import FirstStart
from holaboss_app.shell.providers import Providers
from holaboss_app.shell.workspaces import Workspaces
from tests.app.conftest import QLoop
from tests.app.shell.conftest import FakeRuntime, provider_record
from tests.support.processes import PATIENCE_S


class Remembering:
    """A keychain backend that holds what it is given."""

    def __init__(self, **kept: str) -> None:
        self.kept = {f"provider/{name}": value for name, value in kept.items()}

    def get_password(self, service: str, username: str) -> str | None:
        assert service == "holaboss"
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[username]


async def done(providers: Providers) -> None:
    while providers._tasks._tasks:
        await asyncio.wait(set(providers._tasks._tasks))


def test_only_keys_that_are_waited_for_are_sent(qloop: QLoop, runtime: FakeRuntime) -> None:
    async def scenario() -> None:
        runtime.providers = [
            provider_record("a", connected=True, key_state="keychain_missing"),
            provider_record("b", connected=True, key_state="keychain_missing"),
            provider_record("c", connected=True, key_state="literal"),
        ]
        backend = Remembering(a="key of a", c="key of c")
        providers = Providers(Keychain(open_backend=lambda: backend), pytest.fail)
        async with runtime.client() as client:
            await providers.attach(client)
            await done(providers)
        assert runtime.secrets == {"a": "key of a"}
        assert providers.catalogue is not None
        assert [item.key_state for item in providers.catalogue.providers][:2] == [
            "keychain",
            "keychain_missing",
        ]
        await providers.close()

    qloop.run(scenario())


def test_a_keychain_that_refuses_is_told_and_stops_nothing(qloop: QLoop, runtime: FakeRuntime) -> None:
    async def scenario() -> None:
        def absent() -> Remembering:
            raise KeychainAbsentError("No keychain answers.")

        runtime.providers = [provider_record("a", connected=True, key_state="keychain_missing")]
        runtime.notices = ["The configuration was kept aside."]
        providers = Providers(Keychain(open_backend=absent), pytest.fail)
        told: list[str] = []
        providers.told.connect(told.append)
        async with runtime.client() as client:
            await providers.attach(client)
            await done(providers)
        assert told == ["The configuration was kept aside.", "No keychain answers."]
        assert providers.any_connected
        await providers.close()

    qloop.run(scenario())


class Start:
    """A first-run page with its presenter over a fake runtime."""

    def __init__(self, settings: SettingsStore) -> None:
        self.page = FirstRunPage()
        self.providers = Providers(Keychain(open_backend=Remembering), pytest.fail)
        self.workspaces = Workspaces(settings, pytest.fail)
        self.start = FirstStart(self.page, self.providers, self.workspaces, pytest.fail)
        self.moved = asyncio.Event()
        self.start.moved_on.connect(self.moved.set)

    def button(self, name: str) -> QPushButton:
        found = self.page.findChild(QPushButton, name)
        assert found is not None
        return found

    async def move(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.moved.wait()
        self.moved.clear()
        self.start.show_step()

    async def close(self) -> None:
        await self.start.close()
        await self.providers.close()
        await self.workspaces.close()
        self.page.deleteLater()


def test_the_first_start_goes_from_demo_model_to_workspace(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        first = Start(settings)
        async with runtime.client() as client:
            await first.providers.attach(client)
            await first.workspaces.attach(client)
            assert first.start.needed
            first.start.show_step()
            asked: list[str] = []
            first.page.settings_requested.connect(asked.append)
            first.button("first-run-openai_direct").click()
            assert asked == ["models/openai_direct"]
            first.button("first-run-demo").click()
            await first.move()
            assert first.providers.any_connected
            create = first.button("create-workspace")
            assert not create.isEnabled()
            name = first.page.findChild(QLineEdit, "workspace-name")
            name.setText("  Research ")
            create.click()
            await first.move()
        assert [item["name"] for item in runtime.workspaces] == ["Research"]
        assert not first.start.needed
        await first.close()
        await settings.close()

    qloop.run(scenario())


def test_servers_on_this_computer_are_offered(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        runtime.servers = [
            {
                "provider_id": "ollama",
                "name": "Ollama",
                "base_url": "http://localhost:11434/v1",
                "models": ["m"],
            }
        ]
        runtime.providers.append(provider_record("ollama"))
        first = Start(settings)
        async with runtime.client() as client:
            await first.providers.attach(client)
            first.start.show_step()
            await done(first.providers)
            first.button("first-run-ollama-found").click()
            await first.move()
        assert [item["id"] for item in runtime.providers if item["connected"]] == ["ollama"]
        await first.close()

    qloop.run(scenario())


def test_what_cannot_be_connected_or_created_says_why(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        runtime.refuse = "Not today."
        first = Start(settings)
        async with runtime.client() as client:
            await first.providers.attach(client)
            await first.workspaces.attach(client)
            first.start.show_step()
            error = first.page.findChild(QLabel, "first-run-error")
            first.button("first-run-demo").click()
            while first.start._tasks._tasks:
                await asyncio.wait(set(first.start._tasks._tasks))
            assert (error.text(), error.isHidden()) == ("Not today.", False)
            first.button("first-run-skip").click()
            await first.move()
            assert error.isHidden()
            first.page.findChild(QLineEdit, "workspace-name").setText("Research")
            first.button("create-workspace").click()
            while first.start._tasks._tasks:
                await asyncio.wait(set(first.start._tasks._tasks))
            assert not error.isHidden()
            assert first.button("create-workspace").isEnabled()
        await first.close()

    qloop.run(scenario())


def test_the_first_screen_says_what_is_wrong_with_the_configuration(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        runtime.providers.append(provider_record("a", connected=True, key_state="literal"))
        runtime.notices = ["The configuration was kept aside."]
        first = Start(settings)
        async with runtime.client() as client:
            await first.providers.attach(client)
            first.start.show_step()
            told = first.page.findChild(QLabel, "first-run-notice-text")
            assert told.isVisibleTo(first.page)
            assert told.text().splitlines() == [
                "The configuration was kept aside.",
                "The key of A is written in plain text in runtime-config.json.",
            ]
            asked: list[str] = []
            first.page.settings_requested.connect(asked.append)
            first.button("first-run-open-providers").click()
            assert asked == ["models"]
            runtime.providers.pop()
            runtime.notices = []
            await first.providers.attach(client)
            first.start.show_step()
            assert not told.isVisibleTo(first.page)
        await first.close()

    qloop.run(scenario())
