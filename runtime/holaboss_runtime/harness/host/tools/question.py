"""`question`: ask the person and stop until they have answered.

What the answer looks like to the model is said here as well. It never answers itself, and knows nobody who does.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pydantic import Field, field_validator

from holaboss_runtime.harness.contract import ActionDecision, RunPackage
from holaboss_runtime.harness.host.tools.base import HostTool, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace import todos
from holaboss_runtime.workspace.todos import TodoError

MAX_OPTIONS = 8
SKIPPED = (
    "The person skipped this question. Go on without the answer as well as you can, and say what you assumed."
)


class OptionInput(ToolInput):
    label: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=500)


class QuestionInput(ToolInput):
    question: str = Field(
        min_length=1, max_length=4000, description="One question, with what is needed to decide"
    )
    options: list[OptionInput] = Field(
        default_factory=list[OptionInput],
        max_length=MAX_OPTIONS,
        description="Answers to choose from, the recommended one first; the person may also write their own",
    )
    allow_multiple: bool = Field(default=False, description="Several options may be chosen")

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: list[OptionInput]) -> list[OptionInput]:
        if len({option.label for option in options}) < len(options):
            raise ValueError("each option needs a label of its own")
        return options


async def question(workspace: Workspace, request: QuestionInput) -> ToolOutcome:
    """The call is answered later and by somebody else: this only notes that the task in progress waits for it."""
    await asyncio.to_thread(_block_task, workspace, request.question)
    return ToolOutcome("")


def _block_task(workspace: Workspace, asked: str) -> None:
    with suppress(OSError, TodoError):  # a plan that cannot be kept keeps nobody from asking
        plan = todos.read_todo(workspace.root, workspace.package.session_id)
        if (blocked := todos.block_active(plan, _details(asked))) is not None:
            todos.save_todo(workspace.root, blocked)


async def take_up_tasks(package: RunPackage) -> None:
    """Tasks that waited for a question of an earlier run go on: it has been answered, or will not be."""
    asked = [decision for decision in package.decisions if decision.kind == "question"]
    if asked:
        await asyncio.to_thread(_take_up, Path(package.workspace_dir), package.session_id, asked)


def _take_up(folder: Path, session_id: str, asked: list[ActionDecision]) -> None:
    with suppress(OSError, TodoError):
        plan = changed = todos.read_todo(folder, session_id)
        for decision in asked:
            changed = todos.take_up(changed, _details(str(decision.tool_args.get("question", "")))) or changed
        if changed is not plan:
            todos.save_todo(folder, changed)


def answer_text(decision: ActionDecision) -> str:
    """What the model is told of a decided question: a text, or chosen labels and words of the person's own."""
    if decision.outcome != "answered":
        note = (decision.note or "").strip()
        return f"{SKIPPED} They said: {note}" if note else SKIPPED
    output: object = decision.output
    options: list[str] = []
    if isinstance(output, dict):
        fields = cast(dict[str, Any], output)
        listed: object = fields.get("options")
        if isinstance(listed, list):
            options = [str(label) for label in cast(list[object], listed)]
        known = "text" in fields or "options" in fields
        output = fields.get("text") if known else json.dumps(fields, ensure_ascii=False)
    words = str(output).strip() if output is not None else ""
    chosen = "; ".join(options)
    if chosen and words:
        return f"The person answered: {chosen}. In their own words: {words}"
    return f"The person answered: {chosen or words}" if chosen or words else SKIPPED


def _details(asked: str) -> str:
    return asked[:2000]


def _about(_: dict[str, Any]) -> CallFacts:
    return CallFacts("question", read_only=True)


QUESTION = HostTool(
    "question",
    "Ask the person something you cannot find out and cannot decide for them. The run ends until they have answered."
    " Ask everything you need at once, in one call for each question.",
    QuestionInput,
    question,
    alone=True,
    about=_about,
    waits="question",
)
