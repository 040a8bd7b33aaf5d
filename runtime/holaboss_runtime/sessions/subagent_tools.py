"""The tools with which a session hands work to subagents and looks after it.

They check and word; what happens is decided in `subagents`. No subagent is given any of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from holaboss_client.subagents import BackgroundTaskStatus
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer, ToolboxTool
from holaboss_runtime.sessions.subagent_reports import clipped, described, outcome_of
from holaboss_runtime.sessions.subagents import DELEGATING_KINDS, FORBIDDEN, MOST_LIVE, Subagents, Task
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.subagents import SubagentRecord

MAX_GOAL = 20_000
MAX_CONTEXT = 60_000
LONGEST_MS = 1_800_000

ToolGroup = Literal["file", "terminal", "web", "mcp"]
Title = Annotated[str, Field(max_length=200)]
SubagentId = Annotated[str, Field(min_length=1, max_length=200)]


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TaskInput(_Input):
    goal: str = Field(
        min_length=1, max_length=MAX_GOAL, description="What is to be done, complete in itself."
    )
    title: Title | None = Field(default=None, description="A few words for a list.")
    context: str = Field(
        default="",
        max_length=MAX_CONTEXT,
        description="What it needs to know: it sees nothing of this conversation.",
    )
    tools: list[ToolGroup] = Field(
        default_factory=list[ToolGroup],
        max_length=4,
        description="Give it only these; none for all that you have.",
    )
    model: str | None = Field(default=None, max_length=200, description="Another model, as provider/model.")
    timeout_ms: int | None = Field(default=None, ge=1_000, le=LONGEST_MS)

    def task(self) -> Task:
        return Task(
            goal=self.goal.strip(),
            title=self.title,
            context=self.context.strip(),
            tools=tuple(dict.fromkeys(self.tools)),
            model=self.model,
            timeout_ms=self.timeout_ms,
        )

    @model_validator(mode="after")
    def _says_something(self) -> TaskInput:
        if not self.goal.strip():
            raise ValueError("a task needs a goal")
        return self


class DelegateInput(_Input):
    tasks: list[TaskInput] = Field(
        default_factory=list[TaskInput],
        max_length=MOST_LIVE,
        description="Several tasks that do not need each other.",
    )
    goal: str | None = Field(
        default=None, max_length=MAX_GOAL, description="For a single task, instead of `tasks`."
    )
    title: Title | None = None
    context: str = Field(default="", max_length=MAX_CONTEXT)
    tools: list[ToolGroup] = Field(default_factory=list[ToolGroup], max_length=4)
    model: str | None = Field(default=None, max_length=200)
    timeout_ms: int | None = Field(default=None, ge=1_000, le=LONGEST_MS)

    @model_validator(mode="after")
    def _one_way(self) -> DelegateInput:
        if self.tasks and self.goal is not None:
            raise ValueError("give either `tasks` or a single `goal`")
        if not self.tasks and not (self.goal or "").strip():
            raise ValueError("subagent_goal_required: say in `goal` what is to be done")
        return self

    def wanted(self) -> list[Task]:
        if self.tasks:
            return [one.task() for one in self.tasks]
        single = self.model_dump(exclude={"tasks"})
        return [TaskInput.model_validate(single).task()]


class SubagentInput(_Input):
    subagent_id: SubagentId


class AnswerInput(SubagentInput):
    answer: str = Field(min_length=1, max_length=MAX_GOAL, description="What the person said.")


class ContinueInput(SubagentInput):
    instruction: str = Field(min_length=1, max_length=MAX_GOAL, description="What it is to do next.")
    title: Title | None = None


class ListInput(_Input):
    statuses: list[BackgroundTaskStatus] = Field(default_factory=list[BackgroundTaskStatus], max_length=6)
    limit: int = Field(default=20, ge=1, le=100)


class SubagentTools:
    def __init__(self, records: Records, subagents: Subagents) -> None:
        self._records = records
        self._subagents = subagents

    def all(self) -> list[ToolboxTool]:
        """In the order in which a model sees them."""
        return [
            _tool(
                "delegate_task",
                "Hand work to subagents that do it in the background, at the same time as you. Each begins without this"
                " conversation, so say everything in goal and context. Their results come back to you as a message by"
                " themselves when you are done: do not wait or ask for them.",
                DelegateInput,
                self._delegate,
            ),
            _tool(
                "get_subagent",
                "How one subagent is doing, and what it came to.",
                SubagentInput,
                self._get,
                mutates=False,
            ),
            _tool("cancel_subagent", "End a subagent for good.", SubagentInput, self._cancel),
            _tool(
                "resume_subagent",
                "Answer what a subagent asks (waiting_on_user), with what the person said. Permissions cannot be given"
                " like this.",
                AnswerInput,
                self._resume,
                hidden=True,
            ),
            _tool(
                "continue_subagent",
                "Give a subagent that has ended more to do. It remembers what it did.",
                ContinueInput,
                self._continue,
                hidden=True,
            ),
            _tool(
                "list_background_tasks",
                "The subagents of this session, the newest first.",
                ListInput,
                self._list,
                mutates=False,
                hidden=True,
            ),
        ]

    async def _delegate(self, caller: Caller, given: DelegateInput) -> ToolAnswer:
        begun = self._subagents.delegate(caller.session_id, caller.input_id, given.wanted())
        lines = [f"{record.title} ({record.subagent_id}): {record.status}" for record in begun]
        told = "Their results come back as a message when you are done. Go on with something else, or end your turn."
        return self._answer("\n".join([*lines, told]), *begun)

    async def _get(self, caller: Caller, given: SubagentInput) -> ToolAnswer:
        record = self._subagents.owned(caller.session_id, given.subagent_id)
        return self._answer(self._described(record), record)

    async def _cancel(self, caller: Caller, given: SubagentInput) -> ToolAnswer:
        record = self._subagents.stop(caller.session_id, given.subagent_id)
        return self._answer(f"{record.title} ({record.subagent_id}) is cancelled.", record)

    async def _resume(self, caller: Caller, given: AnswerInput) -> ToolAnswer:
        record = self._subagents.answer(caller.session_id, given.subagent_id, given.answer)
        return self._answer(f"{record.title} ({record.subagent_id}) has the answer and goes on.", record)

    async def _continue(self, caller: Caller, given: ContinueInput) -> ToolAnswer:
        before, record = self._subagents.go_on(
            caller.session_id, given.subagent_id, given.instruction, given.title
        )
        lines = [f"{record.title} ({record.subagent_id}) goes on."]
        if before.report_due_at is not None:
            lines.append(f"Until now it came to this:\n{clipped(outcome_of(before))}")
        return self._answer("\n".join(lines), record)

    async def _list(self, caller: Caller, given: ListInput) -> ToolAnswer:
        found = self._subagents.of_owner(caller.session_id, statuses=given.statuses, limit=given.limit)
        lines = [f"- {record.title} ({record.subagent_id}): {record.status}" for record in found]
        return self._answer("\n".join(lines) or "There are none.", *found)

    def _described(self, record: SubagentRecord) -> str:
        return described(record, self._records.actions.open(record.subagent_id))

    def _answer(self, text: str, *records: SubagentRecord) -> ToolAnswer:
        shown = [self._subagents.wire(record).model_dump(exclude={"result", "goal"}) for record in records]
        return ToolAnswer(text, {"tasks": shown})


def _tool(
    name: str,
    description: str,
    input_type: type[BaseModel],
    function: object,
    *,
    mutates: bool = True,
    hidden: bool = False,
) -> ToolboxTool:
    return ToolboxTool(
        name,
        description,
        input_type,
        function,  # pyright: ignore[reportArgumentType] - a coroutine that takes `input_type`
        mutates=mutates,
        hidden=hidden,
        offered=DELEGATING_KINDS.__contains__,
        refusal=FORBIDDEN,
    )
