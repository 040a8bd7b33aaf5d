"""A runtime in memory: sessions, a queue, turns and a live stream, with the methods the chat uses.

It is an implementation and not a recording: what is queued runs when the test says so, and everything is kept, so that
a second client finds what the first one left. It can be away, refuse, or answer late.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from holaboss_client import agents as a
from holaboss_client import config as c
from holaboss_client import permissions as p
from holaboss_client import sessions as s
from holaboss_client import undo as u
from holaboss_client.attachments import MessageAttachment, StagedAttachment
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent, OutputEvent
from holaboss_client.problems import Problem, ProblemError, RuntimeUnreachableError
from holaboss_client.workspaces import FileContent, Workspace
from tests.support.conversations import Events, turn

NOW = "2026-01-02T10:00:00.000Z"


def workspace(name: str = "one", **more: Any) -> Workspace:
    return Workspace(
        id=f"w-{name}",
        name=name,
        status="active",
        harness="native",
        created_at=NOW,
        updated_at=NOW,
        workspace_path=f"/{name}",
        **more,
    )


def catalogue(*, connected: bool = True) -> c.ProviderCatalogue:
    def provider(provider_id: str, name: str, models: list[str]) -> c.ProviderView:
        return c.ProviderView(
            id=provider_id,
            name=name,
            kind="openai_compatible",
            connected=connected,
            base_url="",
            effective_url="",
            models=models,
        )

    return c.ProviderCatalogue(
        providers=[
            provider("openai_direct", "OpenAI", ["gpt-5", "gpt-5-mini"]),
            provider("demo", "Demo model (offline, scripted)", ["scripted"]),
        ],
        default_provider="openai_direct",
        default_model="openai_direct/gpt-5",
        background_tasks=c.ModelTarget(),
    )


@dataclass
class FakeSession:
    session: s.Session
    turns: list[s.Turn] = field(default_factory=list)
    queued: list[s.QueuedInput] = field(default_factory=list)
    live: Events | None = None
    log: list[OutputEvent] = field(default_factory=list)
    listeners: list[asyncio.Queue[OutputEvent | None]] = field(default_factory=list)
    status: str = "idle"
    """What the row of a session says: `idle`, `rescheduling` or `requires_action`."""
    hold: bool = False
    last_error: dict[str, Any] | None = None
    actions: list[a.PendingAction] = field(default_factory=list[a.PendingAction])


class World:
    """What is kept while clients come and go."""

    def __init__(self) -> None:
        self.sessions: dict[str, FakeSession] = {}
        self.by_key: dict[str, str] = {}
        self.requests: list[s.QueueRequest] = []
        self.calls: list[str] = []
        self.event_id = 0
        self.away = False
        self.refusal: str | None = None
        self.lose_replies = False
        """Messages are taken, but the answer never arrives."""
        self.gate: asyncio.Event | None = None
        """While it is set to an unset event, every answer waits for it."""
        self.changes = 0
        self.turn_changes: dict[str, u.TurnChanges] = {}
        self.files: dict[str, bytes] = {}
        """What was staged, and what the files of the workspace hold, by path."""
        self.full = ""
        """Why the runtime takes no file, when it does not."""
        self.decisions: list[tuple[str, dict[str, Any]]] = []
        self.permissions = p.WorkspacePermissions(
            workspace_id="w-one",
            profile="ask",
            unattended_profile="unattended",
            profiles=[
                p.PermissionProfile(id="ask", title="Ask first", summary="Asks before it changes things."),
                p.PermissionProfile(id="trusted", title="Trusted", summary="Asks rarely."),
            ],
            rules=[p.KeptRule(id="r1", created_at=NOW, tool="bash", command="git push")],
            containment="bubblewrap",
        )

    def session(self, workspace_id: str, session_id: str, title: str | None = None) -> FakeSession:
        if session_id not in self.sessions:
            self.sessions[session_id] = FakeSession(
                s.Session(
                    workspace_id=workspace_id,
                    session_id=session_id,
                    kind="workspace_session",
                    title=title,
                    created_by="workspace_user",
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        return self.sessions[session_id]

    def publish(self, session: FakeSession, event: OutputEvent) -> None:
        self.event_id += 1
        event = event.model_copy(update={"id": self.event_id, "session_id": session.session.session_id})
        session.log.append(event)
        last = session.turns[-1]
        session.turns[-1] = last.model_copy(update={"events": [*last.events, event]})
        for listener in session.listeners:
            listener.put_nowait(event)

    def claim(self, session: FakeSession) -> Events:
        """Begin the oldest waiting input."""
        item = session.queued.pop(0)
        session.last_error = None
        seq = sum(len(each.turns) for each in self.sessions.values()) + 1
        events = session.live = Events(item.input_id)
        session.turns.append(
            turn(seq, item.text, [events.event("nothing")]).model_copy(
                update={"events": [], "attachments": item.attachments}
            )
        )
        self.publish(session, events.event("run_claimed", instruction_preview=item.text[:40]))
        self.publish(session, events.event("run_started", provider_id="demo", model_id="scripted"))
        return events

    def say(self, session: FakeSession, text: str) -> None:
        assert session.live is not None
        self.publish(session, session.live.delta(text))

    def finish(self, session: FakeSession, status: str = "success") -> None:
        assert session.live is not None
        events, session.live = session.live, None
        session.status = "requires_action" if status == "waiting_user" else "idle"
        session.hold = session.hold and (status == "paused" or bool(session.queued))
        self.publish(session, events.completed(status))

    def fail(self, session: FakeSession, code: str, message: str) -> None:
        assert session.live is not None
        events, session.live = session.live, None
        session.status, session.last_error = "idle", {"code": code, "message": message}
        session.hold = session.hold and bool(session.queued)
        self.publish(session, events.failed(code, message))

    def miss_key(self, session: FakeSession, provider_id: str) -> None:
        """What waits cannot begin before a person has added a key."""
        session.status = "rescheduling"
        session.last_error = {"code": "provider_key_missing", "provider_id": provider_id, "message": "…"}

    def ask(self, session: FakeSession, action_id: str, kind: str, tool: str, **more: Any) -> None:
        """Something waits for a person from now on."""
        action = a.PendingAction(
            id=action_id,
            session_id=session.session.session_id,
            kind=kind,
            tool_name=tool,
            status="open",
            requested_at=NOW,
            **more,
        )
        session.actions.append(action)
        session.status = "requires_action"

    def _word(self, session: FakeSession, *, queued_beats_pause: bool) -> str:
        if session.live:
            return "BUSY"
        if session.status == "requires_action":
            return "WAITING_USER"
        if session.status == "idle" and session.last_error:
            return "ERROR"
        if session.queued and (queued_beats_pause or not session.hold):
            return "QUEUED"
        return "PAUSED" if session.hold else "IDLE"

    def state(self, session: FakeSession) -> s.SessionState:
        running = session.live.input_id if session.live else None
        return s.SessionState(
            workspace_id=session.session.workspace_id,
            session_id=session.session.session_id,
            effective_state=self._word(session, queued_beats_pause=True),
            runtime_status=self._word(session, queued_beats_pause=False),
            current_input_id=running or (session.queued[0].input_id if session.queued else None),
            has_queued_inputs=bool(session.queued),
            hold="user_pause" if session.hold else None,
            last_error=session.last_error,
            open_actions=len(session.actions),
        )

    def change(self, kind: Change, session: FakeSession) -> ChangeEvent:
        self.changes += 1
        payload = self.state(session).model_dump() if kind == Change.SESSION_STATE else {}
        return ChangeEvent(
            id=self.changes,
            kind=kind,
            workspace_id=session.session.workspace_id,
            session_id=session.session.session_id,
            created_at=NOW,
            payload=payload,
        )


class FakeRuntime(RuntimeClient):
    def __init__(self, world: World) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self.world = world

    async def _answer(self, call: str) -> None:
        self.world.calls.append(call)
        await asyncio.sleep(0)
        if self.world.gate is not None:
            await self.world.gate.wait()
        if self.world.away:
            raise RuntimeUnreachableError("The runtime does not answer.")
        if self.world.refusal is not None:
            raise ProblemError(
                Problem(title="Refused", status=409, detail=self.world.refusal, code="refused")
            )

    async def ensure_main_session(self, workspace_id: str) -> s.Session:
        await self._answer("ensure")
        return self.world.session(workspace_id, f"main-{workspace_id}").session

    async def sessions(self, workspace_id: str, *, include_archived: bool = False) -> s.SessionList:
        await self._answer("sessions")
        items = [x.session for x in self.world.sessions.values() if x.session.workspace_id == workspace_id]
        return s.SessionList(items=items, count=len(items))

    async def session_states(self, workspace_id: str) -> s.SessionStateList:
        await self._answer("states")
        known = [x for x in self.world.sessions.values() if x.session.workspace_id == workspace_id]
        return s.SessionStateList(items=[self.world.state(x) for x in known], count=len(known))

    async def create_session(self, body: s.CreateSession) -> s.Session:
        await self._answer("create")
        return self.world.session(body.workspace_id, f"s{len(self.world.sessions)}").session

    async def turn_index(self, workspace_id: str, session_id: str) -> s.TurnIndex:
        await self._answer(f"index {session_id}")
        session = self.world.session(workspace_id, session_id)
        rows = [(t.seq, t.input_id, len(t.text), 1, 200, 5, 0) for t in session.turns]
        return s.TurnIndex(
            session_id=session_id,
            rows=rows,
            live_input_id=session.live.input_id if session.live else None,
            queued=list(session.queued),
            last_event_id=self.world.event_id,
        )

    async def turns(self, workspace_id: str, session_id: str, *, from_seq: int, limit: int) -> s.TurnPage:
        await self._answer("turns")
        session = self.world.session(workspace_id, session_id)
        items = [t for t in session.turns if t.seq >= from_seq][:limit]
        return s.TurnPage(items=items, last_event_id=self.world.event_id)

    async def queue(self, body: s.QueueRequest) -> s.QueueReply:
        await self._answer("queue")
        self.world.requests.append(body)
        key = body.idempotency_key or ""
        session = self.world.session(body.workspace_id, body.session_id or "")
        if key not in self.world.by_key:
            self.world.by_key[key] = f"input-{len(self.world.by_key) + 1}"
            waiting = s.QueuedInput(
                input_id=self.world.by_key[key],
                text=body.text,
                status="QUEUED",
                created_at=NOW,
                attachments=[MessageAttachment.model_validate(item) for item in body.attachments],
            )
            session.queued.append(waiting)
            session.status, session.hold, session.last_error = "rescheduling", False, None
        if self.world.lose_replies:
            raise RuntimeUnreachableError("The connection was lost.")
        return s.QueueReply(
            input_id=self.world.by_key[key],
            session_id=session.session.session_id,
            status="QUEUED",
            effective_state="QUEUED",
            runtime_status="QUEUED",
            current_input_id=None,
            has_queued_inputs=True,
        )

    async def stage_attachment(
        self, workspace_id: str, name: str, content: bytes, *, batch: str | None = None
    ) -> StagedAttachment:
        await self._answer(f"stage {name}")
        if self.world.full:
            raise ProblemError(
                Problem(title="Too large", status=413, detail=self.world.full, code="too_large")
            )
        path = f".holaboss/input-attachments/{len(self.world.calls)}/{name}"
        self.world.files[path] = content
        kind = "image" if name.endswith(".png") else "file"
        return StagedAttachment(workspace_path=path, name=name, kind=kind, size=len(content), batch="b")

    async def discard_attachment(self, workspace_id: str, workspace_path: str) -> None:
        await self._answer(f"discard {workspace_path}")
        self.world.files.pop(workspace_path, None)

    async def file(self, workspace_id: str, path: str) -> FileContent:
        await self._answer(f"file {path}")
        if path not in self.world.files:
            raise ProblemError(
                Problem(title="Missing", status=404, detail="It is not there.", code="missing")
            )
        content = self.world.files[path]
        return FileContent(
            path=path,
            content=base64.b64encode(content).decode(),
            encoding="base64",
            size=len(content),
            sha256="",
        )

    async def edit_input(self, session_id: str, input_id: str, body: s.EditInput) -> s.InputReply:
        await self._answer("edit")
        session = self.world.sessions[session_id]
        session.queued = [
            item.model_copy(update={"text": body.text}) if item.input_id == input_id else item
            for item in session.queued
        ]
        return s.InputReply(input_id=input_id, session_id=session_id, status="QUEUED")

    async def cancel_input(self, workspace_id: str, session_id: str, input_id: str) -> s.InputReply:
        await self._answer("cancel")
        session = self.world.sessions[session_id]
        session.queued = [item for item in session.queued if item.input_id != input_id]
        return s.InputReply(input_id=input_id, session_id=session_id, status="DONE")

    async def pause(self, workspace_id: str, session_id: str) -> s.InputReply:
        await self._answer("pause")
        session = self.world.sessions[session_id]
        session.hold = True
        input_id = session.live.input_id if session.live else ""
        return s.InputReply(input_id=input_id, session_id=session_id, status="PAUSING")

    async def resume(self, workspace_id: str, session_id: str) -> s.SessionState:
        await self._answer("resume")
        session = self.world.sessions[session_id]
        session.hold = False
        return self.world.state(session)

    async def pending_actions(self, session_id: str, *, only_open: bool = False) -> a.PendingActionList:
        await self._answer("actions")
        waiting = list(self.world.sessions[session_id].actions)
        return a.PendingActionList(items=waiting, count=len(waiting))

    async def decide_action(self, session_id: str, action_id: str, body: a.DecideAction) -> a.AppendedEvent:
        await self._answer("decide")
        session = self.world.sessions[session_id]
        if action_id not in [action.id for action in session.actions]:
            problem = Problem(title="Decided", status=409, detail="It was allowed.", code="action_not_open")
            raise ProblemError(problem)
        session.actions = [action for action in session.actions if action.id != action_id]
        self.world.decisions.append((action_id, body.model_dump(exclude_unset=True)))
        return a.AppendedEvent.model_construct()

    async def permissions(self, workspace_id: str) -> p.WorkspacePermissions:
        await self._answer("permissions")
        return self.world.permissions.model_copy(update={"workspace_id": workspace_id})

    async def set_permissions(self, workspace_id: str, body: p.SetPermissions) -> p.WorkspacePermissions:
        await self._answer("set permissions")
        self.world.permissions = self.world.permissions.model_copy(update=body.model_dump(exclude_none=True))
        return self.world.permissions

    async def remove_rule(self, workspace_id: str, rule_id: str) -> p.WorkspacePermissions:
        await self._answer("remove rule")
        left = [rule for rule in self.world.permissions.rules if rule.id != rule_id]
        self.world.permissions = self.world.permissions.model_copy(update={"rules": left})
        return self.world.permissions

    async def turn_changes(
        self, workspace_id: str, *, session_id: str | None = None, limit: int = 50
    ) -> u.TurnChangesList:
        await self._answer("changes")
        items = [each for each in self.world.turn_changes.values() if each.session_id == session_id]
        return u.TurnChangesList(items=items[:limit], total=len(items))

    async def undo(self, workspace_id: str, input_id: str, body: u.UndoRequest | None = None) -> u.UndoReply:
        await self._answer("undo")
        return self._moved(input_id, "undone")

    async def redo(self, workspace_id: str, input_id: str, body: u.UndoRequest | None = None) -> u.UndoReply:
        await self._answer("redo")
        return self._moved(input_id, "applied")

    def _moved(self, input_id: str, state: str) -> u.UndoReply:
        turn = self.world.turn_changes[input_id].model_copy(update={"state": state})
        self.world.turn_changes[input_id] = turn
        return u.UndoReply(turn=turn, paths=[file.path for file in turn.files])

    async def output_stream(
        self, workspace_id: str, session_id: str, *, after_event_id: int | None = None, **_: Any
    ) -> AsyncIterator[OutputEvent | None]:
        session = self.world.session(workspace_id, session_id)
        self.world.calls.append(f"stream after {after_event_id}")
        feed: asyncio.Queue[OutputEvent | None] = asyncio.Queue()
        session.listeners.append(feed)
        try:
            yield None
            for event in [event for event in session.log if event.id > (after_event_id or 0)]:
                yield event
            while True:
                yield await feed.get()
        finally:
            session.listeners.remove(feed)
