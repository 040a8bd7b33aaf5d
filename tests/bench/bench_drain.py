"""How the worker drains a queue: 50 inputs over 10 sessions, with the gaps in which a slot stood empty for nothing.

In one process, with a harness that only takes its time, so that nothing but the worker itself is measured. The floor is
the same runs behind a semaphore: no queue, no leases, no records.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from datetime import datetime
from pathlib import Path

from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from tests.bench.figures import Figure, middle
from tests.runtime.sessions.core import Core, running_core
from tests.support.fake_harness import Stage

INPUTS, SESSIONS, CONCURRENCY = 50, 10, 5
RUN_S = 0.02
BARE = "the runs alone, 5 at a time"
LONGEST_GAP_MS = 20


async def drain(samples: int) -> list[Figure]:
    """Medians of `samples` drains after one that is not counted; of each drain its longest gap."""
    ours, floors, gaps = list[float](), list[float](), list[float]()
    for counted in [False, *[True] * samples]:
        floor = await _bare()
        with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
            async with running_core(Path(folder), concurrency=CONCURRENCY) as core:
                took, gap = await _drain(core), max(_gaps(core))
                if core.harness.most_running != CONCURRENCY:
                    raise RuntimeError(f"{core.harness.most_running} runs at once instead of {CONCURRENCY}")
        if counted:
            ours.append(took)
            floors.append(floor)
            gaps.append(gap)
    return [
        Figure("50 inputs, 10 sessions, worker alone", middle(ours), "ms", middle(floors), BARE),
        Figure("longest gap with a free slot and work waiting", middle(gaps), "ms", limit=LONGEST_GAP_MS),
    ]


async def _drain(core: Core) -> float:
    async def script(stage: Stage) -> None:
        stage.say("hi")
        await asyncio.sleep(RUN_S)

    core.harness.script = script
    started = time.perf_counter()
    replies = [core.send("go", f"s{number % SESSIONS}") for number in range(INPUTS)]
    for reply in replies:
        await core.terminal(reply)
    return (time.perf_counter() - started) * 1000


def _gaps(core: Core) -> list[float]:
    """Milliseconds from each moment at which fewer ran than could have, to the claim that filled the slot.

    From the times of the records, which are whole milliseconds."""
    rows = core.database.rows(
        "SELECT session_id, event_type, created_at FROM session_output_events WHERE event_type IN (?, ?, ?)"
        " ORDER BY id",
        (RunEvent.RUN_CLAIMED, *TERMINAL_EVENTS),
    )
    waiting = dict.fromkeys((f"s{number}" for number in range(SESSIONS)), INPUTS // SESSIONS)
    running = set[str]()
    free = [core.database.scalar("SELECT max(created_at) FROM agent_session_inputs")] * CONCURRENCY
    gaps = list[float]()
    for row in rows:
        if row["event_type"] == RunEvent.RUN_CLAIMED:
            gaps.append(_apart(free.pop(0), row["created_at"]))
            waiting[row["session_id"]] -= 1
            running.add(row["session_id"])
        else:
            running.discard(row["session_id"])
            free.append(row["created_at"])
        startable = sum(1 for name, left in waiting.items() if left and name not in running)
        if not startable:  # a slot that nobody could use is not idle
            free = [row["created_at"]] * len(free)
    return gaps


def _apart(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds() * 1000


async def _bare() -> float:
    gate = asyncio.Semaphore(CONCURRENCY)

    async def one() -> None:
        async with gate:
            await asyncio.sleep(RUN_S)

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(INPUTS)))
    return (time.perf_counter() - started) * 1000
