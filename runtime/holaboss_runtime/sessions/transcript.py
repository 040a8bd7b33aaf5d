"""What was said and done in a session, as clients read it. Every list here is derived from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from holaboss_client.attachments import MessageAttachment
from holaboss_client.events import OutputEventPage
from holaboss_client.sessions import History, QueuedInput, Turn, TurnIndex, TurnPage
from holaboss_runtime.runs.coalesce import coalesce
from holaboss_runtime.sessions.settle import layout_of
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.wakes import WakeRecord

RUNNING = "running"


class Transcript:
    def __init__(self, records: Records, harness: str) -> None:
        self._records = records
        self._harness = harness

    def history(self, session: SessionRecord, *, limit: int, offset: int, newest_first: bool) -> History:
        messages = self._records.messages.page(
            session.session_id, limit=limit, offset=offset, newest_first=newest_first
        )
        return History(
            workspace_id=session.workspace_id,
            session_id=session.session_id,
            harness=self._harness,
            harness_session_id=session.harness_session_id,
            messages=messages,
            count=len(messages),
            total=self._records.messages.count(session.session_id),
            limit=limit,
            offset=offset,
        )

    def index(self, session_id: str, *, after_seq: int = 0) -> TurnIndex:
        """`after_seq` leaves out the rows of older turns, also of one that is live."""
        rows = self._records.turns.index(session_id, after_seq=after_seq)
        live = self._live(session_id)
        if live is not None and live[1].seq > after_seq:
            claimed, wake = live
            layout = layout_of(self._asked(wake), "", 0)
            rows.append((wake.seq, claimed.input_id, layout.user_chars, layout.user_lines, 0, 0, 0))
        return TurnIndex(
            session_id=session_id,
            rows=rows,
            live_input_id=None if live is None else live[0].input_id,
            queued=[_queued(waiting) for waiting in self._records.inputs.queued(session_id)],
            last_event_id=self._records.outputs.last_id(session_id),
        )

    def turns(self, session_id: str, *, from_seq: int, limit: int) -> TurnPage:
        heads = [
            (turn.seq, turn.input_id, turn.status, turn.started_at)
            for turn in self._records.turns.page(session_id, from_seq=from_seq, limit=limit)
        ]
        live = self._live(session_id)
        if live is not None and live[1].seq >= from_seq and len(heads) < limit:
            heads.append((live[1].seq, live[0].input_id, RUNNING, live[1].started_at))
        events = self._records.outputs.of_inputs([head[1] for head in heads])
        taken = {head[1]: self._taken(head[1]) for head in heads}
        return TurnPage(
            items=[
                Turn(
                    seq=seq,
                    input_id=input_id,
                    text=asked(taken[input_id]),
                    status=status,
                    created_at=created_at,
                    events=coalesce(events[input_id]),
                    attachments=attached(taken[input_id]),
                )
                for seq, input_id, status, created_at in heads
            ],
            last_event_id=self._records.outputs.last_id(session_id),
        )

    def events(
        self,
        session_id: str,
        *,
        input_id: str | None,
        after_event_id: int | None,
        include_history: bool,
        limit: int,
    ) -> OutputEventPage:
        after = self.position(session_id, after_event_id, include_history=include_history)
        items = self._records.outputs.after(session_id, after, input_id=input_id, limit=limit)
        return OutputEventPage(items=items, count=len(items), last_event_id=items[-1].id if items else after)

    def position(self, session_id: str, after_event_id: int | None, *, include_history: bool) -> int:
        """The id after which to read: the named one, else the beginning, or without history the newest.

        An id that this session has not got to is of another database, such as the one before a backup was put back: it
        counts as none, because whoever waits for what comes after it would wait for ever.
        """
        last = self._records.outputs.last_id(session_id)
        if after_event_id is not None and after_event_id <= last:
            return after_event_id
        return 0 if include_history else last

    def _live(self, session_id: str) -> tuple[InputRecord, WakeRecord] | None:
        """The claimed turn that has not ended: it runs, or it waits for its next attempt."""
        wake = self._records.wakes.running(session_id)
        if wake is not None:
            claimed = self._records.inputs.get(wake.lead_input_id)
        else:
            claimed = self._records.inputs.retrying(session_id)
            wake = self._records.wakes.latest_of(claimed.input_id) if claimed else None
        return (claimed, wake) if claimed is not None and wake is not None else None

    def _taken(self, input_id: str) -> list[InputRecord]:
        """Everything that the last attempt of a turn took."""
        wake = self._records.wakes.latest_of(input_id)
        return [] if wake is None else self._records.inputs.of_wake(wake.wake_id)

    def _asked(self, wake: WakeRecord) -> str:
        return asked(self._records.inputs.of_wake(wake.wake_id))


def asked(inputs: Sequence[InputRecord]) -> str:
    """The words of several inputs that are one turn, as a transcript shows them."""
    return "\n\n".join(taken.text for taken in inputs if taken.text)


def attached(inputs: Sequence[InputRecord]) -> list[MessageAttachment]:
    """The files that came with them, each once."""
    files: dict[str, MessageAttachment] = {}
    for taken in inputs:
        listed: object = taken.payload.get("attachments")
        for item in cast(list[dict[str, Any]], listed) if isinstance(listed, list) else []:
            path = str(item.get("workspace_path") or "")
            if path:
                files.setdefault(path, _attachment(path, item))
    return list(files.values())


def _attachment(path: str, item: dict[str, Any]) -> MessageAttachment:
    size = item.get("size")
    return MessageAttachment(
        workspace_path=path,
        name=str(item.get("name") or PurePosixPath(path).name),
        kind=str(item.get("kind") or "file"),
        size=size if isinstance(size, int) and size > 0 else 0,
    )


def _queued(waiting: InputRecord) -> QueuedInput:
    return QueuedInput(
        input_id=waiting.input_id,
        text=waiting.text,
        status=waiting.status,
        created_at=waiting.created_at,
        attachments=attached([waiting]),
    )
