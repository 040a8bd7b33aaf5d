"""The calls of the session core: agents, typed events, wakes, decisions, and what runs left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holaboss_client import agents as a
from holaboss_client import inspection as i
from holaboss_client.sessions import SessionList, SessionState
from holaboss_client.transport import Transport
from holaboss_client.transport import segment as _segment


def _session(session_id: str, rest: str) -> str:
    return f"/agent-sessions/{_segment(session_id)}/{rest}"


def _given(**params: Any) -> dict[str, Any]:  # noqa: ANN401
    return {name: value for name, value in params.items() if value is not None}


class AgentCalls(Transport):
    # Agents and environments

    async def agents(self) -> a.AgentList:
        return await self._get(a.AgentList, "/agents")

    async def create_agent(self, body: a.CreateAgent) -> a.AgentDefinition:
        return await self._call(a.AgentDefinition, "POST", "/agents", json=body.model_dump(exclude_none=True))

    async def agent(self, agent_id: str) -> a.AgentDefinition:
        return await self._get(a.AgentDefinition, f"/agents/{_segment(agent_id)}")

    async def agent_sessions(
        self, agent_id: str, *, include_archived: bool = False, limit: int = 100
    ) -> SessionList:
        params = {"agent_id": agent_id, "include_archived": str(include_archived).lower(), "limit": limit}
        return await self._get(SessionList, "/agent-sessions", **params)

    async def activations(
        self,
        agent_id: str,
        *,
        session_id: str | None = None,
        claim_id: str | None = None,
        kind: str | None = None,
        limit: int = 100,
    ) -> a.ActivationList:
        params = _given(session_id=session_id, claim_id=claim_id, kind=kind, limit=limit)
        return await self._get(a.ActivationList, f"/agents/{_segment(agent_id)}/activations", **params)

    async def environments(self) -> a.EnvironmentList:
        return await self._get(a.EnvironmentList, "/environments")

    async def create_environment(self, body: a.CreateEnvironment) -> a.Environment:
        return await self._call(
            a.Environment, "POST", "/environments", json=body.model_dump(exclude_none=True)
        )

    async def environment(self, environment_id: str) -> a.Environment:
        return await self._get(a.Environment, f"/environments/{_segment(environment_id)}")

    # Events and status

    async def append_event(self, session_id: str, body: a.AppendEvent) -> a.AppendedEvent:
        return await self._call(
            a.AppendedEvent,
            "POST",
            _session(session_id, "events"),
            json=body.model_dump(exclude_none=True, exclude={"payload"}) | {"payload": body.payload},
        )

    async def session_events(
        self,
        session_id: str,
        *,
        after_seq: int | None = None,
        before_seq: int | None = None,
        types: Sequence[str] = (),
        wake_id: str | None = None,
        limit: int = 100,
    ) -> a.SessionEventPage:
        params = _given(
            after_seq=after_seq,
            before_seq=before_seq,
            types=",".join(types) or None,
            wake_id=wake_id,
            limit=limit,
        )
        return await self._get(a.SessionEventPage, _session(session_id, "events"), **params)

    async def session_status(self, session_id: str) -> a.SessionStatus:
        return await self._get(a.SessionStatus, _session(session_id, "status"))

    async def terminate(self, session_id: str) -> SessionState:
        return await self._call(SessionState, "POST", _session(session_id, "terminate"))

    # Wakes

    async def wake(self, session_id: str, *, reason: str = "manual", wait: bool = False) -> a.WakeReport:
        """With `wait` the answer comes when the run is over, however long that takes."""
        body = a.WakeRequest(reason=reason, wait=wait)
        path = _session(session_id, "wake")
        if wait:
            return await self._call(a.WakeReport, "POST", path, json=body.model_dump(), timeout=None)
        return await self._call(a.WakeReport, "POST", path, json=body.model_dump())

    async def scheduled_wakes(self, session_id: str) -> a.ScheduledWakeList:
        return await self._get(a.ScheduledWakeList, _session(session_id, "wakes"))

    async def schedule_wake(self, session_id: str, body: a.ScheduleWake) -> a.ScheduledWake:
        json = body.model_dump(exclude_none=True)
        return await self._call(a.ScheduledWake, "POST", _session(session_id, "wakes"), json=json)

    async def cancel_wake(self, session_id: str, wake_id: str) -> a.ScheduledWake:
        path = _session(session_id, f"wakes/{_segment(wake_id)}")
        return await self._call(a.ScheduledWake, "DELETE", path)

    # What waits for a person, and what a session may reach

    async def pending_actions(self, session_id: str, *, only_open: bool = False) -> a.PendingActionList:
        params = {"status": "open"} if only_open else {}
        return await self._get(a.PendingActionList, _session(session_id, "pending-actions"), **params)

    async def decide_action(self, session_id: str, action_id: str, body: a.DecideAction) -> a.AppendedEvent:
        path = _session(session_id, f"pending-actions/{_segment(action_id)}")
        return await self._call(a.AppendedEvent, "POST", path, json=body.model_dump(exclude_unset=True))

    async def resources(self, session_id: str) -> a.ResourceList:
        return await self._get(a.ResourceList, _session(session_id, "resources"))

    async def attach_resource(self, session_id: str, body: a.AttachResource) -> a.ResourceAttachment:
        json = body.model_dump(exclude_none=True)
        return await self._call(a.ResourceAttachment, "POST", _session(session_id, "resources"), json=json)

    # What runs left behind

    async def turn_results(
        self, session_id: str, *, before_seq: int | None = None, limit: int = 50
    ) -> i.TurnResultList:
        params = _given(before_seq=before_seq, limit=limit)
        return await self._get(i.TurnResultList, _session(session_id, "turn-results"), **params)

    async def request_snapshots(
        self, session_id: str, *, before: str | None = None, limit: int = 20
    ) -> i.RequestSnapshotList:
        params = _given(before=before, limit=limit)
        return await self._get(i.RequestSnapshotList, _session(session_id, "request-snapshots"), **params)

    async def compaction_boundaries(
        self, session_id: str, *, before_seq: int | None = None, limit: int = 20
    ) -> i.BoundaryList:
        params = _given(before_seq=before_seq, limit=limit)
        return await self._get(i.BoundaryList, _session(session_id, "compaction-boundaries"), **params)

    async def resume_context(self, session_id: str) -> i.ResumeContext:
        return await self._get(i.ResumeContext, _session(session_id, "resume-context"))

    async def search(
        self,
        workspace_id: str,
        query: str,
        *,
        session_id: str | None = None,
        before: str | None = None,
        limit: int = 20,
    ) -> i.SearchHits:
        params = _given(q=query, session_id=session_id, before=before, limit=limit)
        return await self._get(i.SearchHits, f"/workspaces/{_segment(workspace_id)}/search", **params)

    # The store

    async def rebuild_projections(self, agent_id: str | None = None) -> i.RebuiltProjections:
        body = i.RebuildProjections(agent_id=agent_id).model_dump(exclude_none=True)
        return await self._call(i.RebuiltProjections, "POST", "/store/rebuild-projections", json=body)

    async def import_tree(self) -> i.ImportedTree:
        return await self._call(i.ImportedTree, "POST", "/store/import")
