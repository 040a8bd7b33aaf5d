"""The `session` profile: from the claimed events of an agent session to the package the harness gets.

What is said to the model is made from the state of the session, the agent's files and the attached resources; a wake
itself brings nothing but an id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from holaboss_client.agents import Environment, ResourceAttachment, ScheduledWake, SessionEvent
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import utc_now
from holaboss_runtime.agents.definition import AgentConfig
from holaboss_runtime.agents.environments import LOCAL_DEFAULT
from holaboss_runtime.agents.posture import Posture, effective_posture
from holaboss_runtime.agents.resources import from_document
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.substrate import read_prompts, read_substrate
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.permissions.model import PermissionRule
from holaboss_runtime.runs.delegation import delegation_of
from holaboss_runtime.runs.policy import RunPolicies
from holaboss_runtime.runs.ports import Models
from holaboss_runtime.runs.prepare import HISTORY_CHARS, package_of, proxy_headers, sealed
from holaboss_runtime.runs.profile import (
    Backoff,
    ClaimedRun,
    Compiled,
    Executor,
    Lease,
    PreparedRun,
    requested_model,
)
from holaboss_runtime.runs.web import WebClients
from holaboss_runtime.store.harness_history import HistoryRow
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

if TYPE_CHECKING:
    from holaboss_runtime.runs.agent_context.model import ContextInputs, ToolUse

RECENT_EVENTS = 200
RECENT_LEARNINGS = 50


@dataclass(frozen=True, slots=True)
class _Agent:
    config: AgentConfig
    environment: Environment
    posture: Posture
    substrate: tuple[tuple[str, str], ...]
    resources: tuple[ResourceAttachment, ...]


class AgentProfile:
    def __init__(self, records: Records, agents: Agents, models: Models) -> None:
        self._records = records
        self._agents = agents
        self._models = models
        self._policies = RunPolicies(records)

    async def compile(self, session: SessionRecord, inputs: Sequence[InputRecord]) -> Compiled:
        """Read the agent, its environment and its files, and choose the model."""
        agent_id = str(session.agent_id)
        config = self._agents.config(agent_id)
        environment = self._agents.environments.get(session.environment_id or LOCAL_DEFAULT)
        posture = effective_posture(environment, config)
        folder = self._agents.tree.make_folder(
            self._agents.tree.session_workspace(agent_id, session.session_id)
        )
        tree = self._agents.tree
        substrate = self._agents.substrate_folder(agent_id)
        texts = await asyncio.to_thread(lambda: (*read_prompts(tree, agent_id), *read_substrate(substrate)))
        resources = [from_document(found, session.session_id) for found in session.resources]
        model = await self._models.resolve_model(
            requested_model(inputs) or config.model_request, headers=proxy_headers(session, inputs[0])
        )
        details = _Agent(config, environment, posture, texts, tuple(posture.limit(resources)))
        lease = Lease(float(config.wake_lease.stale_after_s), float(config.wake_lease.heartbeat_s))
        backoff = Backoff(config.retry.backoff_base_ms / 1000, config.retry.backoff_max_ms / 1000)
        return Compiled(folder, agent_id, config.fingerprint, model, details, lease, backoff)

    def prepare(self, run: ClaimedRun, compiled: Compiled, executor: Executor) -> PreparedRun:
        agent: _Agent = compiled.details
        session_id = run.session.session_id
        web = WebClients.of(self._models, compiled.model)
        delegated = delegation_of(run.session, self._records)
        # What an agent knows is in its own files.
        executor = delegated.narrowed(web.narrowed(executor)).without("skill")
        tools = agent.posture.select(agent.config.tools.select(executor.all_tools))
        history = self._records.harness_history.newest(session_id, max_chars=HISTORY_CHARS)
        from holaboss_runtime.runs.agent_context.build import build_context  # not before there is an agent

        context = build_context(self._inputs(run, compiled, agent, tools, history))
        if context.history_chars < HISTORY_CHARS:
            history = self._records.harness_history.newest(session_id, max_chars=context.history_chars)
        package = package_of(
            run,
            compiled,
            history,
            instruction=context.instruction,
            system_prompt=context.prompt.system_prompt,
            context_messages=context.prompt.context_messages,
            tools=[name for name in tools if name in executor.tool_names],
            runtime_tools=[tool for tool in executor.runtime_tools if tool.name in tools],
            permissions=self._policies.of_agent(run.session, _asked(agent.config, tools)).model_copy(
                update={"containment": agent.posture.containment}
            ),
            mounts=_mounts(agent.resources),
            **web.fields(tools),
            **delegated.limits(),
        )
        prepared = sealed(package, context.prompt, compiled, history, run, executor)
        told = {"context_cursor": context.cursor, "context_shown": context.shown}
        return PreparedRun(
            prepared.package,
            prepared.snapshot,
            prepared.texts,
            prepared.facts,
            prepared.started | told,
        )

    def _inputs(
        self,
        run: ClaimedRun,
        compiled: Compiled,
        agent: _Agent,
        tools: tuple[str, ...],
        history: list[HistoryRow],
    ) -> ContextInputs:
        from holaboss_runtime.runs.agent_context.model import ContextInputs

        session_id = run.session.session_id
        events = [self._event(taken) for taken in run.inputs]
        latest = self._records.turns.latest(session_id)
        checkpoint = self._records.checkpoints.get(session_id)
        learned = self._records.learnings.of_agent(str(run.session.agent_id), limit=RECENT_LEARNINGS)
        return ContextInputs(
            agent_id=compiled.name,
            session_id=session_id,
            now=utc_now(),
            provider=compiled.model.provider_name,
            model=compiled.model.model_id,
            environment=agent.environment.name,
            posture=agent.posture.describe(),
            substrate=agent.substrate,
            resources=agent.resources,
            tools=tuple((name, _use(agent.config, name)) for name in tools),
            previous_stop_reason=run.session.stop_reason,
            parent_session_id=run.session.parent_session_id,
            pending=tuple(sorted(events, key=lambda event: event.seq)),
            # Without its conversation the executor has no call left to answer, so the model is told instead.
            decided=frozenset(self._decided(run) if history else ()),
            due_wakes=tuple(_due(events)),
            open_actions=tuple(action.wire() for action in self._records.actions.open(session_id)),
            checkpoint=checkpoint.document if checkpoint else None,
            notes=checkpoint.notes if checkpoint else {},
            learnings=tuple(found.title for found in reversed(learned)),
            previous=tuple(self._records.events.select(session_id, limit=RECENT_EVENTS)),
            executor_remembers=bool(history) and (latest is None or history[-1].seq >= latest[0]),
            remembered_seq=self._records.events.last_seq_of_turn(history[-1].seq) if history else 0,
        )

    def _event(self, taken: InputRecord) -> SessionEvent:
        event = self._records.events.get(taken.input_id)
        if event is None:
            raise RuntimeError(f"input {taken.input_id} has no event")
        # A waiting message that was edited says what its input says now.
        return event.model_copy(update={"payload": taken.payload})

    def _decided(self, run: ClaimedRun) -> list[str]:
        """Events whose decision the executor gets as the answer of a call."""
        answered = {action.id for action in run.decisions if action.call_id is not None}
        return [taken.input_id for taken in run.inputs if taken.payload.get("request_id") in answered]


def _due(events: Sequence[SessionEvent]) -> list[ScheduledWake]:
    """What an imported log says in a shape of its own is in the words of its event."""
    found: list[ScheduledWake] = []
    for event in events:
        listed: object = event.payload.get("wakes") if event.type == Event.SESSION_WAKE_DUE else None
        known = {"session_id": event.session_id, "created_at": event.created_at}
        for wake in cast("list[object]", listed) if isinstance(listed, list) else []:
            if isinstance(wake, dict):
                with suppress(ValidationError):
                    found.append(ScheduledWake.model_validate(cast("dict[str, Any]", wake) | known))
    return found


def _use(config: AgentConfig, tool: str) -> ToolUse:
    return "always_ask" if config.tools.asks(tool) else "always_allow"


def _asked(config: AgentConfig, tools: Sequence[str]) -> list[PermissionRule]:
    asked = [name for name in tools if config.tools.asks(name)]
    return [PermissionRule(effect="always_ask", tool=name, source="agent") for name in asked]


def _mounts(resources: Sequence[ResourceAttachment]) -> list[Mount]:
    return [Mount(mount_path=one.mount_path, source=one.source_ref, access=one.access) for one in resources]
