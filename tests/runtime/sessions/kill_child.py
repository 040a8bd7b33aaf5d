"""A session core that is killed at a chosen commit, and the restart that has to make the best of it.

`python -m tests.runtime.sessions.kill_child FOLDER PART PARTS` prints one JSON line for each point of its part. Every
life is a fork of this process, which has imported everything once and opened nothing. A point is the moment before or
after one commit of the walk; each sixth restart is killed as well, at one of its own first commits.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from holaboss_client.agents import AppendEvent, CreateAgentSession, ScheduleWake
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.permissions.model import PermissionRule
from holaboss_runtime.sessions.projections.projector import Projector
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.pending_actions import CUSTOM_TOOL, TOOL_CONFIRMATION
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.kill_checks import Evidence, problems
from tests.support.fake_harness import Stage
from tests.support.processes import PATIENCE_S

AGENT, DESK = "helper", "desk"
EXECUTED, ACCEPTED, SESSION = "executed", "accepted", "agent-session"
LOOP = "openboa-session-loop"
IN_A_DAY = from_now(86_400)
IN_TWO_DAYS = from_now(172_800)


class Fuse:
    """Kills this process at the moment `point`; counts the moments without one."""

    def __init__(self, connection: Any, point: int | None) -> None:
        self._connection = connection
        self._point = point
        self._writes = False
        self.seen = 0
        connection.set_commit_hook(self._committing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def execute(self, *arguments: Any) -> Any:
        result = self._connection.execute(*arguments)
        if self._writes and not self._connection.in_transaction:
            self._writes = False
            self._pass()
        return result

    def _committing(self) -> bool:
        self._writes = True
        self._pass()
        return False

    def _pass(self) -> None:
        self.seen += 1
        if self.seen == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


class Walk:
    """Asks for everything a session can be asked for, one after the other. Walked again after a restart, it goes on
    where it was: each step has a key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.core = Core(folder)
        self.session_id = (folder / SESSION).read_text()
        self.core.harness.script = self.script
        self.attempts = 0
        self.projector = Projector(self.core.records, folder)

    async def script(self, stage: Stage) -> None:
        taken = self.core.records.inputs.of_wake(stage.package.wake_id)
        asked = " ".join(found.text for found in taken)
        for decision in stage.package.decisions:
            if decision.outcome == "approved":
                stage.tool(decision.tool_name)
                await asyncio.sleep(0)  # what was said so far is recorded before the call is made
                self.note(EXECUTED, decision.call_id)
        if stage.package.decisions:
            stage.say("Done as decided.")
        else:
            await self.answer(stage, asked)

    async def answer(self, stage: Stage, asked: str) -> None:
        if "talk" in asked:
            stage.say("Let me see. ")
            stage.tool("bash")
            stage.say("There it is.")
        elif "risky" in asked:
            rule = PermissionRule(effect="always_allow", tool="bash", command="make")
            stage.wait(stage.blocked("bash", {"command": "make"}, suggestions=[rule]))
        elif "colour" in asked:
            stage.ask("question", {"question": "Which?", "options": [{"label": "Blue"}]}, kind="question")
        elif "outside" in asked:
            wish = {"outcome": "sleep", "customToolRequest": {"name": "lookup", "input": {"id": 7}}}
            stage.say(f"I ask outside.\n<{LOOP}>{json.dumps(wish)}</{LOOP}>")
        elif "later" in asked:
            wakes = [{"reason": "look again", "delaySeconds": 3600, "dedupeKey": "again"}]
            stage.say(
                f"I come back.\n<{LOOP}>{json.dumps({'outcome': 'sleep', 'queuedWakes': wakes})}</{LOOP}>"
            )
        elif "flaky" in asked:
            self.attempts += 1
            if self.attempts == 1:
                stage.fail(message="busy", retryable=True, retry_after_s=0.001)
            stage.say("Second time lucky.")
        elif "endless" in asked:
            stage.say("On and on.")
            await asyncio.Event().wait()
        else:
            stage.say(f"I was woken for: {asked}")

    async def go(self) -> None:
        """Every step; then everything must have come to rest."""
        await self.core.sessions.start()
        await self.desk("talk")
        await self.agent("talk")
        await self.agent("risky")
        edited = {"input": {"command": "make all"}, "remember": {"tool": "bash", "command": "make"}}
        await self.decide(Event.USER_TOOL_CONFIRMATION, {"allowed": True, **edited})
        await self.agent("a risky one that nobody sees")
        await self.run_out()
        await self.desk("colour")
        await self.desk("Blue")
        await self.agent("outside")
        await self.decide(Event.USER_CUSTOM_TOOL_RESULT, {"output": "found"})
        await self.agent("later")
        await self.fall_due()
        await self.desk("flaky")
        await self.interrupt()
        await self.core.until(self.at_rest)
        await self.projector.flush()
        await self.core.close()

    async def desk(self, text: str) -> None:
        reply = self.core.send(text, DESK, idempotency_key=f"desk {text}")
        self.note(ACCEPTED, reply.input_id)
        await self.settled(reply.input_id)

    async def agent(self, text: str) -> None:
        await self.settled(self.append(Event.USER_MESSAGE, {"text": text}, f"agent {text}"))

    async def decide(self, kind: Event, payload: dict[str, Any]) -> None:
        wanted = CUSTOM_TOOL if kind == Event.USER_CUSTOM_TOOL_RESULT else TOOL_CONFIRMATION
        for action in self.core.records.actions.open(self.session_id):
            if action.kind != wanted:
                continue  # of a later step: this is a restart
            named = payload | {"request_id": action.id}
            await self.settled(self.append(kind, named, f"decision {action.id}"))

    async def run_out(self) -> None:
        """Time passes, and nobody has decided."""
        self.core.sessions.approvals.expire(IN_TWO_DAYS)
        declined = self.core.database.rows(
            "SELECT input_id FROM agent_session_inputs WHERE event_type = ? AND payload LIKE '%expired%'",
            (Event.USER_TOOL_CONFIRMATION,),
        )
        for row in declined:
            await self.settled(row["input_id"])

    async def fall_due(self) -> None:
        """Time passes; and one more wake with a key that two ask for at once."""
        session = self.core.records.sessions.get(self.session_id)
        assert session is not None
        if not self.core.database.scalar("SELECT 1 FROM session_wakes WHERE reason = 'soon'"):
            for _ in range(2):
                self.core.sessions.delayed.schedule(
                    session, ScheduleWake(delay_seconds=600, reason="soon", dedupe_key="soon")
                )
        self.core.sessions.delayed.fire(IN_A_DAY)
        due = self.core.database.rows(
            "SELECT input_id FROM agent_session_inputs WHERE event_type = ?", (Event.SESSION_WAKE_DUE,)
        )
        for row in due:
            await self.settled(row["input_id"])

    async def interrupt(self) -> None:
        asked = self.append(Event.USER_MESSAGE, {"text": "endless"}, "agent endless")
        while not self.is_settled(asked) and "output_delta" not in self.core.types(asked):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await self.settled(self.append(Event.USER_INTERRUPT, {}, "agent interrupt"))
        await self.settled(asked)

    def append(self, kind: Event, payload: dict[str, Any], key: str) -> str:
        body = AppendEvent(type=kind, payload=payload, idempotency_key=key)
        input_id = self.core.sessions.control.append(self.session_id, body).input_id
        self.note(ACCEPTED, input_id)
        return input_id

    async def settled(self, input_id: str) -> None:
        await self.core.until(lambda: self.is_settled(input_id))

    def is_settled(self, input_id: str) -> bool:
        found = self.core.records.inputs.get(input_id)
        return found is not None and found.status not in ("QUEUED", "CLAIMED")

    def at_rest(self) -> bool:
        return not any(
            facts.running_input or facts.next_input or facts.lease_until
            for facts in (self.core.records.facts.get(name) for name in (DESK, self.session_id))
            if facts is not None
        )

    def note(self, name: str, line: str) -> None:
        """What the outside world has seen; it survives a kill as the database does."""
        with (self.folder / name).open("a") as file:
            file.write(f"{line}\n")


