"""The least that could bring an event from a pipe into a database and on to a client: one read, one row, one write.

`python -m tests.bench.event_floor DATABASE` prints its port, takes one client, and stores and sends each line of its
standard input. The row has the columns and the indexes of an output event. No lease, no fold, no HTTP.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw

from tests.support.processes import cpu_seconds

_TABLE = """
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id TEXT NOT NULL, session_id TEXT NOT NULL, input_id TEXT NOT NULL,
    sequence INTEGER NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX by_input ON events (input_id, sequence);
CREATE INDEX by_session ON events (session_id, id);
"""
_ROW = (
    "INSERT INTO events (workspace_id, session_id, input_id, sequence, event_type, payload, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
ID = "01a1faba-2449-711f-b8ce-64171218c2a0"
NOW = "2030-01-01T00:00:00.000Z"


class Relay(asyncio.Protocol):
    def __init__(self, path: str, client: socket.socket, ended: asyncio.Event) -> None:
        self._database = apsw.Connection(path)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute(_TABLE)
        self._client = client
        self._ended = ended
        self._rest = b""
        self._sequence = 0

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = json.loads(line)["event"]
            self._sequence += 1
            payload = json.dumps(event["payload"], ensure_ascii=False, separators=(",", ":"))
            self._database.execute(_ROW, (ID, ID, ID, self._sequence, event["event_type"], payload, NOW))
            text = f"event: {event['event_type']}\nid: {self._sequence}\ndata: {payload}\n\n"
            self._client.sendall(text.encode())

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()


async def relay(path: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    client, _ = listener.accept()
    ended = asyncio.Event()
    await asyncio.get_running_loop().connect_read_pipe(lambda: Relay(path, client, ended), sys.stdin)
    await ended.wait()
    client.close()
    listener.close()


@asynccontextmanager
async def relaying(folder: Path) -> AsyncGenerator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    """The relay as a child, and the client's end of its socket."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.event_floor", str(folder / "floor.db")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", int(await child.stdout.readline()))
    try:
        yield child, reader
    finally:
        child.stdin.close()
        await child.wait()
        writer.close()


async def floor_per_event(folder: Path, deltas: list[str], pace_s: float) -> float:
    """Milliseconds of processor time of the relay for each of `deltas`, one every `pace_s` seconds."""
    async with relaying(folder) as (child, reader):
        assert child.stdin is not None
        before, offset = cpu_seconds(child.pid), 0
        for delta in deltas:
            payload = {"delta": delta, "content_index": 0, "offset": offset, "delta_kind": "output"}
            event = {"event_type": "output_delta", "payload": payload, "result": None}
            child.stdin.write(json.dumps({"kind": "event", "run_id": ID, "event": event}).encode() + b"\n")
            offset += len(delta)
            await reader.readuntil(b"\n\n")
            await asyncio.sleep(pace_s)
        return (cpu_seconds(child.pid) - before) * 1000 / len(deltas)


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1]))
