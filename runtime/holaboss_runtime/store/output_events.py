"""Rows of `session_output_events`: the fine-grained stream of runs, and the signal that more of it was committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from holaboss_client.base import utc_now
from holaboss_client.events import DELTA_EVENTS, TERMINAL_EVENTS, OutputEvent
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import decode, encode
from holaboss_runtime.store.signal import Signal

_INSERT = """\
INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, payload, created_at)
SELECT ?1, ?2, ?3, coalesce(max(sequence), 0) + 1, ?4, ?5, ?6 FROM session_output_events WHERE input_id = ?3
"""
_INSERT_UNDER_LEASE = """\
INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, payload, created_at)
SELECT ?1, ?2, ?3, coalesce((SELECT max(sequence) FROM session_output_events WHERE input_id = ?3), 0) + 1, ?4, ?5, ?6
FROM agent_sessions WHERE session_id = ?2 AND lease_epoch = ?7 AND lease_owner IS NOT NULL
"""
_COLUMNS = "id, workspace_id, session_id, input_id, sequence, event_type, created_at, payload"
_AFTER = f"SELECT {_COLUMNS} FROM session_output_events WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?"
_AFTER_OF_INPUT = (
    f"SELECT {_COLUMNS} FROM session_output_events WHERE session_id = ? AND id > ? AND input_id = ?"
    " ORDER BY id LIMIT ?"
)

Said = tuple[str, dict[str, Any]]
"""Type and payload of an event."""


class StoredEvent(NamedTuple):
    """A row as it is kept, its payload still text: what is only passed on is never taken apart."""

    id: int
    workspace_id: str
    session_id: str
    input_id: str
    sequence: int
    event_type: str
    created_at: str
    payload_text: str

    @property
    def payload(self) -> dict[str, Any]:
        return decode(self.payload_text)

    @property
    def is_terminal(self) -> bool:
        return self.event_type in TERMINAL_EVENTS

    @property
    def is_delta(self) -> bool:
        return self.event_type in DELTA_EVENTS

    def event(self) -> OutputEvent:
        return OutputEvent(
            id=self.id,
            workspace_id=self.workspace_id,
            session_id=self.session_id,
            input_id=self.input_id,
            sequence=self.sequence,
            event_type=self.event_type,
            created_at=self.created_at,
            payload=self.payload,
        )


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

    def append(self, workspace_id: str, session_id: str, input_id: str, events: Iterable[Said]) -> None:
        """Append events in order; each gets the next sequence number of its input here and nowhere else."""
        now = utc_now()
        with self._database.transaction():
            for event_type, payload in events:
                self._database.execute(
                    _INSERT, (workspace_id, session_id, input_id, event_type, encode(payload), now)
                )
            self._database.after_commit(lambda: self._notify(session_id))

    def append_under_lease(
        self, workspace_id: str, session_id: str, input_id: str, epoch: int, events: Sequence[Said]
    ) -> bool:
        """`append` while the lease of `epoch` is the session's. False, with nothing written, when it is not any more.

        One event is one statement: a run says most of what it says one event at a time.
        """
        if len(events) == 1:
            held = self._insert_under_lease(workspace_id, session_id, input_id, epoch, events[0])
        else:
            with self._database.transaction():
                held = all(
                    self._insert_under_lease(workspace_id, session_id, input_id, epoch, said)
                    for said in events
                )
        if held and events:
            self._database.after_commit(lambda: self._notify(session_id))
        return held

    def _insert_under_lease(
        self, workspace_id: str, session_id: str, input_id: str, epoch: int, said: Said
    ) -> bool:
        event_type, payload = said
        values = (workspace_id, session_id, input_id, event_type, encode(payload), utc_now(), epoch)
        return self._database.write(_INSERT_UNDER_LEASE, values) == 1

    def after(
        self, session_id: str, after_id: int, *, input_id: str | None = None, limit: int = 1000
    ) -> list[OutputEvent]:
        """Events with a higher id, oldest first; of one input when it is named."""
        return [row.event() for row in self.rows_after(session_id, after_id, input_id=input_id, limit=limit)]

    def rows_after(
        self, session_id: str, after_id: int, *, input_id: str | None = None, limit: int = 1000
    ) -> list[StoredEvent]:
        """`after`, as the rows are kept."""
        if input_id is None:
            rows = self._database.tuples(_AFTER, (session_id, after_id, limit))
        else:
            rows = self._database.tuples(_AFTER_OF_INPUT, (session_id, after_id, input_id, limit))
        return [StoredEvent._make(row) for row in rows]

    def of_inputs(self, input_ids: Sequence[str]) -> dict[str, list[OutputEvent]]:
        """Every event of the named inputs, in order."""
        grouped: dict[str, list[OutputEvent]] = {input_id: [] for input_id in input_ids}
        rows = self._database.tuples(
            f"SELECT {_COLUMNS} FROM session_output_events WHERE input_id IN (SELECT value FROM json_each(?))"
            " ORDER BY input_id, sequence",
            (encode(list(input_ids)),),
        )
        for row in map(StoredEvent._make, rows):
            grouped[row.input_id].append(row.event())
        return grouped

    def started(self, input_id: str) -> dict[str, Any]:
        """What the last attempt of an input said when it began; empty when none did."""
        payload = self._database.scalar(
            "SELECT payload FROM session_output_events WHERE input_id = ? AND event_type = 'run_started'"
            " ORDER BY sequence DESC LIMIT 1",
            (input_id,),
        )
        return {} if payload is None else decode(payload)

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
