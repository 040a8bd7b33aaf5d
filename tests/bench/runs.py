"""What one run costs, and many: latency, processor time, throughput, bytes on disk."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_runtime.demo_provider.reply import Reply, Usage
from tests.bench.figures import Figure, middle
from tests.bench.rig import MODEL, Delta, Rig, ask_directly, direct, warm_rig
from tests.support.processes import pss_mib
from tests.support.scripted_provider import Answer, call, say

BARE = "provider alone"
ONE_TOKEN = say("one")
LONG = 20_000
SUDDEN = 5_000
PACED = 600


def tokens(count: int) -> Reply:
    return Reply(("tok ",) * count, usage=Usage(10, count))


async def latency(samples: int) -> list[Figure]:
    """POST → first delta of a one-token run, and the processor time of the whole tree for it.

    In new sessions; what each earlier turn of a session adds is told apart: most of it is the SDK that sends it.
    """
    async with warm_rig() as rig, direct(rig.provider) as http:
        rig.provider.respond_with(lambda _: ONE_TOKEN)
        session = await rig.session()
        for _ in range(5):
            await rig.ask(session)
            await ask_directly(http)
        ours, floors, cpu = list[float](), list[float](), rig.cpu_s()
        for _ in range(samples):
            ours.append((await rig.ask(await rig.new_session())).first_delta_ms)
        cpu = (rig.cpu_s() - cpu) / samples
        growing = [(await rig.ask(session)).first_delta_ms for _ in range(2 * samples)]
        for _ in range(samples):
            floors.append((await ask_directly(http)).first_delta_ms)
    return [
        Figure("POST → first delta, warm", middle(ours), "ms", middle(floors), BARE, limit=25),
        Figure("what each earlier turn adds to it", _slope(growing), "ms"),
        Figure("one-token run, CPU of the tree", cpu * 1000, "ms", limit=40),
    ]


def _slope(values: list[float]) -> float:
    """Per step, from the median of the first half to that of the second."""
    half = len(values) // 2
    return (middle(values[half:]) - middle(values[:half])) / half


async def throughput(samples: int) -> list[Figure]:
    """A 20,000-token answer, read as the desktop reads it (windows of 33 ms)."""
    async with warm_rig() as rig, direct(rig.provider) as http:
        rig.provider.respond_with(lambda _: tokens(LONG))
        session, ours, floors, growth = await rig.session(), list[float](), list[float](), list[float]()
        for _ in range(samples):
            floors.append((await ask_directly(http)).done_ms / 1000)
            answered = await rig.ask(session, coalesce_ms=33, meter=rig.cpu_s)
            ours.append(answered.done_ms / 1000)
            first, last = quarters(answered.deltas)
            growth.append(last / first)
    return [
        Figure("20,000-token answer", middle(ours), "s", middle(floors), BARE, limit=5),
        Figure("its last quarter over its first, CPU of the tree", middle(growth), "×", limit=1.1),
    ]


def quarters(deltas: Sequence[Delta]) -> tuple[float, float]:
    """What the meter counted during the first and during the last quarter of the text."""
    whole = sum(delta.length for delta in deltas)
    lengths = accumulate(delta.length for delta in deltas)
    marks = [(seen, delta.meter) for seen, delta in zip(lengths, deltas, strict=True)]
    quarter = next(meter for seen, meter in marks if seen >= whole / 4)
    three = next(meter for seen, meter in marks if seen >= whole * 3 / 4)
    return quarter - deltas[0].meter, deltas[-1].meter - three


async def tool_run(samples: int) -> list[Figure]:
    """The model calls bash `ls`, gets the result, answers with 100 tokens."""
    async with warm_rig() as rig, direct(rig.provider) as http:
        steps = deque([call("bash", command="ls"), tokens(100)])

        def respond(_: object) -> Reply:
            steps.rotate(-1)
            return steps[-1]

        rig.provider.respond_with(respond)
        session = await rig.session()
        await rig.ask(session)
        ours = [(await rig.ask(session)).done_ms for _ in range(samples)]
        floors = list[float]()
        for _ in range(samples):
            started = time.perf_counter()
            await ask_directly(http)
            listing = await asyncio.create_subprocess_exec(
                "bash", "-c", "ls", stdout=asyncio.subprocess.DEVNULL
            )
            await listing.wait()
            await ask_directly(http)
            floors.append((time.perf_counter() - started) * 1000)
    return [
        Figure(
            "bash `ls` + 100 tokens → end",
            middle(ours),
            "ms",
            middle(floors),
            "two calls and a shell",
            limit=90,
        )
    ]


async def many(samples: int) -> list[Figure]:
    """50 inputs over 10 sessions, five at a time."""
    async with warm_rig() as rig, direct(rig.provider) as http:
        rig.provider.respond_with(lambda _: ONE_TOKEN)
        ours = [await _fifty(rig) for _ in range(max(1, samples // 3))]
        family = [rig.runtime.pid, *(child.pid for child in rig.runtime.descendants())]
        memory = sum(pss_mib(pid) for pid in family)
        gate = asyncio.Semaphore(5)

        async def one() -> None:
            async with gate:
                await ask_directly(http)

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(50)))
        floor = time.perf_counter() - started
    return [
        Figure("50 inputs, 10 sessions, 5 at a time", middle(ours), "s", floor, BARE, limit=3),
        Figure("memory of the tree after them (PSS)", memory, "MiB", limit=400),
    ]


async def _fifty(rig: Rig) -> float:
    sessions = [
        (await rig.client.create_session(CreateSession(workspace_id=rig.workspace_id))).session_id
        for _ in range(10)
    ]

    async def follow(session_id: str) -> None:
        left = 5
        async for event in rig.client.output_stream(rig.workspace_id, session_id):
            left -= event is not None and event.is_terminal
            if not left:
                return

    async with asyncio.TaskGroup() as group:
        for session_id in sessions:
            group.create_task(follow(session_id))
        started = time.perf_counter()
        for _ in range(5):
            for session_id in sessions:
                request = QueueRequest(
                    workspace_id=rig.workspace_id, session_id=session_id, text="hi", model=MODEL
                )
                await rig.client.queue(request)
    return time.perf_counter() - started


async def growth(samples: int) -> list[Figure]:
    """Bytes of `runtime.db` per turn, and per token of an answer that comes at once or at 100 tokens a second.

    Measured after the turn that follows, whose commit joins the deltas of the one before: this is how a session grows.
    """
    turns = samples * 3
    async with warm_rig() as rig:
        database = rig.runtime.root / "state" / "runtime.db"
        session = await rig.session()
        rig.provider.respond_with(lambda _: ONE_TOKEN)
        await rig.ask(session)
        before = size_of(database)
        for _ in range(turns):
            await rig.ask(session)
        per_turn = (size_of(database) - before) / turns
        per_token = list[float]()
        for count, pace_s in ((SUDDEN, 0.0), (PACED, 0.01)):
            before = size_of(database)
            rig.provider.respond_with(lambda _, many=count, pace=pace_s: Answer(tokens(many), pace_s=pace))
            await rig.ask(session)
            rig.provider.respond_with(lambda _: ONE_TOKEN)
            await rig.ask(session)
            per_token.append((size_of(database) - before - 2 * per_turn) / count)
    return [
        Figure("runtime.db per turn", per_turn / 1024, "KiB", limit=30),
        Figure("runtime.db per token, instant model", per_token[0], "B", limit=100),
        Figure("runtime.db per token, 100 tokens/s", per_token[1], "B", limit=100),
    ]


def size_of(database: Path) -> int:
    """Used pages, those still in the write-ahead log included."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        numbers = [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")
        ]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    return (numbers[0] - numbers[1]) * size