def walk(folder: Path, point: int | None) -> int:
    """One life; how many moments it passed when it was not killed."""

    async def live() -> int:
        async with asyncio.timeout(PATIENCE_S):
            one = Walk(folder)
            connection = cast(Any, one.core.database)._connection
            fuse = Fuse(connection, point)
            cast(Any, one.core.database)._connection = fuse
            await one.go()
            return fuse.seen

    return asyncio.run(live())


def prepare(folder: Path) -> None:
    """What every life starts from: an empty database with an agent and a session of it."""

    folder.mkdir(parents=True)

    async def make() -> None:
        core = Core(folder)
        made = core.sessions.agent_directory.create(CreateAgentSession(agent_id=AGENT))
        core.sessions.directory.choose(WORKSPACE, DESK)
        (folder / SESSION).write_text(made.session_id)
        await core.close()

    asyncio.run(make())


def check(folder: Path) -> list[str]:
    session_id = (folder / SESSION).read_text()
    evidence = Evidence(
        folder,
        session_id,
        accepted=_lines(folder / ACCEPTED),
        executed=_lines(folder / EXECUTED),
    )
    return problems(evidence)


def in_fork(work: Callable[[], object], log: Path) -> tuple[int, str]:
    """Run `work` in a life of its own: how it ended (a wait status), and what it returned, as JSON."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
            os.write(writer, json.dumps(work()).encode())
            code = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    return os.waitpid(child, 0)[1], said


def try_point(template: Path, folder: Path, point: int) -> dict[str, Any]:
    """Kill at `point`, restart, walk on to the end, and look."""
    shutil.copytree(template, folder)
    log = folder / "stderr"
    status, _ = in_fork(lambda: walk(folder, point), log)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if killed and point % 6 == 0:
        in_fork(lambda: walk(folder, 1 + point % 5), log)
    status, said = in_fork(lambda: (walk(folder, None), check(folder))[1], log)
    found: list[str] = (
        json.loads(said)
        if status == 0
        else [
            f"a life ended with status {status}",
            *json.loads(in_fork(lambda: check(folder), log)[1] or "[]"),
        ]
    )
    result = {"point": point, "killed": killed, "problems": found, "log": log.read_text()[-4000:]}
    if not found:
        shutil.rmtree(folder)
    return result


def main() -> None:
    folder, part, parts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    template = folder / f"template-{part}"
    in_fork(lambda: prepare(template), folder / f"prepare-{part}.log")
    whole = folder / f"whole-{part}"
    shutil.copytree(template, whole)
    gc.freeze()  # each fork would copy what its first collection touches
    status, counted = in_fork(lambda: walk(whole, None), folder / f"whole-{part}.log")
    print(
        json.dumps({"counted": counted, "status": status, "log": (folder / f"whole-{part}.log").read_text()}),
        flush=True,
    )
    if status == 0:
        _, said = in_fork(lambda: check(whole), folder / f"whole-{part}.log")
        print(
            json.dumps({"point": 0, "killed": False, "problems": json.loads(said or '["none"]'), "log": ""}),
            flush=True,
        )
        for point in range(1 + part, int(counted) + 1, parts):
            print(json.dumps(try_point(template, folder / f"point-{point}", point)), flush=True)


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


if __name__ == "__main__":
    main()
