"""Secrets of the runtime on their way into the keychain and back, with a real runtime."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from keyring.errors import KeyringLocked

from holaboss_app.services.keychain import Keychain, KeychainAbsentError
from holaboss_app.services.secret_handover import SecretHandover
from holaboss_app.services.tasks import Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.secrets import SecretStoreState
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio

NAME = "mcp:w1:TOKEN"
CHANGED = ChangeEvent(id=1, kind=Change.SECRET, created_at="2026-01-01T00:00:00.000Z")


class Backend:
    """A keychain that can be locked, and takes no more at once than some keychains do."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.locked = False
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self._ask()
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._ask()
        assert len(password) <= 1_200
        self.kept[username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._ask()
        del self.kept[username]

    def _ask(self) -> None:
        self.asked += 1
        if self.locked:
            raise KeyringLocked("locked")


class Desk:
    """A handover, its keychain, and what it told the person."""

    def __init__(self, client: RuntimeClient, backend: Backend | None) -> None:
        self.client = client
        self.told: list[str] = []

        def opened() -> Backend:
            if backend is None:
                raise KeychainAbsentError("No keychain answers.")
            return backend

        self.tasks = Tasks(pytest.fail)
        self.handover = SecretHandover(Keychain(open_backend=opened), self.told.append, self.tasks)

    async def settle(self) -> SecretStoreState:
        while self.tasks._tasks:
            await asyncio.wait(set(self.tasks._tasks))
        return await self.client.stored_secrets()


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuntimeProcess]:
    with RuntimeProcess(Path(tmp_path_factory.mktemp("handover")) / "root") as running:
        yield running


@pytest.fixture
async def client(runtime: RuntimeProcess) -> AsyncIterator[RuntimeClient]:
    async with runtime.client() as client:
        yield client
        for name in (await client.stored_secrets()).names:
            await client.delete_stored_secret(name)
        for pending in (await client.stored_secrets()).pending:
            await client.confirm_stored_secret(pending.name, pending.version)


@pytest.fixture
def backend() -> Backend:
    return Backend()


async def make_pending(client: RuntimeClient, value: str) -> None:
    """A secret the keychain has not confirmed: put, deleted, put again by a person, deleted."""
    await client.put_stored_secret(NAME, value)
    await client.delete_stored_secret(NAME)


async def test_what_is_deleted_in_the_runtime_leaves_the_keychain(
    client: RuntimeClient, backend: Backend
) -> None:
    desk = Desk(client, backend)
    await desk.handover._write(NAME, "x" * 2_500)
    assert len(backend.kept) == 3
    await make_pending(client, "x" * 2_500)
    desk.handover.attach(client)
    state = await desk.settle()
    assert (state.pending, state.missing, backend.kept) == ([], [], {})
    await desk.tasks.close()


@pytest.mark.parametrize("length", [1, 1_000, 1_001, 5_000])
async def test_a_value_of_any_length_comes_back_as_it_was(
    client: RuntimeClient, backend: Backend, length: int
) -> None:
    desk = Desk(client, backend)
    value = "0:" + "é" * length
    await desk.handover._write(NAME, "y" * 3_500)
    await desk.handover._write(NAME, value)
    assert await desk.handover._read(NAME) == value
    assert len(backend.kept) == 1 + (len(value) - 1) // 1_000
    await desk.handover._remove(NAME)
    assert backend.kept == {}


async def test_half_a_value_is_none(client: RuntimeClient, backend: Backend) -> None:
    desk = Desk(client, backend)
    await desk.handover._write(NAME, "y" * 2_500)
    del backend.kept[f"provider/stored:{NAME}#2"]
    assert await desk.handover._read(NAME) is None


async def test_a_locked_keychain_is_said_once_and_everything_stays_pending(
    client: RuntimeClient, backend: Backend
) -> None:
    desk = Desk(client, backend)
    await make_pending(client, "some-value")
    backend.locked = True
    desk.handover.attach(client)
    await desk.settle()
    desk.handover.on_change(CHANGED)
    state = await desk.settle()
    assert [one.action for one in state.pending] == ["forget"]
    assert len(desk.told) == 1
    assert "locked" in desk.told[0]
    backend.locked = False
    desk.handover.retry()
    assert (await desk.settle()).pending == []
    await desk.tasks.close()


async def test_without_a_keychain_it_is_said(client: RuntimeClient) -> None:
    desk = Desk(client, None)
    await make_pending(client, "some-value")
    desk.handover.attach(client)
    assert len((await desk.settle()).pending) == 1
    assert "No keychain answers." in desk.told[0]
    await desk.tasks.close()


async def test_other_changes_do_not_ask_the_keychain(client: RuntimeClient, backend: Backend) -> None:
    desk = Desk(client, backend)
    desk.handover.attach(client)
    await desk.settle()
    asked = backend.asked
    desk.handover.on_change(CHANGED.model_copy(update={"kind": Change.CONFIG}))
    await desk.settle()
    assert backend.asked == asked
    desk.handover.detach()
    desk.handover.on_change(CHANGED)
    await desk.settle()
    await desk.tasks.close()


async def test_at_the_next_start_the_runtime_gets_back_what_it_lacks(
    tmp_path: Path, backend: Backend
) -> None:
    root = tmp_path / "root"
    async with RuntimeProcess(root) as first, first.client() as client:
        await client.put_stored_secret(NAME, "kept-value")
        desk = Desk(client, backend)
        await desk.handover._write(NAME, "kept-value")
    assert b"kept-value" not in b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    async with RuntimeProcess(root) as second, second.client() as client:
        assert (await client.stored_secrets()).missing == [NAME]
        desk = Desk(client, backend)
        desk.handover.attach(client)
        state = await desk.settle()
        assert (state.missing, state.names) == ([], [NAME])
        await desk.tasks.close()
    assert desk.told == []
