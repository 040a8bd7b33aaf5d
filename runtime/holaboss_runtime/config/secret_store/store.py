"""The one port for secrets the runtime obtains itself: get, put, delete, and where they are kept meanwhile.

Under a desktop they live in memory and are handed to its keychain: pending until it says that it has them. Standalone
they go into an encrypted file when there is a key for it, else they live in memory only, and that is said. The list of
names a keychain holds is kept by `References`; values are never written anywhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from holaboss_client.events import Change
from holaboss_client.secrets import (
    HandedOverStoredSecret,
    PendingSecret,
    SecretStoreState,
    StoredSecretState,
)
from holaboss_runtime.config.secret_store.names import (
    OAUTH,
    check_name,
    check_value,
    parts_to_hide,
    placeholder_name,
    workspace_of,
)
from holaboss_runtime.config.secret_store.sealed_file import SealedFile
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.change_log import ChangeLog

log = logging.getLogger(__name__)

MAX_SECRETS = 2_000

_SEALED = "Secrets are kept in an encrypted file."
_KEYCHAIN = "Secrets are handed to the keychain of this computer."
_MEMORY = (
    "Secrets are kept in memory only and are lost when the runtime stops. Set HOLABOSS_SECRETS_KEY to keep them in an"
    " encrypted file."
)


@dataclass(frozen=True, slots=True)
class References:
    """Where the names of secrets that a keychain holds are noted."""

    names: Callable[[], Iterable[str]]
    note: Callable[[str, bool], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Pending:
    """`value` is None for one that the keychain is to forget."""

    version: int
    value: str | None


class SecretStore:
    """`sealed` is for a standalone runtime, `references` for an embedded one; with neither, memory is all there is.

    `environment` are variables that placeholders may read.
    """

    def __init__(
        self,
        changes: ChangeLog,
        *,
        sealed: SealedFile | None = None,
        references: References | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._changes = changes
        self._sealed = sealed
        self._references = references
        self._environment = dict(environment or {})
        self._values: dict[str, str] = {}
        self._pending: dict[str, _Pending] = {}
        self._version = 0
        self._trouble: str | None = None
        self._opened = False
        self._file = asyncio.Lock()
        self.on_received: Callable[[str], None] = _nobody
        """Called with the name of a secret that came from outside."""

    async def open(self) -> None:
        """Read the encrypted file, where there is one, once. Never raises: what is wrong is told by `state`."""
        async with self._file:
            if self._opened:
                return
            if self._sealed is not None:
                try:
                    self._values = await asyncio.to_thread(self._sealed.load)
                except DomainError as error:
                    log.warning("%s", error.detail)
                    self._trouble, self._sealed = error.detail, None
            self._opened = True

    # For the runtime

    async def get(self, name: str) -> str | None:
        await self.open()
        return self._values.get(name)

    async def put(self, name: str, value: str) -> None:
        """Keep a secret that was obtained. Raises `DomainError` for a name or value that cannot be."""
        check_name(name)
        check_value(value)
        await self.open()
        if name not in self._values and len(self._values) >= MAX_SECRETS:
            raise DomainError(
                "conflict", "too_many_secrets", "There are too many stored secrets. Delete some."
            )
        self._values[name] = value
        await self._keep(name, value)

    async def delete(self, name: str) -> None:
        """Forget a secret, here and wherever it is kept. One that is not there is no error."""
        check_name(name)
        await self.open()
        known = self._values.pop(name, None) is not None or name in self._noted()
        self._pending.pop(name, None)
        if known:
            await self._keep(name, None)

    async def forget_workspace(self, workspace_id: str) -> None:
        for name in [*self._values, *self._noted()]:
            if workspace_of(name) == workspace_id:
                await self.delete(name)

    def placeholder(self, workspace_id: str, name: str) -> str | None:
        """What `{env:NAME}` of a workspace stands for: its stored secret, else a variable that was opened to it."""
        return self._values.get(placeholder_name(workspace_id, name), self._environment.get(name))

    def variable(self, name: str) -> str | None:
        """A variable that placeholders may read, and no secret of a keychain."""
        return self._environment.get(name)

    def peek(self, name: str) -> str | None:
        """What is in memory now, for those who show whether there is something."""
        return self._values.get(name)

    def live_values(self) -> frozenset[str]:
        """Everything of it that must not be shown."""
        pending = [one.value for one in self._pending.values() if one.value is not None]
        found = {part for value in (*self._values.values(), *pending) for part in parts_to_hide(value)}
        return frozenset(found | set(self._environment.values()))

    # For the keychain's owner

    def state(self) -> SecretStoreState:
        pending = [
            PendingSecret(name=name, version=one.version, action="forget" if one.value is None else "keep")
            for name, one in self._pending.items()
        ]
        missing = [name for name in self._noted() if name not in self._values and name not in self._pending]
        place = "keychain" if self._references else "encrypted_file" if self._sealed else "memory"
        detail = {"keychain": _KEYCHAIN, "encrypted_file": _SEALED, "memory": _MEMORY}[place]
        return SecretStoreState(
            place=place,
            detail=self._trouble or detail,
            trouble=self._trouble is not None or place == "memory",
            names=sorted(self._values),
            pending=pending,
            missing=sorted(missing),
        )

    async def receive(self, name: str, value: str) -> StoredSecretState:
        """A secret that its owner keeps already: from the keychain at start, or entered by a person just now.

        One that the runtime obtained meanwhile is newer and stays.
        """
        check_name(name)
        check_value(value)
        if self._references is None:
            await self.put(name, value)
            self.on_received(name)
            return StoredSecretState(name=name, kept=self._sealed is not None)
        if name not in self._pending:
            self._values[name] = value
            await self._note(name, held=True)
            self._announce(name)
            self.on_received(name)
        return StoredSecretState(name=name, kept=name not in self._pending)

    def hand_over(self, name: str) -> HandedOverStoredSecret:
        """A pending secret, for a keychain. Raises `secret_not_pending`."""
        pending = self._pending.get(name)
        if pending is None:
            raise DomainError("not_found", "secret_not_pending", "There is no such secret to be handed over.")
        return HandedOverStoredSecret(name=name, version=pending.version, value=pending.value)

    async def confirm(self, name: str, version: int) -> StoredSecretState:
        """The keychain has done it. Raises conflict `secret_changed` when there is a newer one by now."""
        pending = self._pending.get(name)
        if pending is None or pending.version != version:
            raise DomainError(
                "conflict",
                "secret_changed",
                "The secret is not the one that was handed over any more. Ask again.",
            )
        await self._note(name, held=pending.value is not None)
        if self._pending.get(name) == pending:
            del self._pending[name]
            self._announce(name)
        return StoredSecretState(name=name, kept=name not in self._pending)

    async def _keep(self, name: str, value: str | None) -> None:
        if self._references is not None:
            self._version += 1
            self._pending[name] = _Pending(self._version, value)
        elif self._sealed is not None:
            await self._seal(self._sealed, name, value)
        self._announce(name)

    async def _seal(self, sealed: SealedFile, name: str, value: str | None) -> None:
        async with self._file:
            try:
                await asyncio.to_thread(sealed.change, name, value)
            except DomainError as error:
                log.error("%s", error.detail)
                self._trouble = error.detail
            else:
                self._trouble = None

    async def _note(self, name: str, *, held: bool) -> None:
        if self._references is not None:
            await self._references.note(name, held)

    def _noted(self) -> list[str]:
        return list(self._references.names()) if self._references is not None else []

    def _announce(self, name: str) -> None:
        kind = "oauth" if name.startswith(OAUTH) else "value"
        self._changes.append(
            Change.SECRET, workspace_id=workspace_of(name), payload={"name": name, "kind": kind}
        )


def _nobody(name: str) -> None:
    """Until somebody wants to know."""
