"""Rows of `session_output_events`: the fine-grained stream of runs, and the signal that more of it was committed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from holaboss_client.base import utc_now
from holaboss_client.events import OutputEvent
from holaboss_runtime.store.database import Database, Row, Value
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.signal import Signal

_INSERT = """\
INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, payload, created_at)
SELECT ?1, ?2, ?3, coalesce(max(sequence), 0) + 1, ?4, ?5, ?6 FROM session_output_events WHERE input_id = ?3
"""


class OutputEventRecords:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._signals: WeakValueDictionary[str, Signal] = WeakValueDictionary()

    def signal(self, session_id: str) -> Signal:
        """Notified after each commit that added events to the session. Lives as long as somebody holds it."""
        signal = self._signals.get(session_id)
        if signal is None:
            signal = self._signals[session_id] = Signal()
        return signal

    def append(
        self, workspace_id: str, session_id: str, input_id: str, events: Iterable[tuple[str, dict[str, Any]]]
    ) -> None:
        """Append events in order; each gets the next sequence number of its input here and nowhere else."""
        now = utc_now()
        with self._database.transaction():
            for event_type, payload in events:
                self._database.execute(
                    _INSERT, (workspace_id, session_id, input_id, event_type, encode(payload), now)
                )
            self._database.after_commit(lambda: self._notify(session_id))

    def after(
        self, session_id: str, after_id: int, *, input_id: str | None = None, limit: int = 1000
    ) -> list[OutputEvent]:
        """Events with a higher id, oldest first; of one input when it is named."""
        narrowed = "" if input_id is None else " AND input_id = ?"
        values: list[Value] = [session_id, after_id]
        if input_id is not None:
            values.append(input_id)
        rows = self._database.rows(
            f"SELECT * FROM session_output_events WHERE session_id = ? AND id > ?{narrowed} ORDER BY id LIMIT ?",
            (*values, limit),
        )
        return [_event(row) for row in rows]

    def of_inputs(self, input_ids: Sequence[str]) -> dict[str, list[OutputEvent]]:
        """Every event of the named inputs, in order."""
        grouped: dict[str, list[OutputEvent]] = {input_id: [] for input_id in input_ids}
        rows = self._database.rows(
            "SELECT * FROM session_output_events WHERE input_id IN (SELECT value FROM json_each(?))"
            " ORDER BY input_id, sequence",
            (encode(list(input_ids)),),
        )
        for row in rows:
            grouped[row["input_id"]].append(_event(row))
        return grouped

    def started(self, input_id: str) -> dict[str, Any]:
        """What the last attempt of an input said when it began; empty when none did."""
        payload = self._database.scalar(
            "SELECT payload FROM session_output_events WHERE input_id = ? AND event_type = 'run_started'"
            " ORDER BY sequence DESC LIMIT 1",
            (input_id,),
        )
        return {} if payload is None else json.loads(payload)

    def has_ended(self, input_id: str) -> bool:
        """Whether somebody has said how the run of an input ended, which nobody can say twice."""
        found = self._database.scalar(
            "SELECT 1 FROM session_output_events WHERE input_id = ?"
            " AND event_type IN ('run_completed', 'run_failed') LIMIT 1",
            (input_id,),
        )
        return found is not None

    def last_id(self, session_id: str) -> int:
        return int(
            self._database.scalar(
                "SELECT coalesce(max(id), 0) FROM session_output_events WHERE session_id = ?", (session_id,)
            )
        )

    def replace_deltas(self, joined: Sequence[OutputEvent], dropped: Sequence[int]) -> None:
        """Keep one row where many said the same in pieces; see `runs.coalesce`. Ids and sequences stay."""
        with self._database.transaction():
            for event in joined:
                self._database.execute(
                    "UPDATE session_output_events SET payload = ? WHERE id = ?",
                    (encode(event.payload), event.id),
                )
            self._database.execute(
                "DELETE FROM session_output_events WHERE id IN (SELECT value FROM json_each(?))",
                (encode(list(dropped)),),
            )

    def notify_all(self) -> None:
        """Another process may have added events to any session."""
        for signal in list(self._signals.values()):
            signal.notify()

    def _notify(self, session_id: str) -> None:
        signal = self._signals.get(session_id)
        if signal is not None:
            signal.notify()


def _event(row: Row) -> OutputEvent:
    return OutputEvent(
        id=row["id"],
        workspace_id=row["workspace_id"],
        session_id=row["session_id"],
        input_id=row["input_id"],
        sequence=row["sequence"],
        event_type=row["event_type"],
        created_at=row["created_at"],
        payload=json.loads(row["payload"]),
    )
