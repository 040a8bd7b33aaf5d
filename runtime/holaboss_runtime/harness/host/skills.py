"""The skills of one run: which there are, which a message quotes, and which tools only they open.

A tool that some skill names as its own is closed until that skill was invoked, then open for the rest of the run. This
only ever adds a condition: what the person's permissions refuse or ask about, they refuse or ask about still.

- `holaboss_granted_tools` (and its older names) close any tool but the ones that only look or talk: a run that could
  not read, ask, plan or load a skill any more would be stuck.
- `allowed-tools` of the specification was written to *pre-approve* tools, usually everyday ones. It closes tools of
  MCP servers and of the runtime, never those that every run of this host has.
- A call that was approved in an earlier run had passed this already: its tool is open in the run that makes the call.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # noqa: F401  # pyright: ignore[reportUnusedImport] - loaded while the host warms up, not in a run

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.sandbox import Sandbox
from holaboss_runtime.harness.host.text import clip, valid_text
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.skill import SKILL_TOOL, location, run_skills, skill_block
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.skill_files import Skill
from holaboss_runtime.workspace.skills import named

MAX_QUOTED_CHARS = 128 * 1024
_NEVER_CLOSED = frozenset({"read", "ls", "grep", "find", "todo", "question", "scratchpad", SKILL_TOOL})
_QUOTE = re.compile(r"/([A-Za-z0-9_-]{1,64})[ \t]*")

TellSkill = Callable[[dict[str, Any]], None]
"""Takes the payload of a `skill_invocation` event."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A message taken apart: `sections` stand for its quoted skills, `instruction` is the rest."""

    sections: tuple[str, ...]
    instruction: str


def split_quotes(instruction: str) -> tuple[list[str], str]:
    """The ids of the leading `/id` lines, each once, and what follows them."""
    lines = instruction.split("\n")
    at = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    ids: dict[str, str] = {}
    while at < len(lines) and (match := _QUOTE.fullmatch(lines[at].rstrip("\r"))) is not None:
        ids.setdefault(match[1].casefold(), match[1])
        at += 1
    return (list(ids.values()), "\n".join(lines[at:]).strip()) if ids else ([], instruction)


