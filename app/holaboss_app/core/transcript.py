"""The data behind the transcript: its rows in order, which bodies are here, and which should be fetched next.

Rows come from the turn index, which holds sizes and no text, so that ten thousand turns open as fast as
ten. Bodies are fetched in pages as they come into sight, and the ones not seen for longest are let go. It
draws nothing and fetches nothing itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holaboss_app.core.heights import Metrics
from holaboss_app.core.reducer import TurnState
from holaboss_client.attachments import MessageAttachment
from holaboss_client.events import OutputEvent
from holaboss_client.sessions import Turn, TurnIndex

PAGE = 24
"""Turns fetched together."""
KEPT = 240
"""Bodies kept in memory."""
NOT_YET = 1 << 62
"""The `seq` of a row that the runtime has not numbered yet: it sorts last."""


@dataclass(slots=True)
class Row:
    """One turn as the index describes it; characters and lines of what was said and of the answer."""

    seq: int
    input_id: str
    user_characters: int = 0
    user_lines: int = 0
    answer_characters: int = 0
    answer_lines: int = 0
    steps: int = 0

    def estimated_height(self, metrics: Metrics) -> int:
        """What the turn will probably measure, in pixels."""
        bubble = metrics.text_height(self.user_characters, self.user_lines, round(metrics.width * 0.7))
        answer = metrics.text_height(self.answer_characters, self.answer_lines, metrics.width)
        return metrics.padding + round(bubble + answer) + self.steps * metrics.step_height


@dataclass(frozen=True, slots=True)
class Page:
    """A request for bodies: turns with `seq >= from_seq`, at most `limit`."""

    from_seq: int
    limit: int


class Transcript:
    """Rows and bodies of one session."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._positions: dict[str, int] = {}
        self._states: OrderedDict[str, TurnState] = OrderedDict()
        self._loaded: set[str] = set()
        self._requested: set[str] = set()

    def __len__(self) -> int:
        return len(self.rows)

    def position(self, input_id: str) -> int | None:
        return self._positions.get(input_id)

    def state(self, row: int) -> TurnState | None:
        """The body of a row, or null while it is not here."""
        input_id = self.rows[row].input_id
        if input_id not in self._loaded:
            return None
        self._states.move_to_end(input_id)
        state = self._states[input_id]
        if row + 1 < len(self.rows):
            state.take_up()
        return state

    def find(self, input_id: str) -> TurnState | None:
        """The state that events go to, whether its beginning is here or not."""
        return self._states.get(input_id)

    def take_index(self, index: TurnIndex) -> None:
        """Adopt the runtime's rows. Turns only known here (just sent, just claimed) stay at the end."""
        before = self._positions.keys()
        fresh = [Row(*values) for values in index.rows]
        known = {row.input_id for row in fresh}
        self.rows = [*fresh, *(row for row in self.rows if row.seq == NOT_YET and row.input_id not in known)]
        self._positions = {row.input_id: at for at, row in enumerate(self.rows)}
        for gone in before - self._positions.keys():
            self._drop(gone)

    def add(self, input_id: str, text: str, files: Iterable[MessageAttachment] = ()) -> TurnState:
        """Append a turn that the index does not have yet. Its body counts as complete from here on."""
        state = TurnState(input_id, text)
        state.attachments = tuple(files)
        self._positions[input_id] = len(self.rows)
        self.rows.append(Row(NOT_YET, input_id, len(text), text.count("\n") + 1))
        self._states[input_id] = state
        self._loaded.add(input_id)
        return state

    def rename(self, input_id: str, new_id: str) -> None:
        """The runtime has named a turn that was added under a provisional id."""
        row = self._positions.pop(input_id)
        self._positions[new_id] = row
        self.rows[row].input_id = new_id
        state = self._states.pop(input_id)
        state.input_id = new_id
        self._states[new_id] = state
        self._loaded.discard(input_id)
        self._loaded.add(new_id)

    def remove(self, input_id: str) -> None:
        """Take back a turn that was added here."""
        del self.rows[self._positions[input_id]]
        self._positions = {row.input_id: at for at, row in enumerate(self.rows)}
        self._drop(input_id)

    def apply(self, event: OutputEvent) -> TurnState | None:
        """Give a live event to its turn; null when there is no such row."""
        if event.input_id not in self._positions:
            return None
        state = self._states.get(event.input_id)
        if state is None:
            # Its earlier events come with the page; until then this state fills up out of sight.
            state = self._states[event.input_id] = TurnState(event.input_id)
        state.apply(event)
        return state

    def grown(self, input_id: str) -> int | None:
        """A live turn that nobody sees has grown: update the sizes of its row, and answer which row it is."""
        position, state = self._positions.get(input_id), self._states.get(input_id)
        if position is None or state is None:
            return None
        row = self.rows[position]
        row.answer_characters = state.answer_length
        row.answer_lines = max(row.answer_lines, row.answer_characters // 60)
        row.steps = len(state.segments)
        return position

    def take_turns(self, turns: Iterable[Turn]) -> list[int]:
        """Adopt fetched bodies; the rows that can now be drawn."""
        rows: list[int] = []
        for turn in turns:
            row = self._positions.get(turn.input_id)
            if row is None:
                continue
            state = self._states.setdefault(turn.input_id, TurnState(turn.input_id))
            state.text = turn.text
            state.attachments = tuple(turn.attachments)
            state.extend(turn.events)
            self._loaded.add(turn.input_id)
            self._requested.discard(turn.input_id)
            rows.append(row)
        self._evict(set(rows))
        return rows

    def wanted(self, first: int, last: int) -> Page | None:
        """The page that would fill the first hole between two visible rows; it is remembered as requested."""
        missing = [row for row in range(first, last + 1) if self._is_missing(row)]
        if not missing:
            return None
        # Read on in the direction of the hole: the neighbours will be wanted in a moment.
        middle = missing[len(missing) // 2]
        start = max(0, min(missing[0], middle - PAGE // 2))
        rows = self.rows[start : start + PAGE]
        self._requested.update(row.input_id for row in rows if row.input_id not in self._loaded)
        return Page(rows[0].seq, len(rows))

    def page_of(self, input_id: str) -> Page | None:
        """A request for one turn; null while the runtime has not numbered it."""
        position = self._positions.get(input_id)
        if position is None or self.rows[position].seq == NOT_YET:
            return None
        return Page(self.rows[position].seq, 1)

    def newest_details(self, tool: str, looked_at: int = 24) -> tuple[str, Mapping[str, Any]]:
        """What the newest call of a tool told, among the last turns that are here, and in which turn; both empty
        without one."""
        for row in reversed(self.rows[-looked_at:]):
            state = self._states.get(row.input_id)
            for call in reversed(state.tools) if state is not None else ():
                if call.name == tool and call.details:
                    return row.input_id, call.details
        return "", {}

    def forget_requests(self) -> None:
        """What was asked for will not come: the connection is gone."""
        self._requested.clear()

    def _is_missing(self, row: int) -> bool:
        entry = self.rows[row]
        return (
            entry.seq != NOT_YET
            and entry.input_id not in self._loaded
            and entry.input_id not in self._requested
        )

    def _evict(self, spared: set[int]) -> None:
        for input_id in list(self._states):
            if len(self._states) <= KEPT:
                return
            state = self._states[input_id]
            if state.is_final and self._positions.get(input_id) not in spared:
                self._drop(input_id)

    def _drop(self, input_id: str) -> None:
        self._states.pop(input_id, None)
        self._loaded.discard(input_id)
        self._requested.discard(input_id)
