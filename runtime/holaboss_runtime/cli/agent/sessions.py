"""`agent session …`: making sessions, reading them, and appending what a person or a program has to say."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any, cast

from holaboss_client.agents import AppendedEvent, AppendEvent, AttachResource, CreateAgentSession
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.sessions import Session, SessionList, SessionState
from holaboss_runtime.agents.definition import AgentConfig
from holaboss_runtime.agents.environments import LOCAL_DEFAULT
from holaboss_runtime.cli.agent.answer import Answer, bullets, shown
from holaboss_runtime.cli.agent.desk import Desk
from holaboss_runtime.cli.agent.lines import activation_line, event_line
from holaboss_runtime.cli.agent.status import status_lines
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.activations import KINDS
from holaboss_runtime.store.pending_actions import TOOL_CONFIRMATION

NO_SESSIONS = "session list: (empty)"
SERVER_TAKES_IT = "A server works here: it takes this up by itself."
NO_ANSWER = 'An answer needs --text "…", or --option with a label the question names.'
NO_TEXT = 'A message needs some text: --message "…".'


async def create(desk: Desk, args: Namespace) -> Answer:
    """The agent and the default environment are made when they do not exist."""
    body = CreateAgentSession(
        agent_id=args.agent,
        session_id=args.session,
        environment_id=args.environment,
        title=args.title,
        parent_session_id=args.parent,
    )
    session = desk.sessions.agent_directory.create(body, created_by="cli")
    await desk.changed()
    status = desk.sessions.views.status(session.session_id).status
    named = bullets(
        session=session.session_id,
        agent=session.agent_id,
        environment=session.environment_id or LOCAL_DEFAULT,
        status=status,
    )
    return Answer(["session created", *named], session)


async def list_sessions(desk: Desk, args: Namespace) -> Answer:
    """Sessions of one agent, or of all, each agent's most recently used ones first."""
    agents = desk.services.agents
    if args.agent is not None:
        agent_ids = [agents.record(args.agent).agent_id]
    else:
        agent_ids = [agent.agent_id for agent in agents.list().items]
    records = desk.sessions.records.sessions
    found = [record.wire() for name in agent_ids for record in records.of_agent(name, limit=args.limit)]
    lines = ["session list:", *(_line(desk, session) for session in found)] if found else [NO_SESSIONS]
    return Answer(lines, SessionList(items=found, count=len(found)))


async def send(desk: Desk, args: Namespace) -> Answer:
    if args.message is None or not args.message.strip():
        raise DomainError("unprocessable", "text_required", NO_TEXT)
    return await _append(desk, args, Event.USER_MESSAGE, {"text": args.message})


async def interrupt(desk: Desk, args: Namespace) -> Answer:
    return await _append(desk, args, Event.USER_INTERRUPT, {"note": args.note})


async def confirm_tool(desk: Desk, args: Namespace) -> Answer:
    payload = _about(args) | {"allowed": args.allowed == "true", "note": args.note}
    if args.input is not None:
        payload["input"] = _object(args.input)
    if args.remember is not None:
        payload["remember"] = _suggestion(desk, args)
    return await _append(desk, args, Event.USER_TOOL_CONFIRMATION, payload)


async def answer(desk: Desk, args: Namespace) -> Answer:
    if args.text is None and not args.option:
        raise DomainError("unprocessable", "answer_required", NO_ANSWER)
    options: list[str] = args.option or []
    said: object = {"options": options, "text": args.text or ""} if options else args.text
    return await _append(desk, args, Event.USER_CUSTOM_TOOL_RESULT, _about(args) | {"output": said})


async def custom_tool_result(desk: Desk, args: Namespace) -> Answer:
    return await _append(desk, args, Event.USER_CUSTOM_TOOL_RESULT, _about(args) | {"output": args.output})


async def status(desk: Desk, args: Namespace) -> Answer:
    found = desk.sessions.views.status(args.session)
    return Answer(status_lines(found, _config(desk, found.agent_id), args.program), found)


async def events(desk: Desk, args: Namespace) -> Answer:
    desk.sessions.directory.get(args.session)
    page = desk.sessions.views.events(args.session, limit=args.limit)
    return Answer([f"session events: {args.session}", *map(event_line, page.items)], page)


async def pause(desk: Desk, args: Namespace) -> Answer:
    session = desk.sessions.directory.get(args.session)
    desk.sessions.control.pause(session.workspace_id, args.session)
    return await _steered(desk, args, "session paused")


