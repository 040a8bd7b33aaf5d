"""What a long past costs: appending to a session of ten thousand events beside an empty one, and looking at it.

Counts of database steps are asserted by the tests; here is what they come to in time.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holaboss_client.agents import AppendEvent
from tests.bench.figures import Figure, middle
from tests.runtime.sessions.core import Core
from tests.runtime.sessions.long_session import long_session

EVENTS = 10_000
ROUNDS = 200
NEWEST = 50
READ_LIMIT_MS = 5.0
EMPTY = "an empty session"


def session_core(samples: int) -> list[Figure]:
    """Medians of `samples` alternating rounds; appends in microseconds, reading in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
        core = Core(Path(folder))
        long = long_session(core, EVENTS)
        appends: dict[str, list[float]] = {"long": [], "empty": []}
        reads: list[float] = []
        for _ in range(samples):
            appends["empty"].append(_appends(core, long_session(core, 0)))
            appends["long"].append(_appends(core, long))
            _settle(core, long)
            reads.append(_each(lambda: _look(core, long)) * 1e3)
        core.sessions.owners.release(core.sessions.waker.owner)
        core.database.close()
    return [
        Figure(
            "append an event to a session of 10,000",
            middle(appends["long"]),
            "µs",
            middle(appends["empty"]),
            EMPTY,
            times_floor=1.25,
        ),
        Figure("status and the last 50 of 10,000 events", middle(reads), "ms", limit=READ_LIMIT_MS),
    ]


def _appends(core: Core, session: str) -> float:
    """Microseconds for each."""
    return _each(lambda: _append(core, session)) * 1e6


def _append(core: Core, session: str) -> None:
    core.sessions.control.append(session, AppendEvent(type="user.message", payload={"text": "hello"}))


def _look(core: Core, session: str) -> None:
    core.sessions.views.status(session)
    assert core.sessions.views.events(session, limit=NEWEST).count == NEWEST


def _settle(core: Core, session: str) -> None:
    """What was appended has run, so that the next round finds the queue as this one did."""
    with core.database.transaction():
        for waiting in core.records.inputs.queued(session):
            core.records.events.mark_processed(waiting.input_id, None)
            core.records.inputs.settle(waiting.input_id, "DONE")


def _each(call: Callable[[], None]) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(ROUNDS):
        call()
    return (time.perf_counter() - started) / ROUNDS
