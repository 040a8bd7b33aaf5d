"""One open session: its index, the bodies that are looked at, and its live events, kept together on screen.

The runtime's index says which turns there are, pages say what is in them, and the stream says what happens
now. All three lead into the same reducer. Losing the connection loses nothing: what is here stays, and the
stream goes on behind the last event that was seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from holaboss_app.core.transcript import Page, Transcript
from holaboss_app.panes.chat.transcript_view import TranscriptView
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.attachments import MessageAttachment
from holaboss_client.client import RuntimeClient
from holaboss_client.events import OutputEvent, RunEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.sessions import QueuedInput, TurnIndex

COALESCE_MS = 33


class Conversation(QObject):
    changed = Signal()
    """Rows, queue or the live turn are different now."""
    finished = Signal(str)
    """The turn of this input has ended."""

    def __init__(
        self, view: TranscriptView, workspace_id: str, session_id: str, report: Report, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.workspace_id = workspace_id
        self.session_id = session_id
        self.transcript = Transcript()
        self.queued: list[QueuedInput] = []
        self.live: set[str] = set()
        """Inputs that run right now. A session runs one at a time, but an end and the next start may cross.
        """
        self._view = view
        self._tasks = Tasks(report)
        self._client: RuntimeClient | None = None
        self._last_event_id = 0
        self._held: list[OutputEvent] | None = None
        self._unread: set[str] = set()
        """Turns that were added from an event alone, which carries only a preview of the message."""
        view.bodies_wanted.connect(self._want_bodies)

    async def open(self, client: RuntimeClient, place: tuple[str, int] | None) -> None:
        """Load the index and show it, at its end or at a remembered place."""
        index = await client.turn_index(self.workspace_id, self.session_id)
        self._client = client
        self._take_index(index)
        self._view.set_transcript(self.transcript, place)
        self.changed.emit()
        self._tasks.start(self._follow(client), key="stream")

    def resume(self, client: RuntimeClient) -> None:
        """The runtime is back, perhaps another process: what happened meanwhile is in its index and its
        stream."""
        self._client = client
        self._tasks.start(self._follow(client), key="stream")
        self.refresh()

    def interrupt(self) -> None:
        """The runtime is gone. Everything shown stays."""
        self._client = None
        for key in ("stream", "index"):
            self._tasks.cancel(key)
        self.transcript.forget_requests()
        self.release_events()

    def leave(self) -> None:
        """From now on it touches nothing on screen; `close` follows."""
        self._view.bodies_wanted.disconnect(self._want_bodies)
        self._held = None
        self.interrupt()

    async def close(self) -> None:
        await self._tasks.close()
        self.deleteLater()

    def refresh(self) -> None:
        """Ask for the index again."""
        if self._client is not None:
            self._tasks.start(self._refresh(self._client), key="index")

    def add(self, input_id: str, text: str, files: Sequence[MessageAttachment] = ()) -> None:
        """Put a message at the end before the runtime has claimed it."""
        before = self.transcript.rows[-1].input_id if self.transcript.rows else ""
        self.transcript.add(input_id, text, files)
        self._view.row_appended()
        if (state := self.transcript.find(before)) is not None and state.take_up():
            self._view.turn_changed(before)
        self.changed.emit()

    def rename(self, key: str, input_id: str) -> None:
        """The runtime has given a message its id."""
        if self.transcript.position(key) is None:
            return
        if self.transcript.position(input_id) is not None:
            self.remove(key)
            return
        self.transcript.rename(key, input_id)
        self._view.turn_renamed(key, input_id)

    def remove(self, input_id: str) -> None:
        """Take back a message that only stands here."""
        if self.transcript.position(input_id) is None:
            return
        place = self._view.place()
        self.transcript.remove(input_id)
        self._view.rows_changed(place)
        self.changed.emit()

    def hold_events(self) -> None:
        """Keep events of unknown inputs until it is clear whether they belong to a message being sent."""
        if self._held is None:
            self._held = []

    def release_events(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            self._take_event(event)

    def last_message(self) -> str:
        """What the person said last, if it is here."""
        states = (self.transcript.find(row.input_id) for row in reversed(self.transcript.rows[-5:]))
        return next((state.text for state in states if state is not None and state.text), "")

    async def _refresh(self, client: RuntimeClient) -> None:
        try:
            index = await client.turn_index(self.workspace_id, self.session_id)
        except (RuntimeUnreachableError, ProblemError):
            return  # The supervisor notices a runtime that is gone; the next change asks again.
        place, before = self._view.place(), [row.input_id for row in self.transcript.rows]
        self._take_index(index)
        if before != [row.input_id for row in self.transcript.rows]:
            self._view.rows_changed(place)
        self.changed.emit()
        for input_id in list(self._unread):
            if (page := self.transcript.page_of(input_id)) is not None:
                self._unread.discard(input_id)
                await self._fetch(client, page)

    def _take_index(self, index: TurnIndex) -> None:
        self.transcript.take_index(index)
        self.queued = index.queued
        self._last_event_id = max(self._last_event_id, index.last_event_id)
        live = index.live_input_id
        state = self.transcript.find(live) if live else None
        if live and (state is None or not state.is_final):
            self.live.add(live)

    def _want_bodies(self, first: int, last: int) -> None:
        if self._client is not None and (page := self.transcript.wanted(first, last)) is not None:
            self._tasks.start(self._fetch(self._client, page))

    async def _fetch(self, client: RuntimeClient, page: Page) -> None:
        try:
            reply = await client.turns(
                self.workspace_id, self.session_id, from_seq=page.from_seq, limit=page.limit
            )
        except (RuntimeUnreachableError, ProblemError):
            self.transcript.forget_requests()
            return
        if self._client is not client:
            return
        self.transcript.take_turns(reply.items)
        for turn in reply.items:
            state = self.transcript.find(turn.input_id)
            if state is not None and state.is_final and turn.input_id in self.live:
                self._end(turn.input_id)
        self._view.bodies_arrived()

    async def _follow(self, client: RuntimeClient) -> None:
        connections = 0
        stream = client.output_stream(
            self.workspace_id,
            self.session_id,
            after_event_id=self._last_event_id,
            coalesce_ms=COALESCE_MS,
            stop_on_terminal=False,
        )
        async for event in stream:
            if event is not None:
                self._last_event_id = max(self._last_event_id, event.id)
                self._take_event(event)
                continue
            connections += 1
            if connections > 1:
                # Another runtime may have answered: its recovery may have changed how the last turn ended.
                self.refresh()

    def _take_event(self, event: OutputEvent) -> None:
        if self.transcript.position(event.input_id) is None:
            if self._held is not None:
                self._held.append(event)
                return
            if not self._add_claimed(event):
                self.refresh()
                return
        state = self.transcript.apply(event)
        if state is None:
            return
        if event.is_terminal:
            self._end(event.input_id)
        elif event.payload.get("phase") == "completed":
            self.changed.emit()  # a call may have changed the plan
        elif event.input_id not in self.live and not state.is_final:
            self.live.add(event.input_id)
            self.changed.emit()
        self._view.turn_changed(event.input_id)

    def _add_claimed(self, event: OutputEvent) -> bool:
        """A turn that nobody here has asked for begins; its first event is enough to show it."""
        if event.event_type != RunEvent.RUN_CLAIMED:
            return False
        known = next((item for item in self.queued if item.input_id == event.input_id), None)
        self.queued = [item for item in self.queued if item is not known]
        if known is not None:
            self.add(event.input_id, known.text, known.attachments)
        else:
            self._unread.add(event.input_id)
            self.add(event.input_id, str(event.payload.get("instruction_preview") or ""))
        self.refresh()
        return True

    def _end(self, input_id: str) -> None:
        self.live.discard(input_id)
        self.finished.emit(input_id)
        self.changed.emit()
