"""The queue as workers see it: order, claims that never meet, leases, and what becomes of a lost claim."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.clock import from_now, seconds_until
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.inputs import InputRecords
from holaboss_runtime.store.queue import InputQueue, NewInput, QueuedInput

RUNTIME = str(Path(__file__).parents[3] / "runtime")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "runtime.db")
    for workspace in ("w", "v"):
        opened.execute(
            "INSERT INTO workspaces (id, workspace_path, name, status, harness, created_at, updated_at)"
            " VALUES (?1, '/' || ?1, 'W', 'active', 'native', ?2, ?2)",
            (workspace, utc_now()),
        )
    yield opened
    opened.close()


@pytest.fixture
def queue(database: Database) -> InputQueue:
    return InputQueue(database)


def put(queue: InputQueue, name: str, session: str = "s", **fields: object) -> QueuedInput:
    return queue.enqueue("w", session, {"text": name}, input_id=name, **fields)  # type: ignore[arg-type]


def ids(items: list[QueuedInput]) -> list[str]:
    return [item.input_id for item in items]


def taken(queue: InputQueue, limit: int = 10, worker: str = "worker-1", **fields: object) -> list[str]:
    return ids(queue.claim(limit, worker, 60, **fields))  # type: ignore[arg-type]


def session(database: Database, session_id: str = "s") -> dict[str, object]:
    row = database.row("SELECT * FROM agent_sessions WHERE session_id = ?", (session_id,))
    assert row is not None
    return row


def test_the_highest_priority_first_then_the_oldest(queue: InputQueue) -> None:
    for name, priority in (("a", 0), ("b", 5), ("c", 5), ("d", -1)):
        put(queue, name, name, priority=priority)
    assert taken(queue, 3) == ["b", "c", "a"]
    assert taken(queue, 3) == ["d"]
    assert taken(queue) == []


def test_distinct_sessions_takes_one_of_each(queue: InputQueue) -> None:
    put(queue, "session-one-first", "session-one", priority=5)
    put(queue, "session-one-second", "session-one", priority=4)
    put(queue, "session-two", "session-two", priority=3)
    assert taken(queue, 2, distinct_sessions=True) == ["session-one-first", "session-two"]
    assert taken(queue, 2, distinct_sessions=True) == []


def test_without_it_a_session_may_have_several(queue: InputQueue) -> None:
    for name in "abc":
        put(queue, name)
    assert taken(queue, 2) == ["a", "b"]
    assert taken(queue) == []  # a session that has one claimed is being worked on


def test_sessions_are_left_out_on_request(queue: InputQueue) -> None:
    put(queue, "a", "s")
    put(queue, "b", "t")
    assert taken(queue, exclude_session_ids=("s",)) == ["b"]


def test_a_claim_says_whose_it_is_and_until_when(queue: InputQueue) -> None:
    put(queue, "a")
    [claimed] = queue.claim(1, "worker-1", 60)
    assert (claimed.status, claimed.claimed_by, claimed.payload) == ("CLAIMED", "worker-1", {"text": "a"})
    assert 50 < seconds_until(claimed.claimed_until or "") < 61
    assert queue.get("a") == claimed


def test_only_the_owner_renews_and_completes(queue: InputQueue, database: Database) -> None:
    put(queue, "a")
    assert queue.renew("a", "worker-1", 60) is None
    queue.claim(1, "worker-1", 1)
    renewed = queue.renew("a", "worker-1", 600)
    assert renewed is not None
    assert seconds_until(renewed.claimed_until or "") > 500
    assert queue.renew("a", "worker-2", 60) is None
    assert queue.complete("a", "DONE", "worker-2") is None
    done = queue.complete("a", "DONE", "worker-1")
    assert done is not None
    assert (done.status, done.claimed_by, done.claimed_until) == ("DONE", None, None)
    assert queue.complete("a", "FAILED", "worker-1") is None
    assert database.scalar("SELECT processed_at IS NOT NULL FROM session_events WHERE event_id = 'a'") == 1
    with pytest.raises(DomainError):
        queue.complete("a", "QUEUED", "worker-1")


def test_a_key_enqueues_once_in_a_workspace(queue: InputQueue, database: Database) -> None:
    first = queue.enqueue("w", "s", {"text": "one"}, idempotency_key="k")
    assert queue.enqueue("w", "s", {"text": "two"}, idempotency_key="k") == first
    assert queue.by_key("w", "k") == first
    assert queue.enqueue("v", "t", {"text": "three"}, idempotency_key="k") != first
    twice = queue.enqueue_all([NewInput("w", "s", {}, idempotency_key=key) for key in ("k", "new", "new")])
    assert twice[0] == first.input_id
    assert twice[1] == twice[2] != first.input_id
    assert database.scalar("SELECT count(*) FROM session_events") == 3


def test_asking_the_same_again_changes_nothing(queue: InputQueue, database: Database) -> None:
    queue.enqueue("w", "s", {}, idempotency_key="k")
    database.execute("UPDATE agent_sessions SET hold = 'user_pause'")
    before = session(database)
    queue.enqueue("w", "s", {}, idempotency_key="k")
    assert session(database) == before


def test_an_input_is_an_event_of_a_session_that_is_there_from_then_on(
    queue: InputQueue, database: Database
) -> None:
    made = queue.enqueue("w", "new", {"text": "x"}, event_type="user.define_outcome")
    event = database.row("SELECT * FROM session_events WHERE event_id = ?", (made.input_id,))
    assert event is not None
    assert (event["type"], event["processed_at"]) == ("user.define_outcome", None)
    assert session(database, "new")["status"] == "rescheduling"
    queue.claim(1, "w1", 60)
    queue.complete(made.input_id, "DONE", "w1")
    assert session(database, "new")["status"] == "idle"


@pytest.mark.parametrize(
    ("workspace", "session_id", "code"),
    [
        ("none", "x", "workspace_not_found"),
        ("v", "s", "session_not_found"),
        ("w", "over", "session_terminated"),
    ],
)
def test_what_cannot_be_enqueued_leaves_nothing(
    queue: InputQueue, database: Database, workspace: str, session_id: str, code: str
) -> None:
    put(queue, "a", "s")
    put(queue, "b", "over")
    database.execute("UPDATE agent_sessions SET status = 'terminated' WHERE session_id = 'over'")
    with pytest.raises(DomainError) as raised:
        queue.enqueue_all([NewInput("w", "s", {}), NewInput(workspace, session_id, {})])
    assert raised.value.code == code
    with pytest.raises(DomainError) as raised:
        put(queue, "a", "s")
    assert raised.value.code == "input_exists"
    assert database.scalar("SELECT count(*) FROM session_events") == 2


def test_asking_anew_ends_a_hold_and_an_old_error(queue: InputQueue, database: Database) -> None:
    put(queue, "a")
    database.execute("UPDATE agent_sessions SET hold = 'user_pause', last_error = '{}', status = 'idle'")
    assert taken(queue) == []
    put(queue, "b")
    assert {key: session(database)[key] for key in ("hold", "last_error", "status")} == {
        "hold": None,
        "last_error": None,
        "status": "rescheduling",
    }
    assert taken(queue) == ["a", "b"]


@pytest.mark.parametrize(
    "obstacle",
    [
        "UPDATE agent_sessions SET hold = 'user_pause'",
        "UPDATE agent_sessions SET status = 'terminated'",
        "UPDATE agent_sessions SET lease_owner = 'server', lease_until = '9999'",
        "UPDATE agent_session_inputs SET available_at = '9999'",
        "INSERT INTO pending_actions (id, session_id, wake_id, kind, tool_name, input, input_hash, event_id,"
        " requested_at) VALUES ('p', 's', 'k', 'question', 'q', '{}', '', 'e', '')",
    ],
)
def test_what_keeps_a_session_from_running(queue: InputQueue, database: Database, obstacle: str) -> None:
    put(queue, "a")
    put(queue, "b", "other")
    database.execute("UPDATE agent_session_inputs SET available_at = '8888' WHERE session_id = 'other'")
    database.execute(obstacle)
    assert taken(queue) == []
    assert taken(queue, distinct_sessions=True) == []


def test_an_interrupt_reaches_a_session_that_waits_for_decisions(
    queue: InputQueue, database: Database
) -> None:
    put(queue, "a", priority=9)
    put(queue, "stop", event_type="user.interrupt")
    database.execute(
        "INSERT INTO pending_actions (id, session_id, wake_id, kind, tool_name, input, input_hash, event_id,"
        " requested_at) VALUES ('p', 's', 'k', 'question', 'q', '{}', '', 'e', '')"
    )
    assert taken(queue, distinct_sessions=True) == ["stop"]


def test_the_owner_of_a_lease_and_an_old_lease_are_no_obstacle(queue: InputQueue, database: Database) -> None:
    put(queue, "a", "s")
    put(queue, "b", "t")
    database.execute(
        "UPDATE agent_sessions SET lease_owner = 'worker-1', lease_until = '9999' WHERE session_id = 's'"
    )
    database.execute(
        "UPDATE agent_sessions SET lease_owner = 'gone', lease_until = ? WHERE session_id = 't'",
        (from_now(-1),),
    )
    assert taken(queue) == ["a", "b"]


@pytest.mark.parametrize("distinct", [False, True])
def test_an_input_that_is_tried_again_keeps_its_session_behind_it(
    queue: InputQueue, database: Database, distinct: bool
) -> None:
    put(queue, "again")
    put(queue, "important", priority=9)
    database.execute("UPDATE agent_session_inputs SET attempt = 1 WHERE input_id = 'again'")
    assert taken(queue, distinct_sessions=distinct) == ["again"]
    queue.complete("again", "DONE", "worker-1")
    assert taken(queue) == ["important"]


def test_a_lost_claim_is_listed_and_queued_again_once(queue: InputQueue, database: Database) -> None:
    put(queue, "a")
    queue.claim(1, "worker-1", -1)
    assert ids(queue.expired()) == ["a"]
    assert queue.expired("2001") == []
    [back] = queue.recover_expired()
    assert (back.status, back.attempt, back.claimed_by) == ("QUEUED", 1, None)
    queue.claim(1, "worker-2", -1)
    [failed] = queue.recover_expired()
    assert failed.status == "FAILED"
    assert "claim_expired" in str(session(database)["last_error"])
    assert session(database)["status"] == "idle"
    assert database.scalar("SELECT processed_at IS NOT NULL FROM session_events") == 1
    assert queue.recover_expired() == []
    assert queue.complete("a", "DONE", "worker-1") is None


def test_a_claim_that_got_somewhere_is_not_done_twice(queue: InputQueue, database: Database) -> None:
    put(queue, "a")
    queue.claim(1, "worker-1", -1)
    database.execute(
        "INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, created_at)"
        " VALUES ('w', 's', 'a', 1, 'tool_call', '')"
    )
    assert [item.status for item in queue.recover_expired()] == ["FAILED"]


def test_the_input_of_a_run_is_left_to_the_recovery_of_runs(queue: InputQueue, database: Database) -> None:
    put(queue, "a")
    queue.claim(1, "worker-1", -1)
    database.execute(
        "INSERT INTO wakes (wake_id, session_id, lead_input_id, epoch, started_at) VALUES ('k', 's', 'a', 1, '')"
    )
    database.execute("INSERT INTO wake_inputs (wake_id, input_id, position) VALUES ('k', 'a', 0)")
    assert ids(queue.expired()) == ["a"]
    assert queue.recover_expired() == []
    database.execute("UPDATE wakes SET ended_at = ''")
    assert ids(queue.recover_expired()) == ["a"]


def test_several_end_at_once_and_only_what_was_claimed(queue: InputQueue) -> None:
    made = queue.enqueue_all([NewInput("w", f"s{number % 2}", {"n": number}) for number in range(4)])
    assert taken(queue) == made
    assert queue.complete_all([*made[:3], "unknown"], "DONE", "worker-2") == []
    assert sorted(queue.complete_all([*made[:3], "unknown"], "DONE", "worker-1")) == sorted(made[:3])
    assert [item.status for item in map(queue.get, made) if item] == ["DONE"] * 3 + ["CLAIMED"]


def test_a_decision_does_not_come_through_the_queue(queue: InputQueue, database: Database) -> None:
    with pytest.raises(DomainError) as raised:
        put(queue, "a", event_type="user.tool_confirmation")
    assert raised.value.code == "event_type_invalid"
    assert database.scalar("SELECT count(*) FROM agent_sessions") == 0


def test_the_files_of_an_agent_hear_of_every_step(queue: InputQueue, database: Database) -> None:
    database.execute(
        "INSERT INTO agents (agent_id, workspace_id, provider, model, runner, config_fingerprint, source, created_at,"
        " updated_at) VALUES ('a', 'w', 'p', 'm', 'r', 'f', 'file', '', '')"
    )
    put(queue, "first")
    assert database.tuples("SELECT * FROM projection_outbox") == []
    database.execute(
        "INSERT INTO agent_sessions (session_id, workspace_id, agent_id, created_by, created_at, updated_at)"
        " VALUES ('theirs', 'w', 'a', 'u', '', '')"
    )

    def noted() -> list[tuple[str, str]]:
        found = database.tuples("SELECT session_id, stream FROM projection_outbox ORDER BY stream")
        database.execute("DELETE FROM projection_outbox")
        return found

    both = [("theirs", "events"), ("theirs", "session")]
    put(queue, "one", "theirs")
    assert noted() == both
    queue.claim(9, "worker-1", -1)
    queue.complete("one", "DONE", "worker-1")
    assert noted() == both
    put(queue, "two", "theirs")
    queue.claim(9, "worker-1", -1)
    noted()
    queue.recover_expired()
    assert noted() == both
    queue.force("two", "CANCELLED")
    assert noted() == both


def test_has_ready(queue: InputQueue, database: Database) -> None:
    assert not queue.has_ready("s")
    put(queue, "a")
    assert queue.has_ready("s")
    database.execute("UPDATE agent_session_inputs SET available_at = '9999'")
    assert not queue.has_ready("s")


WORKER = """
import sys
from pathlib import Path
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.queue import InputQueue
queue = InputQueue(Database.open(Path(sys.argv[1]), beside_others=True))
sys.stdin.read()
while claimed := queue.claim(3, sys.argv[2], 60, distinct_sessions=True):
    print(*(item.input_id for item in claimed), flush=True)
    queue.complete_all([item.input_id for item in claimed[:2]], "DONE", sys.argv[2])
