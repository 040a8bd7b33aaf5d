"""What the queue costs beside the least that could do it: enqueue, claim and complete, one by one and in batches.

The floor is apsw on one bare table with the same transactions: the columns of an input and the four indexes without
which no queue could keep the contract (its id, its idempotency key, the order of what is ready, what a session has
claimed). No log of events beside it, no sessions, no rules about who may run.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.queue import InputQueue, NewInput
from tests.bench.figures import Figure, middle

ROUNDS = 1_000
BATCH = 500
BATCHES = 12
"""Alternating ones for each sample: one takes ten milliseconds, in which anything may get in its way."""
SESSIONS = 50
RAW = "raw SQLite, one bare table"
PAYLOAD = {"text": "say hello to everybody in the room"}

_BARE = """
CREATE TABLE queue (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, input_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL, status TEXT NOT NULL,
    priority INTEGER NOT NULL, available_at TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, idempotency_key TEXT,
    claimed_by TEXT, claimed_until TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX keys ON queue (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX ready ON queue (priority DESC, seq) WHERE status = 'QUEUED';
CREATE INDEX by_session ON queue (session_id, status);
"""
_PUT = (
    "INSERT INTO queue (input_id, session_id, workspace_id, event_type, payload, status, priority, available_at,"
    " created_at, updated_at) VALUES (?, ?, 'w', 'user.message', ?, 'QUEUED', 0, '', ?, ?)"
)
_TAKE = (
    "UPDATE queue SET status = 'CLAIMED', claimed_by = ?, claimed_until = ?, updated_at = ? WHERE seq IN"
    " (SELECT seq FROM queue WHERE status = 'QUEUED' ORDER BY priority DESC, seq LIMIT ?) RETURNING input_id, payload"
)
_END = "UPDATE queue SET status = 'DONE', updated_at = ? WHERE input_id = ? AND status = 'CLAIMED' AND claimed_by = ?"


class Bare:
    """The same three transactions with nothing around them."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "temp_store = MEMORY"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute(_BARE)

    def put(self, number: int) -> None:
        now = utc_now()
        self.connection.execute(_PUT, (new_id(), f"s{number % SESSIONS}", encode(PAYLOAD), now, now))

    def take(self, count: int) -> list[str]:
        rows = self.connection.execute(_TAKE, ("w", from_now(60), utc_now(), count))
        return [item for item, payload in rows if json.loads(payload)]

    def end(self, item: str) -> None:
        self.connection.execute(_END, (utc_now(), item, "w"))

    def awaited(self, rounds: int) -> None:
        execute = self.connection.execute
        for number in range(rounds):
            execute("BEGIN IMMEDIATE")
            self.put(number)
            execute("COMMIT")
            execute("BEGIN IMMEDIATE")
            taken = self.take(1)
            execute("COMMIT")
            execute("BEGIN IMMEDIATE")
            self.end(taken[0])
            execute("COMMIT")

    def batched(self, count: int) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        for number in range(count):
            self.put(number)
        execute("COMMIT")
        execute("BEGIN IMMEDIATE")
        taken = self.take(count)
        execute("COMMIT")
        execute("BEGIN IMMEDIATE")
        for item in taken:
            self.end(item)
        execute("COMMIT")


class Ours:
    def __init__(self, path: Path) -> None:
        self.database = Database.open(path)
        self.queue = InputQueue(self.database)
        now = utc_now()
        self.database.execute(
            "INSERT INTO workspaces (id, workspace_path, name, status, harness, created_at, updated_at)"
            " VALUES ('w', '/w', 'W', 'active', 'native', ?, ?)",
            (now, now),
        )

    def awaited(self, rounds: int) -> None:
        for number in range(rounds):
            self.queue.enqueue("w", f"s{number % SESSIONS}", PAYLOAD)
            taken = self.queue.claim(1, "w", 60)
            assert self.queue.complete(taken[0].input_id, "DONE", "w") is not None

    def batched(self, count: int) -> None:
        self.queue.enqueue_all([NewInput("w", f"s{number % SESSIONS}", PAYLOAD) for number in range(count)])
        taken = self.queue.claim(count, "w", 60)
        assert len(self.queue.complete_all([item.input_id for item in taken], "DONE", "w")) == count


def queue(samples: int) -> list[Figure]:
    """Medians of `samples` alternating runs, in microseconds per input."""
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
        ours, bare = Ours(Path(folder) / "runtime.db"), Bare(Path(folder) / "bare.db")
        times: dict[str, list[float]] = {name: [] for name in ("ours", "bare", "ours_batch", "bare_batch")}
        for _ in range(samples):
            times["bare"].append(_each(bare.awaited, ROUNDS))
            times["ours"].append(_each(ours.awaited, ROUNDS))
            for _ in range(BATCHES):
                times["bare_batch"].append(_each(bare.batched, BATCH))
                times["ours_batch"].append(_each(ours.batched, BATCH))
        ours.database.close()
        bare.connection.close()
    found = {name: middle(values) for name, values in times.items()}
    return [
        Figure(
            "enqueue + claim + complete, each awaited",
            found["ours"],
            "µs",
            found["bare"],
            RAW,
            times_floor=1 / 0.35,
        ),
        Figure(
            "enqueue + claim + complete, batched",
            found["ours_batch"],
            "µs",
            found["bare_batch"],
            RAW,
            times_floor=1 / 0.7,
        ),
    ]


def _each(run: Callable[[int], None], count: int) -> float:
    gc.collect()
    started = time.perf_counter()
    run(count)
    return (time.perf_counter() - started) / count * 1e6
