"""The record families of the session core, over real files and more than one connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.store.clock import from_now, seconds_until
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import IDLE, Settlement


def connect(path: Path) -> Records:
    return Records(Database.open(path / "runtime.db"))


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    opened = connect(tmp_path)
    opened.database.execute(
        "INSERT INTO workspaces (id, workspace_path, name, status, harness, created_at, updated_at)"
        " VALUES ('w', '/w', 'W', 'active', 'native', ?, ?)",
        (utc_now(), utc_now()),
    )
    opened.sessions.create("s", "w", kind="workspace_session", created_by="test")
    yield opened
    opened.database.close()


def enqueue(records: Records, input_id: str, session_id: str = "s", **fields: object) -> None:
    records.events.append_pending(input_id, session_id, "user.message", {"text": input_id})
    records.inputs.insert(input_id, session_id, "w", {"text": input_id}, **fields)  # type: ignore[arg-type]


def test_two_processes_claim_an_input_once(records: Records, tmp_path: Path) -> None:
    other = connect(tmp_path)
    enqueue(records, "i")
    until = from_now(60)
    assert other.inputs.claim("i", "them", until) is not None
    assert records.inputs.claim("i", "us", until) is None
    other.database.close()


def test_a_lease_is_taken_once_and_fences_its_loser_out(records: Records, tmp_path: Path) -> None:
    other = connect(tmp_path)
    first = records.sessions.acquire_lease("s", "us", from_now(60))
    assert first is not None
    assert other.sessions.acquire_lease("s", "them", from_now(60)) is None
    assert records.sessions.renew_lease("s", first, from_now(-1))
    second = other.sessions.acquire_lease("s", "them", from_now(60))
    assert second == first + 1
    assert not records.sessions.renew_lease("s", first, from_now(60))
    assert not records.sessions.settle("s", first, Settlement(IDLE, None))
    assert other.sessions.settle("s", second, Settlement(IDLE, None))
    assert not records.sessions.release_lease("s", first)
    assert other.sessions.release_lease("s", second)
    assert not other.sessions.settle("s", second, Settlement(IDLE, None))
    other.database.close()


def test_sequences_are_given_by_the_store_without_gaps(records: Records, tmp_path: Path) -> None:
    other = connect(tmp_path)
    for number in range(10):
        writer = (records, other)[number % 2]
        writer.outputs.append("w", "s", f"i{number % 3}", [("output_delta", {}), ("output_delta", {})])
    grouped = records.outputs.of_inputs(["i0", "i1", "i2"])
    assert [[event.sequence for event in events] for events in grouped.values()] == [
        list(range(1, 9)),
        list(range(1, 7)),
        list(range(1, 7)),
    ]
    other.database.close()


@pytest.mark.parametrize("second", ["run_completed", "run_failed"])
def test_the_database_refuses_a_second_end(records: Records, second: str) -> None:
    records.outputs.append("w", "s", "i", [("run_completed", {})])
    with pytest.raises(apsw.ConstraintError):
        records.outputs.append("w", "s", "i", [(second, {})])
    assert len(records.outputs.after("s", 0)) == 1


def test_a_session_has_one_open_wake(records: Records) -> None:
    enqueue(records, "i")
    records.wakes.begin("a", "s", ["i"], 1)
    with pytest.raises(apsw.ConstraintError):
        records.wakes.begin("b", "s", ["i"], 2)
    records.wakes.end("a", result="success", stop_reason=None)
    assert records.wakes.begin("b", "s", ["i"], 2).seq == 2


def test_what_is_ready_is_the_first_of_a_free_session(records: Records) -> None:
    records.sessions.create("t", "w", kind="workspace_session", created_by="test")
    for name, session, fields in (
        ("low", "s", {}),
        ("high", "s", {"priority": 2}),
        ("later", "t", {"priority": 9, "available_at": from_now(60)}),
        ("other", "t", {}),
    ):
        enqueue(records, name, session, **fields)

    def ready(busy: tuple[str, ...] = (), waiting: tuple[str, ...] = ()) -> str | None:
        found = records.inputs.next_ready(utc_now(), busy_sessions=busy, waiting_inputs=waiting)
        return None if found is None else found.input_id

    assert ready() == "high"
    assert ready(waiting=("high",)) == "low"
    assert ready(busy=("s",)) == "other"
    assert ready(busy=("s", "t")) is None
    records.sessions.hold("s", "user_pause")
    assert ready() == "other"
    records.sessions.acquire_lease("t", "them", from_now(60))
    assert ready() is None
    due = records.inputs.next_due(utc_now())
    assert due is not None
    assert 50 < seconds_until(due) < 61


def test_nothing_is_forgotten_between_ready_and_due(records: Records) -> None:
    asked_at = from_now(-1)
    enqueue(
        records, "i", available_at=utc_now()
    )  # It becomes available after the question whose time is `asked_at`.
    assert records.inputs.next_ready(asked_at, busy_sessions=(), waiting_inputs=()) is None
    assert records.inputs.next_due(asked_at) is not None


def test_a_deep_queue_is_read_in_order_and_not_sorted(records: Records) -> None:
    from holaboss_runtime.store.inputs import _READY  # pyright: ignore[reportPrivateUsage]

    plan = records.database.rows(f"EXPLAIN QUERY PLAN {_READY}", (utc_now(), "[]", "[]"))
    details = [row["detail"] for row in plan]
    assert details[0] == "SCAN i USING INDEX inputs_ready"
    assert not any("TEMP B-TREE" in detail for detail in details)


def test_the_layout_of_a_transcript_reads_no_answer(records: Records) -> None:
    plan = records.database.rows(
        "EXPLAIN QUERY PLAN SELECT seq, input_id, user_chars, user_lines, answer_chars, answer_lines, steps"
        " FROM turn_results WHERE session_id = ? ORDER BY seq",
        ("s",),
    )
    assert [row["detail"] for row in plan] == [
        "SEARCH turn_results USING COVERING INDEX turn_results_layout (session_id=?)"
    ]


def test_history_keeps_the_newest_turns_that_fit(records: Records) -> None:
    for seq in range(1, 101):
        records.harness_history.insert("s", seq, "native", 1, "x" * 98)

    def seqs(max_chars: int) -> list[int]:
        return [row.seq for row in records.harness_history.newest("s", max_chars=max_chars)]

    assert seqs(1000) == list(range(91, 101))
    assert seqs(10**9) == list(range(1, 101))
    assert seqs(1) == [100]
    assert records.harness_history.newest("nobody", max_chars=10) == []


def test_a_section_is_stored_once(records: Records) -> None:
    from holaboss_runtime.store.request_snapshots import RequestSnapshot

    for name in ("i", "j"):
        records.snapshots.save("w", "s", RequestSnapshot(name, "k", "f", {"a": 1}), {"p": "text"})
    assert records.database.scalar("SELECT count(*) FROM prompt_sections") == 1
    assert records.snapshots.section("p") == "text"
    again = RequestSnapshot("i", "k", "g", {"a": 2})
    records.snapshots.save("w", "s", again, {})
    assert records.snapshots.get("i") == again


def test_a_clock_that_is_set_back_does_not_hold_a_message(records: Records) -> None:
    enqueue(records, "i1")
    an_hour_ago = from_now(-3600)
    ready = records.inputs.next_ready(an_hour_ago, busy_sessions=(), waiting_inputs=())
    assert ready is not None
    assert records.inputs.next_due(an_hour_ago) is None
