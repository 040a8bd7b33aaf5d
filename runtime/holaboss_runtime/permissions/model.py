"""The words of permissions: a rule, the policy of a run, what one call is about, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Permission = Literal["always_allow", "always_ask", "deny"]
Network = Literal["on", "off", "listed"]
RuleSource = Literal["profile", "workspace", "agent", "person"]

READING = "@reads"
ADDING = "@adds"
SENDING = "@sends"
WHOLE_TEXT = "="


class PermissionModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PermissionRule(PermissionModel):
    """What holds for calls that fit. Everything that is given must fit; a rule with only a `tool` is about all calls.

    `tool` and `server` are names or globs (`mcp__git__*`), `command` the words a simple command begins with
    (`git status`), `path` a glob of a path in the workspace (`docs/**`), `host` a name or `*.example.org`.
    A `command` that begins with `=` is a whole shell text, letter by letter. `READING` and `SENDING` stand for the
    commands that are known to only read, and for those known to send things out or to change the system; as a `tool`,
    `READING` and `ADDING` stand for tools that are said to only read, or to destroy nothing.
    A rule for `read` or `write` with a `path` also holds for what shell commands read and write there.
    """

    effect: Permission
    tool: str = "*"
    command: str | None = None
    path: str | None = None
    host: str | None = None
    server: str | None = None
    source: RuleSource = "profile"


class ContainmentDemand(PermissionModel):
    """How commands have to be held. With `required` a command does not run where that is not possible.

    `network` is on, off, or limited to `hosts` (names, or `*.example.org`).
    """

    required: bool = False
    network: Network = "on"
    hosts: list[str] = Field(default_factory=list[str])


class PermissionPolicy(PermissionModel):
    """The rules of one run. `default` holds for a call that no rule fits.

    Without `may_ask` nobody is there to answer: what would be asked is refused, and the run is parked.
    """

    profile: str = "trusted"
    default: Permission = "always_allow"
    rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])
    may_ask: bool = True
    containment: ContainmentDemand = Field(default_factory=ContainmentDemand)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What one call is about, as far as its arguments say. `command` is a shell text; `reads` and `writes` are paths in
    the workspace (a path elsewhere is absolute); `server` is that of an MCP tool.

    `read_only` and `destructive` are what is known of the tool itself; None where its maker did not say.
    """

    tool: str
    command: str | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    server: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of a call. `reason` is a sentence for people; `suggestions` are the rules a person may want to
    keep when they allow it, the narrowest first."""

    effect: Permission
    reason: str = ""
    suggestions: tuple[PermissionRule, ...] = field(default=())
