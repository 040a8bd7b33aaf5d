"""Work that is handed to two subagents, killed at a chosen commit, and the restart that has to bring both results home.

`python -m tests.runtime.sessions.subagent_kill_child FOLDER` prints one JSON line for each point. Every life is a fork
of this process, which has imported everything once and opened nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.harness.toolbox import Caller
from holaboss_runtime.store.clock import from_now
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.kill_child import Fuse, in_fork
from tests.support.fake_harness import Stage
from tests.support.processes import PATIENCE_S

OWNER = "s1"
GOALS = ("count the doors", "count the windows")


class Walk:
    def __init__(self, folder: Path) -> None:
        self.core = Core(folder)
        self.core.harness.script = self.script
        self.folder = folder

    async def script(self, stage: Stage) -> None:
        asked = stage.package.instruction
        if stage.package.session_kind == "subagent":
            stage.say(f"Done: {asked.partition(chr(10))[0]}")
        elif asked == "hand out":
            stage.say("I hand it out. ")  # said, so that a run that is cut off here is not repeated
            await asyncio.sleep(0)
            arguments = {"tasks": [{"goal": goal} for goal in GOALS]}
            answer = await self.core.toolbox.call(Caller.of(stage.package), "delegate_task", arguments)
            assert not answer.error, answer.text
        else:
            stage.say(f"I heard: {asked}")

    async def go(self) -> None:
        await self.core.sessions.start()
        self.core.send("hand out", OWNER, idempotency_key="go")
        await self.core.until(self.at_rest)
        await self.core.close()

    def at_rest(self) -> bool:
        self.core.sessions.reports.deliver(from_now(60.0))  # no need to wait for those that work
        facts = self.core.records.facts.of_workspace(WORKSPACE)
        busy = any(one.running_input or one.next_input or one.lease_until for one in facts)
        owed = self.core.records.subagents.owed_reports(OWNER)
        live = self.core.records.subagents.live_of(OWNER)
        return not (busy or owed or live)


def walk(folder: Path, point: int | None) -> int:
    async def live() -> int:
        async with asyncio.timeout(PATIENCE_S):
            one = Walk(folder)
            fuse = Fuse(cast(Any, one.core.database)._connection, point)
            cast(Any, one.core.database)._connection = fuse
            await one.go()
            return fuse.seen

    return asyncio.run(live())


def check(folder: Path) -> list[str]:
    core = Core(folder)
    try:
        return list(_problems(core))
    finally:
        core.database.close()


def _problems(core: Core) -> Iterator[str]:
    children = core.records.subagents.page(owner_session_id=OWNER, limit=10)
    if len(children) not in (0, len(GOALS)):
        yield f"{len(children)} subagents were begun"
    events = core.records.events.select(OWNER, types=["session.child_results"], limit=100)
    told = Counter(child["child_session_id"] for event in events for child in event.payload["children"])
    for child in children:
        if told[child.subagent_id] != 1:
            yield f"{child.title} ({child.status}) was told {told[child.subagent_id]} times"
        if child.status not in ("completed", "failed"):
            yield f"{child.title} is {child.status}"
        if child.report_due_at is not None:
            yield f"{child.title} is still to be told"
    yield from (f"{event.event_id} was not taken" for event in events if event.processed_at is None)
    heard = core.records.events.select(OWNER, types=["session.child_idle"], limit=100)
    many = Counter(event.payload["child_session_id"] for event in heard)
    yield from (f"{name} came to rest {count} times" for name, count in many.items() if count != 1)
    orphans = core.database.rows(
        "SELECT session_id FROM agent_sessions WHERE kind = 'subagent'"
        " AND session_id NOT IN (SELECT subagent_id FROM subagent_runs)"
    )
    yield from (f"session {row['session_id']} belongs to nobody" for row in orphans)


def try_point(folder: Path, point: int) -> dict[str, Any]:
    folder.mkdir()
    log = folder / "stderr"
    status, _ = in_fork(lambda: walk(folder, point), log)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    status, said = in_fork(lambda: (walk(folder, None), check(folder))[1], log)
    found: list[str] = json.loads(said) if status == 0 else [f"a life ended with status {status}"]
    result = {"point": point, "killed": killed, "problems": found, "log": log.read_text()[-4000:]}
    if not found:
        shutil.rmtree(folder)
    return result


def main() -> None:
    folder = Path(sys.argv[1])
    gc.freeze()  # each fork would copy what its first collection touches
    whole = folder / "whole"
    whole.mkdir()
    _, counted = in_fork(lambda: walk(whole, None), folder / "whole.log")
    log = (folder / "whole.log").read_text()
    _, said = in_fork(lambda: check(whole), folder / "whole.log")
    print(
        json.dumps({"counted": counted, "problems": json.loads(said or '["none"]'), "log": log}), flush=True
    )
    for point in range(1, int(counted or 0) + 1):
        print(json.dumps(try_point(folder / str(point), point)), flush=True)


if __name__ == "__main__":
    main()
