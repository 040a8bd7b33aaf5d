"""What must be true of a database once everything has come to rest, however often its process was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holaboss_client.events import TERMINAL_EVENTS
from holaboss_runtime.sessions.projections.projector import Projector
from holaboss_runtime.sessions.state import derive_state, stored_status
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.records import Records

SETTLED = ("DONE", "FAILED", "PAUSED")


@dataclass(frozen=True, slots=True)
class Evidence:
    """`accepted` are the inputs whose sender got an answer, `executed` the approved calls that were really made."""

    folder: Path
    session_id: str
    accepted: list[str]
    executed: list[str]


def problems(evidence: Evidence) -> list[str]:
    database = Database.open(evidence.folder / "runtime.db")
    try:
        records = Records(database)
        return [
            *_inputs(database, records, evidence),
            *_sessions(database, records),
            *_calls(database, evidence),
            *_debts(database),
            *_files(records, evidence),
        ]
    finally:
        database.close()


def _inputs(database: Database, records: Records, evidence: Evidence) -> Iterator[str]:
    rows = database.rows("SELECT * FROM agent_session_inputs ORDER BY seq")
    known = {row["input_id"] for row in rows}
    yield from (f"accepted input {lost} is gone" for lost in set(evidence.accepted) - known)
    keys = Counter(row["idempotency_key"] for row in rows if row["idempotency_key"])
    yield from (f"{key} was entered {count} times" for key, count in keys.items() if count > 1)
    turns = {row["input_id"] for row in database.rows("SELECT input_id FROM turn_results")}
    ended = {
        row["wake_id"]: row
        for row in database.rows("SELECT * FROM wakes WHERE result IS NOT NULL AND result <> 'retry'")
    }
    members = database.rows("SELECT * FROM wake_inputs")
    yield from (
        f"turn {turn} has no wake that ended" for turn in turns - {w["lead_input_id"] for w in ended.values()}
    )
    for row in rows:
        yield from _input(database, records, row, turns, [m for m in members if m["wake_id"] in ended])


def _input(
    database: Database, records: Records, row: dict[str, Any], turns: set[str], members: list[dict[str, Any]]
) -> Iterator[str]:
    input_id, name = row["input_id"], f"input {row['input_id']} ({row['event_type']} {row['payload']})"
    if row["status"] not in SETTLED:
        yield f"{name} is {row['status']}"
        return
    runs = [member for member in members if member["input_id"] == input_id]
    if len(runs) != 1:
        yield f"{name} was settled by {len(runs)} runs"
        return
    leads = runs[0]["position"] == 0
    said = records.outputs.of_inputs([input_id])[input_id]
    terminals = [event for event in said if event.event_type in TERMINAL_EVENTS]
    if len(terminals) != int(leads) or (terminals and said[-1] is not terminals[0]):
        yield f"{name} has {len(terminals)} terminal events"
    if (input_id in turns) != leads:
        yield f"{name}: turn {input_id in turns}, lead {leads}"
    answers = database.scalar(
        "SELECT count(*) FROM session_events WHERE wake_id = ? AND type = 'agent.message'",
        (runs[0]["wake_id"],),
    )
    if answers > 1:
        yield f"{name} was answered {answers} times"
    spoken = database.scalar(
        "SELECT count(*) FROM session_messages WHERE input_id = ? AND role = 'assistant'", (input_id,)
    )
    if spoken > 1:
        yield f"{name} has {spoken} answers in the conversation"
    event = records.events.get(input_id)
    if event is None or event.processed_at is None or event.wake_id != runs[0]["wake_id"]:
        yield f"{name} is settled, and its event is not processed"


def _sessions(database: Database, records: Records) -> Iterator[str]:
    for row in database.rows("SELECT * FROM agent_sessions"):
        name = f"session {row['session_id']}"
        facts = records.facts.get(row["session_id"])
        assert facts is not None
        if row["lease_owner"] is not None or row["status"] in ("running", "rescheduling"):
            yield f"{name} is {row['status']}, leased by {row['lease_owner']}"
        if stored_status(facts) != "idle" or derive_state(facts).effective_state not in ("IDLE", "ERROR"):
            yield f"{name} is {stored_status(facts)} and {derive_state(facts).effective_state}"
    for row in database.rows("SELECT * FROM wakes WHERE ended_at IS NULL"):
        yield f"wake {row['wake_id']} never ended"
    for row in database.rows("SELECT * FROM session_wakes WHERE completed_at IS NULL"):
        yield f"delayed wake {row['reason']} still waits"
    doubled = database.rows(
        "SELECT reason, count(*) AS many FROM session_wakes GROUP BY session_id, dedupe_key HAVING many > 1"
    )
    yield from (f"delayed wake {row['reason']} was entered {row['many']} times" for row in doubled)


def _calls(database: Database, evidence: Evidence) -> Iterator[str]:
    yield from (f"call {call} was made {n} times" for call, n in Counter(evidence.executed).items() if n > 1)
    actions = database.rows("SELECT * FROM pending_actions")
    approved = {row["call_id"] for row in actions if row["status"] == "approved"}
    yield from (f"call {call} was made unasked" for call in set(evidence.executed) - approved)
    for row in actions:
        if row["status"] == "open":
            yield f"request {row['id']} still waits"
        elif row["delivered_wake_id"] is None:
            yield f"the decision on {row['id']} never reached a run"
    rules = database.rows("SELECT * FROM permission_rules")
    if len(rules) != min(len(approved), 1):  # every approval of the walk keeps the same rule
        yield f"{len(approved)} approvals kept {len(rules)} rules"
    for row in actions:
        if (row["status"] == "approved") != (row["edited_input"] is not None):
            yield f"request {row['id']} is {row['status']} and was approved as {row['edited_input']}"
        result = database.scalar("SELECT result FROM wakes WHERE wake_id = ?", (row["delivered_wake_id"],))
        if result == "retry":
            yield f"the decision on {row['id']} went to a run that saw nothing of it"
        made = row["call_id"] in evidence.executed
        if (
            row["status"] == "approved"
            and row["kind"] == "tool_confirmation"
            and result == "success"
            and not made
        ):
            yield f"approved call {row['call_id']} was reported and never made"


def _debts(database: Database) -> Iterator[str]:
    for row in database.rows("SELECT * FROM wakes WHERE continuity_owed = 1 OR evolve_owed = 1"):
        yield f"wake {row['wake_id']} still owes its continuity"
    turns = database.scalar("SELECT count(*) FROM turn_results")
    for table, where in (("compaction_boundaries", "1"), ("post_run_jobs", "job_type = 'evolve'")):
        many = database.scalar(f"SELECT count(*) FROM {table} WHERE {where}")
        if many != turns:
            yield f"{turns} turns left {many} rows in {table}"


def _files(records: Records, evidence: Evidence) -> Iterator[str]:
    projector = Projector(records, evidence.folder)
    for difference in projector.verify(evidence.session_id):
        yield f"the files differ: {difference}"
    for row in records.database.rows("SELECT agent_id FROM agents"):
        yield from (f"the agent's files differ: {found}" for found in projector.verify_agent(row["agent_id"]))
    if records.outbox.agents():
        yield "the outbox is not empty"
