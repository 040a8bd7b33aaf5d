"""The keychain service over an in-memory backend: what is stored, what is refused, what blocks nothing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from holaboss_app.services.keychain import (
    Keychain,
    KeychainAbsentError,
    KeychainError,
    KeychainState,
    choose_backend,
)
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


class InMemory(KeyringBackend):
    """A backend like the others, except that it forgets when the test ends."""

    priority = 1  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.threads: set[str] = set()
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._asked()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._asked()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._asked()
        del self.kept[service, username]

    def _asked(self) -> None:
        self.threads.add(threading.current_thread().name)
        if self.locked:
            raise KeyringLocked("locked")


@pytest.fixture
def backend() -> InMemory:
    return InMemory()


async def test_keys_are_kept_under_the_provider_and_off_the_calling_thread(backend: InMemory) -> None:
    keychain = Keychain(open_backend=lambda: backend)
    await keychain.write("openai_direct", "sk-1")
    assert backend.kept == {("holaboss", "provider/openai_direct"): "sk-1"}
    assert await keychain.read("openai_direct") == "sk-1"
    await keychain.delete("openai_direct")
    await keychain.delete("openai_direct")
    assert await keychain.read("openai_direct") is None
    assert backend.threads == {"keychain"}


async def test_profiles_do_not_see_each_others_keys(backend: InMemory) -> None:
    await Keychain("abc", open_backend=lambda: backend).write("p", "theirs")
    assert await Keychain(open_backend=lambda: backend).read("p") is None
    assert list(backend.kept) == [("holaboss", "provider/p@abc")]


async def test_a_session_key_is_in_memory_only_until_one_is_written(backend: InMemory) -> None:
    keychain = Keychain(open_backend=lambda: backend)
    keychain.remember_for_session("p", "passing")
    assert await keychain.read("p") == "passing"
    assert keychain.kept_for_session("p")
    assert backend.kept == {}
    await keychain.write("p", "lasting")
    assert not keychain.kept_for_session("p")
    assert await keychain.read("p") == "lasting"


async def test_states_are_told_in_words(backend: InMemory) -> None:
    keychain = Keychain(open_backend=lambda: backend)
    assert await keychain.state() == KeychainState.AVAILABLE
    assert "kept in" in keychain.detail

    def absent() -> InMemory:
        raise KeychainAbsentError("No keychain answers.")

    keychain = Keychain(open_backend=absent)
    assert await keychain.state() == KeychainState.ABSENT
    assert keychain.detail == "No keychain answers."
    with pytest.raises(KeychainAbsentError):
        await keychain.write("p", "key")


async def test_a_locked_keychain_is_an_error_that_says_what_to_do(backend: InMemory) -> None:
    backend.locked = True
    keychain = Keychain(open_backend=lambda: backend)
    with pytest.raises(KeychainError, match="Unlock it"):
        await keychain.read("p")


async def test_a_keychain_that_waits_for_the_person_blocks_only_its_own_callers(backend: InMemory) -> None:
    asked, answered = threading.Event(), threading.Event()

    class Waiting(InMemory):
        def get_password(self, service: str, username: str) -> str | None:
            asked.set()
            answered.wait(PATIENCE_S)
            return super().get_password(service, username)

    keychain = Keychain(open_backend=Waiting)
    reading = asyncio.ensure_future(keychain.read("p"))
    await asyncio.to_thread(asked.wait, PATIENCE_S)
    assert not reading.done()
    answered.set()
    assert await reading is None


@pytest.mark.parametrize("refused", ["keyring.backends.null.Keyring", "keyring.backends.fail.Keyring"])
def test_backends_that_protect_nothing_are_refused_by_name(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", refused)
    with pytest.raises(KeychainAbsentError, match=refused.replace(".", r"\.")):
        choose_backend()


def test_without_a_session_bus_there_is_no_keychain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PYTHON_KEYRING_BACKEND", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(KeychainAbsentError, match="session only"):
        choose_backend()
