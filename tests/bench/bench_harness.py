"""What lies between a message and the model, and between the model and a client: the executor's own share."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median

from holaboss_client.permissions import SetPermissions
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_runtime.harness.frames import FROM_HOST, HostHello
from holaboss_runtime.processes import child_environment, self_command
from tests.bench.event_floor import floor_per_event
from tests.bench.figures import Figure, middle
from tests.bench.rig import MODEL, Answered, Rig, warm_rig
from tests.support.processes import cpu_seconds
from tests.support.scripted_provider import Answer, Reply, Usage, call, say

DELTAS = 4_000
PACE_S = 0.002
SHORT_RUNS = 9
RELAY = "bare pipe, row and socket, at the same pace"
BARE_IMPORT = "import pydantic_ai, pydantic_ai.models.openai, openai, httpx2, truststore"


async def harness(samples: int) -> list[Figure]:
    async with warm_rig() as rig:
        asked = await _until_the_model_is_asked(rig, samples)
        event, bare_event = await _per_event(rig, max(1, samples // 10))
        stopped = [await _stop(rig) for _ in range(max(2, samples // 6))]
    cold, floor = _cold_starts(max(2, samples // 6))
    return [
        Figure("input committed → first model byte requested, warm", middle(asked), "ms", limit=10),
        Figure("harness host: spawn → hello", cold, "ms", floor, "its bare imports", times_floor=1.5),
        Figure(
            "per event of a run: pipe → database → client, CPU of the runtime", event, "ms", bare_event, RELAY
        ),
        Figure("what the runtime adds to it", event - bare_event, "ms", limit=0.2),
        Figure("stop of a `sleep 1000` tree → end of the run", middle(stopped), "s", limit=2),
    ]


async def _until_the_model_is_asked(rig: Rig, samples: int) -> list[float]:
    """Milliseconds by the clock of this machine, which stamps the input as it is committed."""
    times: list[float] = []

    def respond(_: object) -> Reply:
        times.append(time.time())
        return say("one")

    rig.provider.respond_with(respond)
    found: list[float] = []
    for _ in range(samples):
        session = await rig.new_session()
        await rig.ask(session)
        (event,) = [
            each for each in (await rig.client.session_events(session)).items if each.type == "user.message"
        ]
        committed = datetime.fromisoformat(event.created_at).timestamp()
        found.append((times[-1] - committed) * 1000)
    return found


async def _per_event(rig: Rig, samples: int) -> tuple[float, float]:
    """Milliseconds of processor time of the server for each event it stored and sent on, and of the floor for the same
    events at the same pace, in turns. What a run costs without them is taken off."""
    text = Reply(("word ",) * DELTAS, usage=Usage(10, DELTAS))
    ours, floors = list[float](), list[float]()
    for _ in range(samples):
        rig.provider.respond_with(lambda _: say("one"))
        bare = median([(await _one_run(rig))[0] for _ in range(SHORT_RUNS)])
        rig.provider.respond_with(lambda _: Answer(text, pace_s=PACE_S))
        spent, answered = await _one_run(rig)
        ours.append((spent - bare) * 1000 / len(answered.deltas))
        lengths = [delta.length for delta in answered.deltas]
        apart = (answered.done_ms - answered.first_delta_ms) / 1000 / len(lengths)
        with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder:
            floors.append(await floor_per_event(Path(folder), ["w" * length for length in lengths], apart))
    return middle(ours), middle(floors)


async def _one_run(rig: Rig) -> tuple[float, Answered]:
    """Seconds of processor time of the server, and the answer."""
    session, before = await rig.new_session(), cpu_seconds(rig.runtime.pid)
    answered = await rig.ask(session)
    return cpu_seconds(rig.runtime.pid) - before, answered


async def _stop(rig: Rig) -> float:
    """Seconds from the order to stop until the run has ended."""
    rig.provider.respond_with(lambda _: call("bash", command="sleep 1000 & sleep 1000"))
    await rig.client.set_permissions(rig.workspace_id, SetPermissions(profile="trusted"))
    created = await rig.client.create_session(CreateSession(workspace_id=rig.workspace_id))
    session, began = created.session_id, 0.0
    await rig.client.queue(
        QueueRequest(workspace_id=rig.workspace_id, session_id=session, text="wait", model=MODEL)
    )
    stream = rig.client.output_stream(rig.workspace_id, session, after_event_id=0, stop_on_terminal=True)
    async for event in stream:
        if event is None:
            continue
        if event.event_type == "tool_call" and not began:
            await asyncio.to_thread(_wait_for_the_sleepers, rig)
            began = time.perf_counter()
            await rig.client.pause(rig.workspace_id, session)
        if event.is_terminal:
            break
    return time.perf_counter() - began


def _wait_for_the_sleepers(rig: Rig) -> None:
    while not any("sleep 1000" in child.command for child in rig.runtime.descendants()):
        time.sleep(0.01)


def _cold_starts(samples: int) -> tuple[float, float]:
    """Milliseconds until a host says hello, and until its libraries are imported."""
    ours, floors = list[float](), list[float]()
    for _ in range(samples):
        floors.append(_bare_import())
        ours.append(_hello())
    return middle(ours), middle(floors)


def _bare_import() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", BARE_IMPORT], check=True)
    return (time.perf_counter() - started) * 1000


def _hello() -> float:
    started = time.perf_counter()
    with subprocess.Popen(
        self_command("harness-host"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment(),
    ) as host:
        assert host.stdout is not None
        assert host.stdin is not None
        frame = FROM_HOST.validate_json(host.stdout.readline())
        if not isinstance(frame, HostHello):
            raise RuntimeError(f"the host began with {frame.kind}")
        elapsed = (time.perf_counter() - started) * 1000
        host.stdin.close()
        host.wait(10)
    return elapsed
