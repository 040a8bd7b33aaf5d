"""What subagents came to, told to the session that sent them: as one input, when that session has time for it.

That something is to be told is noted in the transaction that commits the turn of the subagent, and taken back in the
one that appends the input, so a crash can neither lose nor double it. What is told is read at that moment from the
session of the subagent. It knows no timer: whoever looks for work asks it what is due.
"""

from __future__ import annotations

from typing import Any

from holaboss_client.agents import SessionEventType as Event
from holaboss_client.base import utc_now
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.inbound import Inbound
from holaboss_runtime.store import subagents as store
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.pending_actions import QUESTION, ActionRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.subagents import SubagentRecord

COALESCE_S = 5.0
"""How long a result waits for those of other subagents that still work."""

RESULT_CHARS = 6_000
SUMMARY_CHARS = 220
PRIORITY = -100
"""What a person says goes first."""

MOST_SHOWN = 20


class SubagentReports:
    def __init__(self, records: Records, inbound: Inbound) -> None:
        self._records = records
        self._inbound = inbound

    def turn_ended(self, session: SessionRecord) -> None:
        """A turn of any session is being committed. When that of a subagent leaves nothing for it to do, its owner's
        log says so and a report is owed; without anybody else to wait for, at once."""
        record = self._records.subagents.get(session.session_id) if session.kind == "subagent" else None
        if record is None or record.cancelled_at is not None:
            return
        if record.status in (store.QUEUED, store.RUNNING):
            return  # something more is queued for it
        self.note_rest(record)
        working = [
            other
            for other in self._records.subagents.live_of(record.owner_session_id)
            if other.status != store.WAITING
        ]
        due_at = from_now(COALESCE_S) if working else utc_now()
        self._records.subagents.owe_report(record.subagent_id, due_at)
        self._inbound.notify_after_commit()

    def note_rest(self, record: SubagentRecord) -> None:
        """Write into the owner's log that a subagent rests, and why."""
        waits = record.status == store.WAITING
        said = needs_of(self._records.actions.open(record.subagent_id)) if waits else outcome_of(record)
        payload = {
            "child_session_id": record.subagent_id,
            "child_stop_reason": "requires_action" if waits else record.status,
            "summary": preview(said, SUMMARY_CHARS),
            "executed_cycles": record.turns,
        }
        self._records.events.append(record.owner_session_id, Event.SESSION_CHILD_IDLE, payload)

    def deliver(self, now: str, session_id: str | None = None, *, early: bool = False) -> int:
        """Turn what is due into inputs, for one owner or for all; how many inputs. `early`: the owner is about to run
        anyway, so it takes along whatever there is."""
        if not self._records.subagents.ready_owners(now, early=early, session_id=session_id):
            return 0
        with self._records.database.transaction():
            # Asked again inside: another process may have been faster.
            owners = self._records.subagents.ready_owners(now, early=early, session_id=session_id)
            return sum(self._tell(owner) for owner in owners)

    def _tell(self, owner_id: str) -> bool:
        """One input with everything that is owed to an owner; False when nothing of it is news any more."""
        owed = self._records.subagents.owed_reports(owner_id)
        news = [record for record in owed if record.status not in (store.QUEUED, store.RUNNING)]
        waiting_first = sorted(news, key=lambda record: record.status != store.WAITING)[:MOST_SHOWN]
        input_id = self._append(owner_id, waiting_first) if waiting_first else None
        told = {record.subagent_id for record in waiting_first}
        for record in owed:
            if record.subagent_id in told:
                self._records.subagents.reported(record.subagent_id, input_id)
            elif record not in news:  # it works again; what that comes to will be told
                self._records.subagents.reported(record.subagent_id, None)
        return input_id is not None

    def _append(self, owner_id: str, news: list[SubagentRecord]) -> str:
        owner = self._records.sessions.get(owner_id)
        if owner is None:
            raise RuntimeError(f"session {owner_id} of a subagent is not there")
        children = [
            {"child_session_id": record.subagent_id, "title": record.title, "status": record.status}
            for record in news
        ]
        actions = {record.subagent_id: self._records.actions.open(record.subagent_id) for record in news}
        payload: dict[str, Any] = {"children": children, "text": _text(news, actions)}
        queued = self._inbound.append_inbound(
            owner, Event.SESSION_CHILD_RESULTS, payload, priority=PRIORITY, resumes=False
        )
        return queued.input_id


def outcome_of(record: SubagentRecord) -> str:
    """What the work came to, in words."""
    if record.status == store.FAILED:
        said = str((record.error or {}).get("message") or record.stop_reason or "It failed.")
        return f"{said}\n\n{record.result}" if record.result else said
    if record.status == store.CANCELLED:
        return record.result or "It was stopped."
    return record.result


def clipped(text: str) -> str:
    """At most `RESULT_CHARS` characters, and said so."""
    if len(text) <= RESULT_CHARS:
        return text
    return f"{text[:RESULT_CHARS].rstrip()}\n… (cut; it is {len(text):,} characters long)"


def needs_of(actions: list[ActionRecord]) -> str:
    """What a subagent waits for, in words for the session that sent it."""
    lines: list[str] = []
    for action in actions:
        if action.kind == QUESTION:
            lines.append(f"It asks: {preview(str(action.input.get('question') or action.input), 1_000)}")
        else:
            lines.append(f"It wants to use `{action.tool_name}`, and only the person can allow that.")
    return "\n".join(lines) or "It was stopped and waits until the person lets it go on."


def described(record: SubagentRecord, actions: list[ActionRecord]) -> str:
    """One subagent for a model: who it is, how it is doing, and what came of it."""
    head = f"{record.title} ({record.subagent_id}): {record.status}"
    body = [needs_of(actions)] if record.status == store.WAITING else []
    said = "" if record.status in (store.QUEUED, store.RUNNING) else clipped(outcome_of(record))
    return "\n".join([head, *body, *([said] if said else [])])


def _text(news: list[SubagentRecord], actions: dict[str, list[ActionRecord]]) -> str:
    told = "\n\n".join(described(record, actions[record.subagent_id]) for record in news)
    return (
        "Background tasks of this session came to rest. What follows is what they report, not what the person says."
        " Take it up where the conversation stands; what a task asks can be answered with `resume_subagent`, after the"
        f" person was asked.\n\n{told}"
    )
