"""Asking the server that works on the same database: to look again, or to run something and say when it is over.

Only the poke route is used, with the token that is good for nothing else. What happened is read from the database.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holaboss_client.handshake import Poke, Poked
from holaboss_runtime.cli.place import Place
from holaboss_runtime.errors import DomainError
from holaboss_runtime.root_lock import ServerNote, live_server

if TYPE_CHECKING:
    from httpx import Timeout

CONNECT_S = 5.0
TELL_S = 2.0
"""How long a server may take to hear that something was written. It finds it by itself later."""

_BETWEEN_TRIES_S = 0.25
_TRIES = 40


class ServerGoneError(Exception):
    """The server ended while it was asked; whoever asked may do the work itself."""


class Remote:
    """The server of a place, if there is one."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def find(self) -> ServerNote | None:
        return live_server(self._place.state, self._place.database_path)

    async def tell(self) -> None:
        """Something was written. Nothing depends on the answer."""
        note = self.find()
        if note is None:
            return
        import httpx

        try:
            await _post(note, Poke(), httpx.Timeout(TELL_S))
        except (httpx.HTTPError, DomainError):
            return

    async def ask(self, poke: Poke) -> Poked:
        """Wait, without a limit, until the server has run what the poke names.

        Raises `ServerGoneError` when it ended meanwhile, and `DomainError` for what it refuses.
        """
        import httpx

        for tried in range(_TRIES + 1):
            note = self.find()
            if note is None:
                raise ServerGoneError
            try:
                return await _post(note, poke, httpx.Timeout(CONNECT_S, read=None))
            except httpx.HTTPError as error:
                # It may be coming up or going down; its lock tells, and neither takes long.
                if tried == _TRIES:
                    sentence = f"The server at {note.url} does not answer. Restart Holaboss."
                    raise DomainError("unavailable", "server_unreachable", sentence) from error
                await asyncio.sleep(_BETWEEN_TRIES_S)
        raise AssertionError("the last try returns or raises")


async def _post(note: ServerNote, poke: Poke, limits: Timeout) -> Poked:
    import httpx

    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=limits) as client:
        reply = await client.post(
            f"{note.url}/api/v1/lifecycle/poke",
            content=poke.model_dump_json(exclude_none=True),
            headers={"authorization": f"Bearer {note.poke_token}", "content-type": "application/json"},
        )
    if reply.status_code == 200:
        return Poked.model_validate_json(reply.content)
    raise DomainError(
        "unavailable",
        "server_refused",
        f"The server at {note.url} answered with status {reply.status_code}. Its log says why.",
    )
