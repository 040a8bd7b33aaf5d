"""An owner and its subagents on a running session core, for the tests of what is handed out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from holaboss_client.agents import SessionEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer
from holaboss_runtime.store.subagents import SubagentRecord
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.support.fake_harness import Stage, echo

TOGETHER_S = 600.0
"""How long a result waits for others in these tests: no stall of the machine may tell it before they ask."""

TOOLS = [
    "delegate_task",
    "get_subagent",
    "cancel_subagent",
    "resume_subagent",
    "continue_subagent",
    "list_background_tasks",
]


class Office:
    """An owner whose runs call tools as a test says, and subagents that wait until a test lets them answer.

    `plans` are arguments of `delegate_task` by what the owner is asked; `held` names goals that are not answered yet.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.plans: dict[str, dict[str, Any]] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.scripts: dict[str, Callable[[Stage], Any]] = {}
        self.begun: set[str] = set()
        core.harness.script = self.script

    async def script(self, stage: Stage) -> None:
        if stage.package.session_kind != "subagent":
            await self.lead(stage)
            return
        goal = stage.package.instruction.partition("\n")[0]
        self.begun.add(goal)
        if goal in self.gates:
            stage.say("One moment. ")
            await self.gates[goal].wait()
        if goal in self.scripts:
            await self.scripts[goal](stage)
        else:
            stage.say(f"Done: {goal}")

    async def lead(self, stage: Stage) -> None:
        for asked, plan in self.plans.items():
            if stage.package.instruction == asked:
                stage.tool("delegate_task")
                answer = await self.call(stage.package, "delegate_task", plan)
                assert not answer.error, answer.text
                stage.say("Handed out.")
                return
        await echo(stage)

    async def call(self, package: RunPackage, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        return await self.core.toolbox.call(Caller.of(package), name, arguments)

    async def use(self, name: str, session_id: str = "s1", **arguments: Any) -> ToolAnswer:
        """A tool as the owner's last run would call it."""
        package = next(one for one in reversed(self.core.harness.packages) if one.session_id == session_id)
        return await self.call(package, name, arguments)

    async def hand_out(self, *goals: str, session_id: str = "s1", **more: Any) -> list[str]:
        """Have the owner delegate `goals` in a turn of its own; their ids in the order of the goals."""
        self.plans["hand out"] = {"tasks": [{"goal": goal} | more for goal in goals]}
        before = {record.subagent_id for record in self.children(session_id)}
        await self.core.ask("hand out", session_id)
        return [one.subagent_id for one in self.children(session_id) if one.subagent_id not in before]

    def hold(self, *goals: str) -> None:
        self.gates.update((goal, asyncio.Event()) for goal in goals)

    def release(self, *goals: str) -> None:
        for goal in goals:
            self.gates[goal].set()

    def children(self, session_id: str = "s1") -> list[SubagentRecord]:
        found = self.core.records.subagents.page(
            owner_session_id=session_id, include_archived=True, limit=100
        )
        return found[::-1]

    def status(self, subagent_id: str) -> str:
        return self.core.sessions.subagents.get(subagent_id).status

    async def until(self, subagent_id: str, status: str) -> None:
        await self.core.until(lambda: self.status(subagent_id) == status)

    async def until_begun(self, count: int) -> None:
        while len(self.begun) != count:  # noqa: ASYNC110 - an executor that begins writes nothing to follow
            await asyncio.sleep(0)

    def log(self, *types: str, session_id: str = "s1") -> list[SessionEvent]:
        return self.core.sessions.views.events(session_id, types=types, limit=1000).items

    def results(self, session_id: str = "s1") -> list[SessionEvent]:
        return self.log(Event.SESSION_CHILD_RESULTS, session_id=session_id)

    async def at_rest(self, session_id: str = "s1") -> None:
        """The owner has heard everything and answered it."""

        def rests() -> bool:
            told = self.results(session_id)
            state = self.core.sessions.control.state(WORKSPACE, session_id)
            return bool(told) and told[-1].processed_at is not None and state.runtime_status == "IDLE"

        await self.core.until(rests)


def all_of(session_id: str) -> Any:
    from holaboss_runtime.sessions.subscription import OutputQuery

    return OutputQuery(session_id)


def all_sessions(core: Core) -> list[Any]:
    return core.sessions.directory.page(WORKSPACE, include_archived=False, limit=50, before=None).items
