"""The supervisor against real children: small scripts that behave, crash, refuse, lie or will not die."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_supervisor import HOPELESS_CODES, RuntimeState, RuntimeSupervisor, Stage
from holaboss_client.handshake import Hello
from holaboss_runtime.store.connection import DatabaseError
from tests.support.processes import PATIENCE_S, descendants, process_table, wait_until_gone

pytestmark = pytest.mark.anyio

CHILD = """
import json, os, signal, subprocess, sys
mode, marks = sys.argv[1], sys.argv[2]
with open(marks, "a") as file: print(os.getpid(), file=file)
line = sys.stdin.readline()
hello = json.loads(line)
print("hello from", mode, file=sys.stderr, flush=True)
def say(**line): print(json.dumps(line), flush=True)
def ready(protocol="1.0"):
    say(event="ready", url="http://127.0.0.1:9", pid=os.getpid(), instance_id="i", protocol=protocol, version="0")
if mode == "refuses":
    say(event="failed", code="database_newer", message="The database is from a newer release."); sys.exit(2)
if mode == "locked":
    say(event="failed", code="root_locked", message="Another one runs."); sys.exit(2)
if mode == "foreign": ready("2.0"); sys.stdin.read()
if mode == "babbles": print("Welcome!", flush=True); sys.stdin.read()
if mode == "dies": sys.exit(7)
if mode == "silent": sys.stdin.read()
if mode == "crashes": ready(); sys.exit(3)
if mode == "well": ready(); sys.stdin.read()
if mode == "echoes":
    say(event="ready", url="http://127.0.0.1:9", pid=os.getpid(), instance_id=line, protocol="1.3",
        version=json.dumps(dict(os.environ)))
    sys.stdin.read()
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    other = subprocess.Popen([sys.executable, "-c",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    other.stdout.readline()
    with open(marks, "a") as file: print(other.pid, file=file)
    ready()
    while True: signal.pause()
"""


def is_alive(pid: int) -> bool:
    process = process_table().get(pid)
    return process is not None and process.state != "Z"


class Watched:
    """A supervisor with its history, a hand-driven clock and pauses that end at once."""

    def __init__(self, tmp_path: Path, mode: str, *, ready_within_s: float = PATIENCE_S) -> None:
        self.profile = Profile.at(tmp_path / "profile")
        self.profile.create()
        self.marks = tmp_path / "pids"
        script = tmp_path / "child.py"
        script.write_text(CHILD)
        self.now = 0.0
        self.pauses: list[float] = []
        self.states: list[RuntimeState] = []
        self.errors: list[BaseException] = []
        self.held: asyncio.Event | None = None
        self._changed = asyncio.Event()
        self.supervisor = RuntimeSupervisor(
            self.profile,
            self._entered,
            self.errors.append,
            command=[sys.executable, "-S", "-E", str(script), mode, str(self.marks)],
            clock=lambda: self.now,
            pause=self._pause,
            ready_within_s=ready_within_s,
        )

    async def until(self, condition: Callable[[RuntimeState], bool]) -> RuntimeState:
        async with asyncio.timeout(PATIENCE_S):
            while not condition(self.supervisor.state):
                self._changed.clear()
                await self._changed.wait()
        return self.supervisor.state

    async def until_stage(self, stage: Stage) -> RuntimeState:
        return await self.until(lambda state: state.stage == stage)

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.marks.read_text().split()]

    @property
    def stages(self) -> list[Stage]:
        return [state.stage for state in self.states]

    def _entered(self, state: RuntimeState) -> None:
        self.states.append(state)
        self._changed.set()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        if self.held is not None:
            await self.held.wait()


Watch = Callable[..., Watched]


@pytest.fixture
async def watch(tmp_path: Path) -> object:
    made: list[Watched] = []

    def make(mode: str, **options: float) -> Watched:
        made.append(Watched(tmp_path, mode, **options))
        return made[-1]

    yield make
    for watched in made:
        await watched.supervisor.stop()
        assert watched.errors == []


async def test_it_starts_a_runtime_and_ends_it(watch: Watch) -> None:
    watched = watch("well")
    watched.supervisor.start()
    state = await watched.until_stage(Stage.HEALTHY)
    assert state.connection is not None
    assert state.connection.url == "http://127.0.0.1:9"
    assert is_alive(state.connection.pid)
    await watched.supervisor.stop()
    assert not is_alive(state.connection.pid)
    assert watched.stages == [Stage.STARTING, Stage.HEALTHY, Stage.STOPPING, Stage.STOPPED]


async def test_the_token_goes_through_the_pipe_and_the_environment_is_built(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_API_KEY",
        "HOLABOSS_SANDBOX_AUTH_TOKEN",
        "_PYI_ARCHIVE_FILE",
        "DBUS_SESSION_BUS_ADDRESS",
    ):
        monkeypatch.setenv(name, "marker")
    watched = watch("echoes")
    watched.supervisor.start()
    state = await watched.until_stage(Stage.HEALTHY)
    assert state.connection is not None
    assert Hello.model_validate_json(state.connection.instance_id) == Hello(token=state.connection.token)
    assert len(state.connection.token) == 64
    environment = state.connection.version
    assert "marker" not in environment
    assert state.connection.token not in environment
    for part in (
        f'"HB_SANDBOX_ROOT": "{watched.profile.sandbox_root}"',
        '"SANDBOX_AGENT_BIND_HOST": "127.0.0.1"',
        '"SANDBOX_AGENT_BIND_PORT": "0"',
        '"SANDBOX_AGENT_HARNESS": "native"',
        '"HOLABOSS_EMBEDDED_RUNTIME": "1"',
    ):
        assert part in environment


async def test_a_killed_runtime_is_started_again(watch: Watch) -> None:
    watched = watch("well")
    watched.supervisor.start()
    first = await watched.until_stage(Stage.HEALTHY)
    assert first.connection is not None
    os.kill(first.connection.pid, signal.SIGKILL)
    await watched.until(
        lambda state: state.connection is not None and state.connection.pid != first.connection.pid
    )
    assert watched.stages[2:] == [Stage.CRASHED, Stage.BACKOFF, Stage.STARTING, Stage.HEALTHY]
    crashed = watched.states[2]
    assert crashed.code == "crashed"
    assert "SIGKILL" in crashed.reason


async def test_pauses_grow_and_five_crashes_in_two_minutes_are_enough(watch: Watch) -> None:
    watched = watch("crashes")
    watched.supervisor.start()
    state = await watched.until_stage(Stage.GAVE_UP)
    assert watched.pauses == [0.5, 1.0, 2.0, 5.0]
    assert len(watched.pids) == 5
    assert "exit status 3" in state.reason
    watched.supervisor.start()
    assert watched.supervisor.state.stage == Stage.STARTING
    await watched.until_stage(Stage.GAVE_UP)
    assert len(watched.pids) == 10


async def test_crashes_far_apart_never_give_up_and_reach_the_longest_pause(watch: Watch) -> None:
    watched = watch("crashes")
    original = watched._pause
    enough = asyncio.Event()

    async def long_pause(seconds: float) -> None:
        await original(seconds)
        watched.now += 40.0
        if len(watched.pauses) == 7:
            enough.set()
            await asyncio.Event().wait()

    watched.supervisor._pause = long_pause
    watched.supervisor.start()
    async with asyncio.timeout(PATIENCE_S):
        await enough.wait()
    assert watched.pauses == [0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 30.0]


async def test_a_minute_of_health_forgets_earlier_crashes(watch: Watch) -> None:
    watched = watch("well")
    watched.supervisor.start()
    for health in (1.0, 1.0, 61.0):
        state = await watched.until_stage(Stage.HEALTHY)
        assert state.connection is not None
        watched.now += health
        os.kill(state.connection.pid, signal.SIGKILL)
        await watched.until(lambda now, old=state: now.stage == Stage.HEALTHY and now is not old)
    assert watched.pauses == [0.5, 1.0, 0.5]


async def test_a_refusal_that_cannot_pass_is_shown_and_not_retried(watch: Watch) -> None:
    watched = watch("refuses")
    watched.supervisor.start()
    state = await watched.until_stage(Stage.GAVE_UP)
    assert (state.code, state.reason) == ("database_newer", "The database is from a newer release.")
    assert len(watched.pids) == 1


async def test_a_locked_root_may_become_free_so_it_is_retried(watch: Watch) -> None:
    watched = watch("locked")
    watched.held = asyncio.Event()
    watched.supervisor.start()
    state = await watched.until_stage(Stage.BACKOFF)
    assert (state.code, state.retry_in_s) == ("root_locked", 0.5)


@pytest.mark.parametrize(
    ("mode", "code"),
    [("foreign", "protocol_mismatch"), ("babbles", "handshake_invalid"), ("silent", "no_answer")],
)
async def test_a_child_that_is_no_runtime_of_ours_is_ended(watch: Watch, mode: str, code: str) -> None:
    watched = watch(mode, ready_within_s=0.5 if mode == "silent" else PATIENCE_S)
    watched.held = asyncio.Event()
    watched.supervisor.start()
    state = await watched.until(lambda state: state.stage in (Stage.GAVE_UP, Stage.BACKOFF))
    assert state.code == code
    assert descendants(os.getpid()) == []


async def test_a_child_that_dies_before_it_answers_leaves_its_last_words(watch: Watch) -> None:
    watched = watch("dies")
    watched.held = asyncio.Event()
    watched.supervisor.start()
    state = await watched.until_stage(Stage.BACKOFF)
    assert "exit status 7" in state.reason
    assert watched.supervisor.log.tail() == ["hello from dies"]
    log = watched.profile.log_dir / "runtime.log"
    assert log.read_text() == "hello from dies\n"
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    profile = Profile.at(tmp_path)
    profile.create()
    states: list[RuntimeState] = []
    gave_up = asyncio.Event()

    def entered(state: RuntimeState) -> None:
        states.append(state)
        if state.stage == Stage.GAVE_UP:
            gave_up.set()

    supervisor = RuntimeSupervisor(profile, entered, pytest.fail, command=["/nonexistent/runtime", "serve"])
    supervisor.start()
    async with asyncio.timeout(PATIENCE_S):
        await gave_up.wait()
    assert states[-1].code == "not_found"
    assert "/nonexistent/runtime" in states[-1].reason
    await supervisor.stop()


async def test_stop_ends_what_ignores_every_polite_request(watch: Watch) -> None:
    watched = watch("stubborn")
    watched.supervisor.start()
    await watched.until_stage(Stage.HEALTHY)
    await watched.supervisor.stop()
    assert len(watched.pids) == 2
    assert wait_until_gone(watched.pids) == []


async def test_stop_during_a_pause_and_during_a_start(watch: Watch) -> None:
    watched = watch("crashes")
    watched.held = asyncio.Event()
    watched.supervisor.start()
    await watched.until_stage(Stage.BACKOFF)
    await watched.supervisor.stop()
    watched.supervisor.start()
    await watched.supervisor.stop()
    assert watched.supervisor.state.stage == Stage.STOPPED


async def test_a_silent_runtime_is_degraded_until_it_speaks(watch: Watch) -> None:
    watched = watch("well")
    watched.supervisor.degraded("too early")
    watched.supervisor.start()
    healthy = await watched.until_stage(Stage.HEALTHY)
    watched.supervisor.degraded("It does not answer.")
    assert watched.supervisor.state.stage == Stage.DEGRADED
    assert watched.supervisor.state.connection == healthy.connection
    watched.supervisor.recovered()
    assert watched.supervisor.state.stage == Stage.HEALTHY


def test_trouble_with_the_database_is_not_met_again_and_again() -> None:
    kinds = {kind.code for kind in DatabaseError.__subclasses__()}
    only_beside_a_running_server = {"database_older"}
    assert kinds - only_beside_a_running_server <= HOPELESS_CODES
