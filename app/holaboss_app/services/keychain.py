"""Provider keys in the operating system's keychain, asked for off the GUI thread.

Only a real keychain is used: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux.
A keyring configuration that names anything else (nothing at all, a plain file) is refused in words, and
keys may then be kept for as long as the program runs. Nothing here imports keyring before the first
question.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar, cast

from PySide6.QtCore import QCoreApplication

SERVICE = "holaboss"
ANSWER_LIMIT_S = 120.0
"""Long, because the keychain may ask the person for a password first."""

_SAFE_BACKENDS = (
    "keyring.backends.macOS",
    "keyring.backends.Windows",
    "keyring.backends.SecretService",
    "keyring.backends.libsecret",
    "keyring.backends.kwallet",
)
Result = TypeVar("Result")


class PasswordStore(Protocol):
    """What is used of a keyring backend."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


class KeychainState(StrEnum):
    AVAILABLE = "available"
    LOCKED = "locked"
    ABSENT = "absent"


class KeychainError(Exception):
    """The keychain could not do what was asked. The text is a sentence for people."""


class KeychainAbsentError(KeychainError):
    """There is no keychain that this program would trust with a key."""


class Keychain:
    """Keys by provider id. Session-only keys live in memory here and are read before the keychain."""

    def __init__(
        self, profile_suffix: str = "", *, open_backend: Callable[[], PasswordStore] | None = None
    ) -> None:
        self._suffix = f"@{profile_suffix}" if profile_suffix else ""
        self._open_backend = open_backend or choose_backend
        self._backend: PasswordStore | None = None
        self._session: dict[str, str] = {}
        self._turn = asyncio.Lock()
        self._detail = ""

    @property
    def detail(self) -> str:
        """A sentence about the last known state; empty before the first question."""
        return self._detail

    async def state(self) -> KeychainState:
        """Look, without asking the person for anything. Never raises."""
        try:
            state, self._detail = await self._ask(self._look)
        except KeychainAbsentError as error:
            state, self._detail = KeychainState.ABSENT, str(error)
        except KeychainError as error:
            state, self._detail = KeychainState.LOCKED, str(error)
        return state

    async def read(self, provider_id: str) -> str | None:
        """The key, or None when there is none.

        Raises:
            KeychainError: the keychain is absent, locked, or refused.
        """
        if (value := self._session.get(provider_id)) is not None:
            return value
        return await self._ask(lambda: self._opened().get_password(SERVICE, self._user(provider_id)))

    async def write(self, provider_id: str, value: str) -> None:
        """Store the key, replacing an older one. A session-only key of the same provider is forgotten.

        Raises:
            KeychainError: nothing was stored.
        """
        await self._ask(lambda: self._opened().set_password(SERVICE, self._user(provider_id), value))
        self._session.pop(provider_id, None)

    async def delete(self, provider_id: str) -> None:
        """Forget the key, in the keychain and in this session. One that is not there is no error.

        Raises:
            KeychainError: the keychain still has it.
        """
        self._session.pop(provider_id, None)
        await self._ask(lambda: self._remove(provider_id))

    def remember_for_session(self, provider_id: str, value: str) -> None:
        """Keep the key in memory until the program ends, and nowhere else."""
        self._session[provider_id] = value

    def kept_for_session(self, provider_id: str) -> bool:
        return provider_id in self._session

    def _user(self, provider_id: str) -> str:
        return f"provider/{provider_id}{self._suffix}"

    def _opened(self) -> PasswordStore:
        if self._backend is None:
            self._backend = self._open_backend()
        return self._backend

    def _look(self) -> tuple[KeychainState, str]:
        backend = self._opened()
        if type(backend).__module__ == "keyring.backends.SecretService" and _secret_service_locked():
            return KeychainState.LOCKED, _tr(
                "The keychain is locked. Unlock it, and saved keys are used again."
            )
        return KeychainState.AVAILABLE, _tr("Keys are kept in {place}.").format(place=_spoken_name(backend))

    def _remove(self, provider_id: str) -> None:
        user = self._user(provider_id)
        backend = self._opened()
        if backend.get_password(SERVICE, user) is not None:
            backend.delete_password(SERVICE, user)

    async def _ask(self, question: Callable[[], Result]) -> Result:
        """One question at a time, each on its own thread: a keychain that never answers blocks nothing
        else."""
        async with self._turn:
            try:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    return await _on_thread(question)
            except TimeoutError as error:
                message = _tr(
                    "The keychain did not answer. Unlock it, or keep the key for this session only."
                )
                raise KeychainError(message) from error
            except KeychainError:
                raise
            except Exception as error:  # backends raise their own libraries' errors
                raise KeychainError(_sentence(error)) from error


async def _on_thread(question: Callable[[], Result]) -> Result:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # pyright: ignore[reportArgumentType] - None only with an error

    def work() -> None:
        result, failure = None, None
        try:
            result = question()
        except Exception as error:  # noqa: BLE001 - carried to the task that asked
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    # A daemon: a keychain prompt nobody answers must not keep the program from ending.
    threading.Thread(target=work, name="keychain", daemon=True).start()
    return await answer


def choose_backend() -> PasswordStore:
    """The keychain to use: the one keyring was told to use if it is safe, else the platform's own.

    Raises:
        KeychainAbsentError: there is none, or keyring was told to use one that protects nothing.
    """
    from keyring import core

    backend = cast("PasswordStore", core.load_env() or core.load_config() or _platform_backend())
    name = f"{type(backend).__module__}.{type(backend).__qualname__}"
    if not name.startswith(_SAFE_BACKENDS):
        raise KeychainAbsentError(
            _tr(
                "keyring is set to {name}, which does not protect what it stores. Remove that setting, "
                "or keep keys for this session only."
            ).format(name=name)
        )
    return backend


def _platform_backend() -> PasswordStore:
    if sys.platform == "darwin":
        from keyring.backends.macOS import Keyring as PlatformKeyring
    elif sys.platform == "win32":
        from keyring.backends.Windows import WinVaultKeyring as PlatformKeyring
    else:
        from keyring.backends.SecretService import Keyring as PlatformKeyring
    try:
        if PlatformKeyring.priority > 0:
            return cast("PasswordStore", PlatformKeyring())
    except RuntimeError:
        pass
    raise KeychainAbsentError(
        _tr(
            "No keychain answers on this computer. Start one (GNOME Keyring or KWallet on Linux), "
            "or keep keys for this session only."
        )
    )


def _secret_service_locked() -> bool:
    import secretstorage
    from secretstorage.exceptions import ItemNotFoundException

    connection = secretstorage.dbus_init()
    try:
        # Not `get_default_collection`: that one asks the person to create what is not there yet.
        return bool(secretstorage.Collection(connection).is_locked())
    except ItemNotFoundException:
        return False
    finally:
        connection.close()


def _spoken_name(backend: PasswordStore) -> str:
    names = {"macOS": _tr("the macOS keychain"), "Windows": _tr("Windows Credential Manager")}
    return names.get(type(backend).__module__.rpartition(".")[2], _tr("the system keychain"))


def _sentence(error: Exception) -> str:
    if type(error).__name__ == "KeyringLocked":
        return _tr("The keychain is locked. Unlock it and try again, or keep the key for this session only.")
    reason = str(error) or type(error).__name__
    words = _tr("The keychain refused: {reason}. Try again, or keep the key for this session only.")
    return words.format(reason=reason)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Keychain", text)