"""


def test_several_processes_never_get_the_same_input(
    database: Database, queue: InputQueue, tmp_path: Path
) -> None:
    made = queue.enqueue_all([NewInput("w", f"s{number % 60}", {}) for number in range(300)])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, tmp_path / "runtime.db", f"worker-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": RUNTIME},
        )
        for number in range(4)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.stdin = None
    got = Counter(" ".join(worker.communicate()[0] for worker in workers).split())
    assert all(worker.returncode == 0 for worker in workers)
    assert set(got.values()) == {1}
    assert set(got) <= set(made)
    # What was claimed and not completed keeps its session; no session has two of those.
    held = database.rows(
        "SELECT session_id, count(*) AS n FROM agent_session_inputs WHERE status = 'CLAIMED' GROUP BY session_id"
    )
    assert {row["n"] for row in held} <= {1}
    left = database.scalar("SELECT count(*) FROM agent_session_inputs WHERE status = 'QUEUED'")
    assert len(got) == len(made) - left
    assert taken(queue, distinct_sessions=True) == []


def test_what_messages_name_is_known_until_they_are_taken_back(database: Database, queue: InputQueue) -> None:
    inputs = InputRecords(database)
    odd: dict[str, object] = {"text": "b1", "attachments": ["b1", {"workspace_path": "x/b1/a.txt"}]}
    queue.enqueue("w", "s", odd, input_id="one")
    queue.enqueue("v", "t", {"attachments": [{"workspace_path": "x/b1/b.txt"}]}, input_id="two")
    put(queue, "words about b1")
    assert inputs.attached("w", "b1") == {"x/b1/a.txt"}
    assert inputs.attached("w", "b2") == set()
    assert inputs.leave_queue("one", "CANCELLED")
    assert inputs.attached("w", "b1") == set()


def test_a_deep_queue_is_claimed_in_order_and_not_sorted(database: Database) -> None:
    from holaboss_runtime.store.queue import _READY  # pyright: ignore[reportPrivateUsage]

    plan = database.rows(f"EXPLAIN QUERY PLAN {_READY}", (utc_now(), "w", "[]", 1, 1))
    details = [row["detail"] for row in plan]
    assert details[0] == "SCAN i USING INDEX inputs_ready"
    assert not any("TEMP B-TREE" in detail for detail in details)
