"""The routes of terminals, as methods of the client. What a terminal prints is followed over a WebSocket of its own."""

from __future__ import annotations

from collections.abc import Iterable

from holaboss_client import terminals as t
from holaboss_client.transport import API, Transport, segment


class TerminalCalls(Transport):
    async def start_terminal(self, body: t.StartTerminal) -> t.Terminal:
        return await self._call(
            t.Terminal, "POST", "/terminal-sessions", json=body.model_dump(exclude_none=True)
        )

    async def terminals(
        self, workspace_id: str, *, session_id: str | None = None, status: Iterable[t.TerminalStatus] = ()
    ) -> t.TerminalList:
        params = {"workspace_id": workspace_id, "session_id": session_id, "status": ",".join(status) or None}
        given = {name: value for name, value in params.items() if value is not None}
        return await self._get(t.TerminalList, "/terminal-sessions", **given)

    async def terminal(self, terminal_id: str) -> t.Terminal:
        return await self._get(t.Terminal, _of(terminal_id))

    async def terminal_events(
        self, terminal_id: str, *, after_sequence: int = 0, limit: int = 200
    ) -> t.TerminalEvents:
        path = f"{_of(terminal_id)}/events"
        return await self._get(t.TerminalEvents, path, after_sequence=after_sequence, limit=limit)

    async def send_to_terminal(self, terminal_id: str, data: str) -> t.Terminal:
        body = t.TerminalInput(data=data).model_dump()
        return await self._call(t.Terminal, "POST", f"{_of(terminal_id)}/input", json=body)

    async def resize_terminal(self, terminal_id: str, cols: int, rows: int) -> t.Terminal:
        body = t.ResizeTerminal(cols=cols, rows=rows).model_dump()
        return await self._call(t.Terminal, "POST", f"{_of(terminal_id)}/resize", json=body)

    async def signal_terminal(self, terminal_id: str, signal: str) -> t.Terminal:
        body = t.SignalTerminal(signal=signal).model_dump()
        return await self._call(t.Terminal, "POST", f"{_of(terminal_id)}/signal", json=body)

    async def close_terminal(self, terminal_id: str) -> t.Terminal:
        return await self._call(t.Terminal, "POST", f"{_of(terminal_id)}/close", json={})

    def terminal_stream_url(self, terminal_id: str, *, after_sequence: int = 0) -> str:
        """Where its WebSocket is. The connection needs the token in an `Authorization` header."""
        return (
            f"ws{self.url.removeprefix('http')}{API}{_of(terminal_id)}/stream?after_sequence={after_sequence}"
        )


def _of(terminal_id: str) -> str:
    return f"/terminal-sessions/{segment(terminal_id)}"
