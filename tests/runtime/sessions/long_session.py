"""A session with a long past, written into the database as it would have been left, and what a call costs there."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import apsw

from holaboss_client.agents import CreateAgentSession
from holaboss_client.base import new_id
from tests.runtime.sessions.core import Core

EVENTS_PER_TURN = 5


def long_session(core: Core, events: int) -> str:
    """A new session of an agent with that many events in its log, and the inputs and wakes they come from."""
    made = core.sessions.agent_directory.create(CreateAgentSession(agent_id="scout"))
    with core.database.transaction():
        for number in range(events // EVENTS_PER_TURN):
            _turn(core, made.session_id, made.workspace_id, number)
    core.database.execute("DELETE FROM projection_outbox")
    return made.session_id


def _turn(core: Core, session: str, workspace: str, number: int) -> None:
    records = core.records
    input_id, payload = new_id(), {"text": f"question {number}"}
    records.events.append_pending(input_id, session, "user.message", payload)
    records.inputs.insert(input_id, session, workspace, payload)
    records.messages.insert(workspace, session, input_id, "user", f"question {number}")
    wake = records.wakes.begin(new_id(), session, [input_id], number)
    for event_type in ("span.started", "agent.tool_use", "agent.message", "span.completed"):
        records.events.append(session, event_type, {"summary": "x" * 100}, wake_id=wake.wake_id)
    records.events.mark_processed(input_id, wake.wake_id)
    records.inputs.settle(input_id, "DONE")
    records.wakes.end(wake.wake_id, result="success", stop_reason="success")
    records.scheduled.complete(
        records.scheduled.schedule(session, due_at="2026-01-01T00:00:00.000Z", reason="old"), "consumed"
    )
    core.database.execute(
        "UPDATE wakes SET continuity_owed = 0, evolve_owed = 0 WHERE wake_id = ?", (wake.wake_id,)
    )
    records.activations.append(
        "acked", claim_id=wake.wake_id, agent_id="scout", session_id=session, payload={}
    )


def sql_cost(core: Core, call: Callable[[], object]) -> tuple[int, int]:
    """How many statements a call runs, and how many steps of SQLite's machine they take together."""
    with counted(core) as steps:
        call()
    return len(steps), sum(steps)


@contextmanager
def counted(core: Core) -> Generator[list[int]]:
    """The steps of every statement that ends inside.

    A step is one instruction over one row or index entry: unlike time it is the same on every machine.
    """
    connection = cast(Any, core.database)._connection
    statements: list[int] = []

    def profile(event: dict[str, Any]) -> None:
        statements.append(int(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]))

    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, profile, id="cost")
    try:
        yield statements
    finally:
        connection.trace_v2(0, None, id="cost")
