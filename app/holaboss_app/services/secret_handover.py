"""The keychain's end of the secrets that the runtime obtains itself, such as tokens of MCP servers.

What is pending there goes into the keychain and is confirmed afterwards, so that a crash in between loses nothing; what
the keychain kept goes back at each start. A keychain that is locked or absent is said once, and everything stays
pending until it can be asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from holaboss_app.services.keychain import Keychain, KeychainError
from holaboss_app.services.tasks import Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.secrets import PendingSecret

PART = 1_000
MOST_PARTS = 80
AWAY = (ProblemError, RuntimeUnreachableError)


class SecretHandover:
    """`tell` gets a sentence for the person; `tasks` are those of its owner. Attach it to each client anew."""

    def __init__(self, keychain: Keychain, tell: Callable[[str], None], tasks: Tasks) -> None:
        self._keychain = keychain
        self._tell = tell
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._running: asyncio.Task[None] | None = None
        self._again = False
        self._told = ""

    def attach(self, client: RuntimeClient) -> None:
        """A runtime is there: take what it has, give what it lacks."""
        self._client = client
        self.retry()

    def detach(self) -> None:
        self._client = None
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def on_change(self, event: ChangeEvent) -> None:
        if event.kind in (Change.SECRET, Change.RESET):
            self.retry()

    def retry(self) -> None:
        """Look again, for example because the keychain was unlocked. What runs is not interrupted: it may wait for an
        answer of the person, and would ask once more."""
        self._again = True
        idle = self._running is None or self._running.done()
        if idle and self._client is not None:
            self._running = self._tasks.start(self._run(self._client))

    async def _run(self, client: RuntimeClient) -> None:
        while self._again:
            self._again = False
            await self._exchange(client)

    async def _exchange(self, client: RuntimeClient) -> None:
        try:
            state = await client.stored_secrets()
            if state.trouble:
                self._say(state.detail)
            if state.place != "keychain":
                return  # a runtime that keeps its secrets itself
            for pending in state.pending:
                await self._take(client, pending)
            for name in state.missing:
                await self._give(client, name)
        except KeychainError as error:
            words = QCoreApplication.translate(
                "SecretHandover", "A sign-in is kept in memory only, because of the keychain. {reason}"
            )
            self._say(words.format(reason=str(error)))
        except AWAY:
            return  # attached again, or told of a change, it begins anew
        else:
            self._told = ""

    async def _take(self, client: RuntimeClient, pending: PendingSecret) -> None:
        handed = await client.hand_over_stored_secret(pending.name)
        if handed.value is None:
            await self._remove(pending.name)
        else:
            await self._write(pending.name, handed.value)
        await client.confirm_stored_secret(pending.name, handed.version)

    async def _give(self, client: RuntimeClient, name: str) -> None:
        if (value := await self._read(name)) is not None:
            await client.put_stored_secret(name, value)

    # Some keychains take no more than some 1,200 characters at once, so a long value is kept in parts. The first one
    # begins with the number of those that follow, and is written last.

    async def _write(self, name: str, value: str) -> None:
        before = await self._parts(name)
        pieces = [value[start : start + PART] for start in range(0, len(value), PART)] or [""]
        for number, piece in enumerate(pieces[1:], 1):
            await self._keychain.write(account(name, number), piece)
        await self._keychain.write(account(name), f"{len(pieces) - 1}:{pieces[0]}")
        for number in range(len(pieces), before + 1):
            await self._keychain.delete(account(name, number))

    async def _read(self, name: str) -> str | None:
        first = await self._keychain.read(account(name))
        if first is None:
            return None
        count, _, value = first.partition(":")
        pieces = [value]
        for number in range(1, int(count) + 1 if count.isdecimal() else 1):
            piece = await self._keychain.read(account(name, number))
            if piece is None:
                return None
            pieces.append(piece)
        return "".join(pieces)

    async def _remove(self, name: str) -> None:
        for number in range(await self._parts(name), -1, -1):
            await self._keychain.delete(account(name, number))

    async def _parts(self, name: str) -> int:
        """How many follow the first one that is kept now."""
        count = (await self._keychain.read(account(name)) or "").partition(":")[0]
        return min(int(count), MOST_PARTS) if count.isdecimal() else 0

    def _say(self, sentence: str) -> None:
        """Once, until something else is to be said."""
        if sentence != self._told:
            self._told = sentence
            self._tell(sentence)


def account(name: str, part: int = 0) -> str:
    """Under which it lies in the keychain, apart from the keys of providers, whose ids have no colon."""
    return f"stored:{name}#{part}" if part else f"stored:{name}"
