"""Terminals: started, found, typed into, closed; and what happens in one, over a WebSocket."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect
from pydantic import Field

from holaboss_client import terminals as t
from holaboss_runtime.api.problems import STATUS, ProblemResponse, problem
from holaboss_runtime.api.state import RuntimeState, State
from holaboss_runtime.errors import DomainError

router = APIRouter(prefix="/api/v1/terminal-sessions")

_LARGEST = 2**53
_STATUSES = Annotated[str, Field(pattern=r"^[a-z]{1,20}(,[a-z]{1,20}){0,9}$")]
_OVER, _FAILED = 1000, 1011


@router.post("", status_code=201)
async def start_terminal(state: State, body: t.StartTerminal) -> t.Terminal:
    return await state.terminals.start(body)


@router.get("")
async def list_terminals(
    state: State, workspace_id: str, session_id: str | None = None, status: _STATUSES | None = None
) -> t.TerminalList:
    """The newest first; `status` is a list with commas."""
    statuses = status.split(",") if status is not None else ()
    return state.terminals.list(workspace_id, session_id=session_id, statuses=statuses)


@router.get("/{terminal_id}")
async def get_terminal(state: State, terminal_id: str) -> t.Terminal:
    return state.terminals.get(terminal_id)


@router.get("/{terminal_id}/events")
async def terminal_events(
    state: State,
    terminal_id: str,
    after_sequence: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> t.TerminalEvents:
    return state.terminals.events(terminal_id, after_sequence=after_sequence, limit=limit)


@router.post("/{terminal_id}/input")
async def send_input(state: State, terminal_id: str, body: t.TerminalInput) -> t.Terminal:
    return await state.terminals.send(terminal_id, body.data)


@router.post("/{terminal_id}/resize")
async def resize_terminal(state: State, terminal_id: str, body: t.ResizeTerminal) -> t.Terminal:
    return state.terminals.resize(terminal_id, body.cols, body.rows)


@router.post("/{terminal_id}/signal")
async def signal_terminal(state: State, terminal_id: str, body: t.SignalTerminal) -> t.Terminal:
    return state.terminals.signal(terminal_id, body.signal)


@router.post("/{terminal_id}/close")
async def close_terminal(state: State, terminal_id: str) -> t.Terminal:
    return await state.terminals.close_one(terminal_id)


@router.get("/{terminal_id}/stream", status_code=426, response_class=ProblemResponse)
async def stream_needs_upgrade(terminal_id: str) -> ProblemResponse:
    """What happens in a terminal is followed over a WebSocket at this address."""
    return problem(
        426, "upgrade_required", "Connect to this address with a WebSocket.", headers={"upgrade": "websocket"}
    )


@router.websocket("/{terminal_id}/stream")
async def stream_terminal(
    socket: WebSocket, terminal_id: str, after_sequence: Annotated[int, Query(ge=0, le=_LARGEST)] = 0
) -> None:
    """`connected` with the terminal, then an `event` for each event after `after_sequence`, until it is over."""
    state: RuntimeState = socket.app.state.runtime
    try:
        terminal = state.terminals.get(terminal_id)
    except DomainError as error:
        await socket.send_denial_response(problem(STATUS[error.kind], error.code, error.detail))
        return
    await socket.accept()
    telling = asyncio.ensure_future(_tell(socket, state, terminal, after_sequence))
    leaving = asyncio.ensure_future(_left(socket))
    try:
        await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (telling, leaving):
            task.cancel()
        await asyncio.gather(telling, leaving, return_exceptions=True)


async def _tell(socket: WebSocket, state: RuntimeState, terminal: t.Terminal, after_sequence: int) -> None:
    try:
        await socket.send_json({"type": "connected", "terminal": terminal.model_dump(mode="json")})
        async with aclosing(state.terminals.follow(terminal.terminal_id, after_sequence)) as pages:
            async for events in pages:
                for event in events:
                    await socket.send_json({"type": "event", "event": event.model_dump(mode="json")})
        await socket.close(_OVER)
    except DomainError as error:
        await socket.send_json(_error(error))
        await socket.close(_FAILED)
    except WebSocketDisconnect:
        return


async def _left(socket: WebSocket) -> None:
    """Until the other side goes; what it says meanwhile is not for us."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _error(error: DomainError) -> dict[str, Any]:
    return {"type": "error", "code": error.code, "detail": error.detail}
