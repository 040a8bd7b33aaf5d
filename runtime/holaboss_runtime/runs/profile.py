"""How a kind of session becomes a run: what is read before the claim, and what the harness gets after it.

A conversation in a workspace and a session of an agent differ here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from holaboss_runtime.harness.contract import (
    ActionDecision,
    AdapterCapabilities,
    PrepPlan,
    RunPackage,
    RuntimeTool,
)
from holaboss_runtime.runs.ports import Model
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.pending_actions import EXPIRED, ActionRecord
from holaboss_runtime.store.request_snapshots import RequestSnapshot
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.turns import RequestFacts


@dataclass(frozen=True, slots=True)
class Lease:
    """Seconds. A run that is silent for `lease_s` is taken for dead."""

    lease_s: float = 300.0
    heartbeat_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before the first repetition of a failed run, and the most that a later one waits."""

    first_s: float = 2.0
    longest_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Compiled:
    """The workspace as this run sees it, and the model it will talk to. `details` are the profile's own."""

    folder: Path
    name: str
    checksum: str
    model: Model
    details: Any
    lease: Lease = field(default_factory=Lease)
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """What a wake has claimed. `lead` names the turn."""

    session: SessionRecord
    lead: InputRecord
    inputs: tuple[InputRecord, ...]
    wake_id: str
    decisions: tuple[ActionRecord, ...]


@dataclass(frozen=True, slots=True)
class Executor:
    """What is known of the harness before it runs, and what may not be written down.

    `tool_names` are its own tools; `runtime_tools` are those it may call back, for the session of this run. `plan` says
    what it needs prepared.
    """

    name: str
    tool_names: tuple[str, ...]
    secrets: frozenset[str]
    runtime_tools: tuple[RuntimeTool, ...] = ()
    capabilities: AdapterCapabilities = field(default_factory=AdapterCapabilities)
    plan: PrepPlan = field(default_factory=PrepPlan)

    @property
    def all_tools(self) -> tuple[str, ...]:
        return (*self.tool_names, *(tool.name for tool in self.runtime_tools))

    def without(self, *names: str) -> Executor:
        """The same one for a run in which some tools would be of no use."""
        return replace(
            self,
            tool_names=tuple(name for name in self.tool_names if name not in names),
            runtime_tools=tuple(tool for tool in self.runtime_tools if tool.name not in names),
        )


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """`started` is the payload of RUN_STARTED; `texts` are the sections that `snapshot` names. `notices` are payloads
    of RUN_NOTICE: what the person should know before the run says anything."""

    package: RunPackage
    snapshot: RequestSnapshot
    texts: dict[str, str]
    facts: RequestFacts
    started: dict[str, Any]
    notices: tuple[dict[str, Any], ...] = ()


class Profile(Protocol):
    async def compile(self, session: SessionRecord, inputs: Sequence[InputRecord]) -> Compiled:
        """Raises `DomainError` for a workspace, an agent or a model that cannot be used."""
        ...

    def prepare(self, run: ClaimedRun, compiled: Compiled, executor: Executor) -> PreparedRun:
        """Everything the harness may see, and the proof of it."""
        ...


def decisions_of(actions: Sequence[ActionRecord]) -> list[ActionDecision]:
    """Those an executor waits for, with what a person made of the arguments. Nobody in time is a no."""
    return [
        ActionDecision(
            call_id=action.call_id,
            kind=action.kind,  # pyright: ignore[reportArgumentType] - checked by the model
            tool_name=action.tool_name,
            outcome="denied" if action.status == EXPIRED else action.status,  # pyright: ignore[reportArgumentType]
            tool_args=action.approved_input,
            output=action.output,
            note=action.note,
        )
        for action in actions
        if action.call_id is not None
    ]


def requested_model(inputs: Sequence[InputRecord]) -> str | None:
    """The model the newest message that names one asks for."""
    return next((taken.payload["model"] for taken in reversed(inputs) if taken.payload.get("model")), None)