async def resume(desk: Desk, args: Namespace) -> Answer:
    session = desk.sessions.directory.get(args.session)
    desk.sessions.control.resume(session.workspace_id, args.session)
    return await _steered(desk, args, "session resumed")


async def terminate(desk: Desk, args: Namespace) -> Answer:
    desk.sessions.control.terminate(args.session)
    return await _steered(desk, args, "session terminated")


async def attach(desk: Desk, args: Namespace) -> Answer:
    body = AttachResource(
        source_ref=args.path, mount_path=args.mount, access=args.access, prompt=args.prompt or ""
    )
    resource = desk.sessions.agent_directory.attach(args.session, body, base=Path.cwd())
    await desk.changed()
    named = bullets(
        session=args.session,
        resource=resource.id,
        source=resource.source_ref,
        mount=resource.mount_path,
        access=resource.access,
    )
    return Answer(["resource attached", *named], resource)


async def activation_events(desk: Desk, args: Namespace) -> Answer:
    """The claim journal of an agent, the newest lines, oldest first."""
    kinds = [
        name.strip().removeprefix("activation.") for name in (args.kind or "").split(",") if name.strip()
    ]
    for kind in kinds:
        if kind not in KINDS:
            known = ", ".join(KINDS)
            raise DomainError(
                "invalid", "kind_unknown", f"There is no activation kind {kind!r}. There are: {known}."
            )
    agent_id = desk.services.agents.record(args.agent).agent_id
    found = desk.sessions.records.activations.select(
        agent_id, session_id=args.session, claim_id=args.claim, kinds=kinds, limit=args.limit
    )
    lines = [f"activation events: {agent_id}", *map(activation_line, found)]
    return Answer(lines, {"items": [one.model_dump(mode="json") for one in found], "count": len(found)})


async def _append(desk: Desk, args: Namespace, event_type: str, payload: dict[str, Any]) -> Answer:
    key = getattr(args, "idempotency_key", None)
    body = AppendEvent(type=event_type, payload=payload, idempotency_key=key)
    appended = desk.sessions.control.append(args.session, body)
    await desk.changed()
    remarks = [SERVER_TAKES_IT] if desk.beside_server else []
    return Answer(_appended_lines(appended), appended, remarks=remarks)


def _appended_lines(appended: AppendedEvent) -> list[str]:
    event = appended.event
    about = {
        word: event.payload[name]
        for word, name in (("request", "request_id"), ("tool", "tool_name"), ("allowed", "allowed"))
        if name in event.payload
    }
    return ["session event appended", *bullets(session=event.session_id, event=event.type, **about)]


def _about(args: Namespace) -> dict[str, Any]:
    return {} if args.request is None else {"request_id": args.request}


def _object(text: str) -> dict[str, Any]:
    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise DomainError("invalid", "input_invalid", f"--input is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise DomainError("invalid", "input_invalid", "--input is a JSON object: the arguments of the call.")
    return cast("dict[str, Any]", found)


def _suggestion(desk: Desk, args: Namespace) -> dict[str, Any]:
    """The rule that a request suggests under a number."""
    desk.sessions.directory.get(args.session)
    waiting = [
        action
        for action in desk.sessions.views.actions(args.session, only_open=True).items
        if args.request in (None, action.id) and action.kind == TOOL_CONFIRMATION
    ]
    if len(waiting) != 1:
        return {}  # refused by whoever decides, with the reason
    suggestions, wanted = waiting[0].suggestions, int(args.remember)
    if wanted > len(suggestions):
        raise DomainError(
            "unprocessable",
            "suggestion_unknown",
            f"Request {waiting[0].id} suggests {len(suggestions)} rules; `agent session status` lists them.",
        )
    return suggestions[wanted - 1].model_dump(exclude_none=True)


async def _steered(desk: Desk, args: Namespace, what: str) -> Answer:
    await desk.changed()
    session = desk.sessions.directory.get(args.session)
    state: SessionState = desk.sessions.control.state(session.workspace_id, args.session)
    named = bullets(
        session=args.session, status=state.status, runtimeStatus=state.runtime_status, hold=state.hold
    )
    return Answer([what, *named], state)


def _config(desk: Desk, agent_id: str) -> AgentConfig | None:
    try:
        return desk.services.agents.config(agent_id)
    except DomainError:
        return None


def _line(desk: Desk, session: Session) -> str:
    found = desk.sessions.views.status(session.session_id)
    title = "" if session.title is None else f" {shown(session.title)}"
    return f"- {session.session_id} agent={session.agent_id} status={found.status} turns={found.turns}{title}"