class RunSkills:
    """One per run. `load` comes before everything else; `tell` takes what is worth knowing of an invocation."""

    def __init__(self, package: RunPackage, tools: Collection[str], tell: TellSkill) -> None:
        self._package = package
        self._tools = tools
        self._tell = tell
        self._skills: list[Skill] = []
        self._closed: dict[str, list[str]] = {}
        self._commands: set[str] = set()
        self._opened: set[str] = set()
        self._opened_commands: set[str] = set()
        self.quoted = Quoted((), package.instruction)
        """What the message of this run says without its quotes, once they are loaded."""

    async def load(self) -> None:
        found = await self._found()
        self._skills = [skill for skill, _ in found]
        for skill in self._skills:
            for tool in self._keys_of(skill):
                self._closed.setdefault(tool, []).append(skill.id)
            self._commands.update(skill.granted_commands)
        self.quoted = self._resolved(dict(found))

    async def _found(self) -> list[tuple[Skill, str]]:
        workspace = self._package.workspace_dir
        if any(Path(name).is_relative_to(workspace) for name in self._package.workspace_skill_dirs):
            return await asyncio.to_thread(run_skills, self._package)
        return run_skills(self._package)  # ours, which are known after the first run

    def _resolved(self, bodies: dict[Skill, str]) -> Quoted:
        """The blocks of the skills that the message begins with, and a warning that names those that are not there."""
        ids, rest = split_quotes(self._package.instruction)
        blocks: list[str] = []
        missing: list[str] = []
        room = MAX_QUOTED_CHARS
        for name in ids:
            skill = named(self._skills, name)
            if skill is None:
                missing.append(f"Not there: /{name}.")
                continue
            block = skill_block(skill, location(self._package, skill.folder), bodies[skill])
            room -= len(block)
            if room < 0:
                missing.append(f"Too long to be quoted as well: /{name}. Load it with the {SKILL_TOOL} tool.")
            else:
                blocks.append(block)
        sections = ["\n\n".join(["Quoted workspace skills:", *blocks])] if blocks else []
        if missing:
            warning = (
                "Skills that the message quotes and that could not be given to you; tell the person which:"
            )
            sections.append("\n".join([warning, *missing]))
        return Quoted(tuple(sections), rest)

    def open_approved(self, tools: Iterable[str]) -> None:
        """Tools of calls that were approved in an earlier run."""
        self._opened.update(tool for tool in tools if tool in self._closed)

    def refusal(self, tool: str) -> ToolOutcome | None:
        """What the model is told of a tool that no skill has opened yet."""
        if tool not in self._closed or tool in self._opened:
            return None
        keys = " or ".join(self._closed[tool])
        said = f"permission denied by skill policy: tool {tool} is gated."
        what_to_do = f"Invoke the skill {keys} first, then call it again."
        return ToolOutcome(
            f"{said} {what_to_do}", error=True, refused=f"{tool} is gated by the skill {keys}."
        )

    def invocation_started(self, arguments: dict[str, Any]) -> Skill | None:
        requested = valid_text(str(arguments.get("name", "")))[:200]
        skill = named(self._skills, requested)
        self._tell({"phase": "started", **self._identity(requested, skill)})
        return skill

    def invocation_completed(
        self, skill: Skill | None, arguments: dict[str, Any], outcome: ToolOutcome
    ) -> None:
        granted: list[str] = []
        commands: list[str] = []
        if skill is not None and not outcome.error:
            granted, commands = self._keys_of(skill), list(skill.granted_commands)
            self._opened.update(granted)
            self._opened_commands.update(commands)
        payload = {
            "phase": "completed",
            **self._identity(valid_text(str(arguments.get("name", "")))[:200], skill),
            "widening_scope": "run",
            "managed_tools": sorted(self._closed),
            "granted_tools": granted,
            "active_granted_tools": sorted(self._opened),
            "managed_commands": sorted(self._commands),
            "granted_commands": commands,
            "active_granted_commands": sorted(self._opened_commands),
            "workspace_boundary_override": False,
            "args": clip(valid_text(str(arguments.get("args", ""))), 2000),
            "error": outcome.error,
            "error_message": clip(outcome.text, 1000) if outcome.error else None,
        }
        self._tell(payload)

    def _identity(self, requested: str, skill: Skill | None) -> dict[str, Any]:
        return {
            "requested_name": requested,
            "skill_id": skill.id if skill else None,
            "skill_name": skill.name if skill else None,
            "skill_location": location(self._package, skill.folder) if skill else None,
            "granted_tools_expected": self._keys_of(skill) if skill else [],
        }

    def _keys_of(self, skill: Skill) -> list[str]:
        """The tools of this run that the skill is a key to."""
        granted = {_callable(name) for name in skill.granted_tools} - _NEVER_CLOSED
        allowed = {_callable(name) for name in skill.allowed_tools} - set(TOOLS)
        return sorted((granted | allowed) & set(self._tools))


class SkilledSandbox:
    """A sandbox in which tools are closed until their skill was invoked, and invocations are told."""

    def __init__(self, inner: Sandbox, skills: RunSkills) -> None:
        self._inner = inner
        self._skills = skills

    def provision(self, package: RunPackage) -> None:
        self._inner.provision(package)

    def check(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        return self._skills.refusal(name) or self._inner.check(name, arguments)

    def facts(self, name: str, arguments: dict[str, Any]) -> CallFacts:
        return self._inner.facts(name, arguments)

    async def execute(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        if (refused := self._skills.refusal(name)) is not None:
            return refused
        if name != SKILL_TOOL:
            return await self._inner.execute(name, arguments)
        skill = self._skills.invocation_started(arguments)
        outcome = await self._inner.execute(name, arguments)
        self._skills.invocation_completed(skill, arguments, outcome)
        return outcome


def _callable(name: str) -> str:
    """`server.tool` is what MCP tools are called in files of a workspace."""
    server, dot, tool = name.partition(".")
    return f"mcp__{server}__{tool}" if dot else name
