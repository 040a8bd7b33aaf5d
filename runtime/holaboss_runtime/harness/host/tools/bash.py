"""`bash`: a shell command in the workspace folder, waited for or left running beside the agent.

How it is held is decided by the permissions of the run and carried out below; what cannot be kept is refused here.
"""

from __future__ import annotations

import shutil
from typing import Any, Self

from pydantic import Field, model_validator

from holaboss_runtime.containment.view import View
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.host.background import Report, TooManyError, run_name
from holaboss_runtime.harness.host.command_result import CommandResult
from holaboss_runtime.harness.host.commands import CommandRefusedError
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.decisive import decisive_names
from holaboss_runtime.permissions.model import CallFacts

DEFAULT_TIMEOUT_S = 120
DEFAULT_WAIT_S = 10
LONGEST_TIMEOUT_S = 600


class BashInput(ToolInput):
    command: str = Field(default="", description="Run by bash in the workspace folder; it gets no input")
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_TIMEOUT_S,
        description="Seconds; 120 for a command, 10 for waiting on an id",
    )
    description: str = Field(
        default="", max_length=200, description="What it does, for the person, in few words"
    )
    background: bool = Field(
        default=False, description="Return at once with an id; the command goes on until the end of this turn"
    )
    id: str = Field(
        default="", max_length=20, description="Instead of a command: what a background one has printed"
    )
    stop: bool = Field(default=False, description="With id: end it")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.command) == bool(self.id):
            raise ValueError("give either a command or the id of one that runs in the background")
        if self.stop and not self.id:
            raise ValueError("stop needs the id of a command that runs in the background")
        return self


async def bash(workspace: Workspace, request: BashInput) -> ToolOutcome:
    try:
        if request.id:
            return await _look(workspace, request)
        if request.background:
            return await _start(workspace, request.command)
        return await _run(workspace, request)
    except CommandRefusedError as error:
        raise ToolError(str(error)) from error


async def _run(workspace: Workspace, request: BashInput) -> ToolOutcome:
    timeout_s = request.timeout or DEFAULT_TIMEOUT_S
    demand = workspace.package.permissions.containment
    view = _view(workspace)
    result = await workspace.commands.run(view, _shell(request.command), timeout_s, demand)
    handle = await _kept(workspace, result.whole)
    notes = [*_notes(result, timeout_s), *([f"[the whole output is in {handle}]"] if handle else [])]
    if view.writable and "Read-only file system" in result.output:
        notes.append(
            f"[commands cannot change {', '.join(view.read_only)} or what git runs; write and edit may]"
        )
    if not result.output and not notes:
        notes = ["[no output]"]
    details = _details(result) | ({"whole_result": handle} if handle else {})
    return _outcome([result.output, *notes], result, details)


async def _kept(workspace: Workspace, whole: str | None) -> str | None:
    """Where the whole output can be read; None when there is no more of it, or no place for it."""
    if whole is None:
        return None
    try:
        return await workspace.spill.save("bash", whole)
    except (OSError, DomainError):
        return None


async def _start(workspace: Workspace, command: str) -> ToolOutcome:
    view, demand = _view(workspace), workspace.package.permissions.containment
    await workspace.commands.check(view, demand)
    try:
        name = workspace.commands.background.start(run_name(workspace.package), view, _shell(command), demand)
    except TooManyError as error:
        raise ToolError("Too many commands run in the background already. Stop one first.") from error
    text = (
        f'Started in the background with id {name}. Call bash with {{"id": "{name}"}} to see what it prints.'
    )
    return ToolOutcome(
        text, containment=workspace.commands.containment, details={"id": name, "running": True}
    )


async def _look(workspace: Workspace, request: BashInput) -> ToolOutcome:
    background, run = workspace.commands.background, run_name(workspace.package)
    if request.stop:
        report = await background.stop(run, request.id)
    else:
        report = await background.look(run, request.id, request.timeout or DEFAULT_WAIT_S)
    if report is None:
        known = ", ".join(background.names(run)) or "none"
        raise ToolError(f"No command has the id {request.id!r} in this turn. Known ids: {known}.")
    return _reported(request.id, report)


def _reported(name: str, report: Report) -> ToolOutcome:
    details: dict[str, Any] = {"id": name, "running": report.running}
    if report.result is None:
        note = "[it still runs]" if report.running else "[stopped]"
        return _outcome([report.text, note], None, details)
    notes = _notes(report.result, None) or ["[ended]"]
    return _outcome([report.text, *notes], report.result, details | _details(report.result))


def _outcome(parts: list[str], result: CommandResult | None, details: dict[str, Any]) -> ToolOutcome:
    text = "\n".join(part for part in (piece.rstrip("\n") for piece in parts) if part)
    failed = result is not None and result.exit_code != 0
    held_by = None if result is None else result.containment
    return ToolOutcome(text, error=failed, containment=held_by, details=details)


def _notes(result: CommandResult, timeout_s: float | None) -> list[str]:
    notes: list[str] = []
    if result.exit_code is None:
        notes.append(f"[stopped after {timeout_s:g} seconds]" if timeout_s else "[stopped]")
    elif result.exit_code:
        notes.append(f"[exit code {result.exit_code}]")
    if result.refused_hosts:
        notes.append(f"[not reachable from here: {', '.join(result.refused_hosts)}]")
    return notes


def _details(result: CommandResult) -> dict[str, Any]:
    return {"exit_code": result.exit_code, "network": result.network}


def _view(workspace: Workspace) -> View:
    writable = workspace.areas.workspace.writable
    return View(workspace.root, writable=writable, read_only=decisive_names(workspace.package.permissions))


def _shell(command: str) -> list[str]:
    return [shutil.which("bash") or "/bin/sh", "-c", command]


def _about(arguments: dict[str, Any]) -> CallFacts:
    if arguments.get("id") and not arguments.get("command"):
        return CallFacts("bash", read_only=True)  # runs nothing that was not allowed before
    return CallFacts("bash", command=arguments["command"])


BASH = HostTool(
    "bash",
    "Run a shell command. Background processes end with it, unless you ask for background.",
    BashInput,
    bash,
    alone=True,
    note_on_mounts="It sees only the workspace; what is mounted elsewhere is for the other tools.",
    about=_about,
)
