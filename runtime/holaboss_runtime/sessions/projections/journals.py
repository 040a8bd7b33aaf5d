"""The four journals: what a file says once it is folded, what the database says, and which lines are missing.

Pure. A file is compared by what it means, never by its bytes: a line that another program wrote counts as ours when it
says the same. What the file says and the database does not is a contradiction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from holaboss_client.agents import INBOUND, ScheduledWake, SessionEvent
from holaboss_runtime.store import journal
from holaboss_runtime.store.json_text import encode

Fields = dict[str, Any]
Folded = dict[str, Fields]
"""What a file says about each thing, in the order in which the things first appear."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`missing` are the lines to append; `contradictions` name what cannot be mended by appending."""

    missing: list[Fields]
    contradictions: list[str]


class Journal(Protocol):
    def fold(self, lines: Iterable[Fields]) -> Folded: ...

    def lines(self) -> list[Fields]:
        """The whole file as it would be written anew."""
        ...

    def compare(self, found: Folded) -> Comparison: ...


def line_text(record: Fields) -> bytes:
    return encode(record).encode("utf-8", "surrogatepass") + b"\n"


class EventJournal:
    """`events.jsonl`: appended and processed records. The order of the events is part of what the file says."""

    def __init__(self, events: Sequence[SessionEvent]) -> None:
        self._events = events

    def fold(self, lines: Iterable[Fields]) -> Folded:
        found: Folded = {}
        for line in lines:
            event = _object(line.get("event"))
            if line.get("kind") == journal.APPENDED and isinstance(event.get("id"), str):
                found.setdefault(event["id"], _as_folded(event, line.get("seq")))
            elif line.get("kind") == journal.PROCESSED:
                known = found.get(str(line.get("eventId")))
                if known is not None and known["processed_at"] is None:
                    known["processed_at"] = line.get("processedAt")
                if known is not None and known["wake_id"] is None:
                    known["wake_id"] = line.get("wakeId")
        return found

    def lines(self) -> list[Fields]:
        """A processed record stands before the first thing its wake wrote, as far as that is known."""
        lines: list[Fields] = []
        waiting: dict[str | None, list[SessionEvent]] = {}
        for event in self._events:
            if event.wake_id is not None and not _born_pending(event):
                lines += [journal.processed_record(taken) for taken in waiting.pop(event.wake_id, [])]
            lines.append(journal.event_record(_as_appended(event)))
            if _born_pending(event) and event.processed_at is not None:
                waiting.setdefault(event.wake_id, []).append(event)
        return lines + [journal.processed_record(taken) for left in waiting.values() for taken in left]

    def compare(self, found: Folded) -> Comparison:
        known = {event.event_id for event in self._events}
        contradictions = [
            f"event {event_id} is not in the database" for event_id in found if event_id not in known
        ]
        if list(found) != [event.event_id for event in self._events[: len(found)]] and not contradictions:
            contradictions.append("the events stand in another order, or some are missing in between")
        missing: list[Fields] = []
        for event in self._events:
            in_file = found.get(event.event_id)
            if in_file is None:
                missing += EventJournal([event]).lines()
            elif not _same_event(in_file, event):
                contradictions.append(f"event {event.event_id} reads differently")
            elif (in_file["processed_at"], in_file["wake_id"]) != (event.processed_at, event.wake_id):
                missing.append(journal.processed_record(event))
        return Comparison(missing, contradictions)


class WakeJournal:
    """`wake-queue.jsonl`: enqueued and completed records."""

    def __init__(self, wakes: Sequence[ScheduledWake]) -> None:
        self._wakes = wakes

    def fold(self, lines: Iterable[Fields]) -> Folded:
        found: Folded = {}
        for line in lines:
            wake = _object(line.get("wake"))
            if line.get("kind") == journal.ENQUEUED and isinstance(wake.get("id"), str):
                found[wake["id"]] = dict(wake)
            elif line.get("kind") == journal.COMPLETED and str(line.get("wakeId")) in found:
                done = {"completedAt": line.get("completedAt"), "outcome": line.get("outcome")}
                found[str(line["wakeId"])] |= done
        return found

    def lines(self) -> list[Fields]:
        lines = [journal.enqueued_record(wake) for wake in self._wakes]
        done = sorted(
            (wake for wake in self._wakes if wake.completed_at), key=lambda wake: str(wake.completed_at)
        )
        return lines + [journal.completed_record(wake) for wake in done]

    def compare(self, found: Folded) -> Comparison:
        known = {wake.id for wake in self._wakes}
        contradictions = [
            f"wake {wake_id} is not in the database" for wake_id in found if wake_id not in known
        ]
        missing: list[Fields] = []
        for wake in self._wakes:
            in_file = found.get(wake.id)
            if in_file is None:
                missing += WakeJournal([wake]).lines()
            elif not _same_wake(in_file, wake):
                contradictions.append(f"wake {wake.id} reads differently")
            elif wake.completed_at and in_file.get("completedAt") is None:
                missing.append(journal.completed_record(wake))
        return Comparison(missing, contradictions)


class LearningJournal:
    """One file of `learn/`. Notes the database does not have are left alone: the same note is kept once there."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def fold(self, lines: Iterable[Fields]) -> Folded:
        return {
            str(line["id"]): line for line in lines if line.get("kind") == journal.LEARNED and line.get("id")
        }

    def lines(self) -> list[Fields]:
        return [journal.learning_record(row) for row in self._rows]

    def compare(self, found: Folded) -> Comparison:
        return Comparison([line for line in self.lines() if line["id"] not in found], [])


class ActivationJournal:
    """`activation-events.jsonl`: the claim journal. Older lines the database does not have are left alone."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def fold(self, lines: Iterable[Fields]) -> Folded:
        return {_activation_key(line): line for line in lines}

    def lines(self) -> list[Fields]:
        return [journal.activation_record(row, json.loads(row["payload"])) for row in self._rows]

    def compare(self, found: Folded) -> Comparison:
        return Comparison([line for line in self.lines() if _activation_key(line) not in found], [])


def _activation_key(line: Mapping[str, Any]) -> str:
    return f"{line.get('kind')} {line.get('claimId')} {line.get('createdAt')}"


def _born_pending(event: SessionEvent) -> bool:
    return event.type in INBOUND


def _as_appended(event: SessionEvent) -> SessionEvent:
    """An event as it was when it was appended."""
    if not _born_pending(event):
        return event
    return event.model_copy(update={"processed_at": None, "wake_id": None})


def _as_folded(event: Fields, seq: object) -> Fields:
    event_type = str(event.get("type"))
    return {
        "type": event_type,
        "created_at": event.get("createdAt"),
        "processed_at": event.get("processedAt"),
        "wake_id": event.get("wakeId"),
        "payload": journal.payload_of(event_type, event),
        "seq": seq if isinstance(seq, int) and not isinstance(seq, bool) and seq > 0 else None,
    }


def _same_event(found: Fields, event: SessionEvent) -> bool:
    """Whether the file says nothing else than the database; it may say less about what became of the event."""
    same = (found["type"], found["created_at"], found["payload"]) == (
        event.type,
        event.created_at,
        event.payload,
    )
    return (
        same
        and found["processed_at"] in (None, event.processed_at)
        and found["wake_id"] in (None, event.wake_id)
    )


def _same_wake(found: Fields, wake: ScheduledWake) -> bool:
    expected = _object(journal.enqueued_record(wake)["wake"])
    same = all(found.get(name) == value for name, value in expected.items())
    return same and found.get("completedAt") in (None, wake.completed_at)


def _object(value: object) -> Fields:
    return cast(Fields, value) if isinstance(value, dict) else {}
