"""Jobs that follow a turn: enqueued once, claimed once, tried again, and recovered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.store.clock import seconds_until
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.post_run_jobs import PostRunJob, PostRunJobs


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[PostRunJobs]:
    database = Database.open(tmp_path / "runtime.db")
    yield PostRunJobs(database)
    database.close()


def put(jobs: PostRunJobs, key: str, session: str = "s", **fields: object) -> PostRunJob:
    kind = str(fields.pop("kind", "evolve"))
    return jobs.enqueue(
        kind,
        workspace_id="w",
        session_id=session,
        input_id="i",
        idempotency_key=key,
        **fields,  # type: ignore[arg-type]
    )


def keys(found: list[PostRunJob]) -> list[str | None]:
    return [job.idempotency_key for job in found]


def test_a_key_enqueues_once(jobs: PostRunJobs) -> None:
    first = put(jobs, "k", payload={"a": 1})
    assert (first.status, first.payload, first.attempt) == ("QUEUED", {"a": 1}, 0)
    assert put(jobs, "k", payload={"b": 2}) == first == jobs.get(first.job_id)
    assert keys(jobs.page("w")) == ["k"]
    assert jobs.page("w", status="DONE") == jobs.page("other") == []


def test_order_types_and_sessions(jobs: PostRunJobs) -> None:
    put(jobs, "low")
    put(jobs, "high", priority=2)
    put(jobs, "other", "t", kind="session_checkpoint")
    assert keys(jobs.claim(1, "a", 60, job_types=("session_checkpoint",))) == ["other"]
    assert keys(jobs.claim(9, "a", 60, distinct_sessions=True)) == ["high"]
    assert keys(jobs.claim(9, "a", 60, distinct_sessions=True)) == []
    assert keys(jobs.claim(9, "a", 60)) == ["low"]


def test_only_the_owner_ends_it(jobs: PostRunJobs) -> None:
    job = put(jobs, "k")
    assert jobs.complete(job.job_id, "a") is None
    jobs.claim(1, "a", 60)
    assert jobs.renew(job.job_id, "b", 60) is jobs.complete(job.job_id, "b") is None
    renewed = jobs.renew(job.job_id, "a", 600)
    assert renewed is not None
    assert seconds_until(renewed.claimed_until or "") > 500
    done = jobs.complete(job.job_id, "a")
    assert done is not None
    assert (done.status, done.claimed_by) == ("DONE", None)
    assert jobs.fail(job.job_id, "a", {}, retry_in_s=1) is None


def test_a_failure_is_kept_and_tried_again_until_it_is_enough(jobs: PostRunJobs) -> None:
    job = put(jobs, "k")
    for attempt, status in ((1, "QUEUED"), (2, "QUEUED"), (3, "FAILED")):
        assert keys(jobs.claim(1, "a", 60)) == ["k"]
        failed = jobs.fail(job.job_id, "a", {"message": f"no {attempt}"}, retry_in_s=-1)
        assert failed is not None
        assert (failed.status, failed.attempt) == (status, attempt)
        assert failed.last_error == {"message": f"no {attempt}"}
    assert jobs.claim(1, "a", 60) == []


def test_a_retry_waits_and_some_failures_are_final(jobs: PostRunJobs) -> None:
    later, never = put(jobs, "later"), put(jobs, "never", "t")
    jobs.claim(2, "a", 60)
    asked_at = utc_now()
    jobs.fail(later.job_id, "a", {}, retry_in_s=60)
    final = jobs.fail(never.job_id, "a", {}, retry_in_s=None)
    assert final is not None
    assert final.status == "FAILED"
    assert jobs.claim(2, "a", 60) == []
    assert 50 < seconds_until(jobs.next_due(asked_at) or "") < 61


def test_a_lost_claim_counts_as_an_attempt(jobs: PostRunJobs) -> None:
    put(jobs, "k")
    for status in ("QUEUED", "QUEUED", "FAILED"):
        jobs.claim(1, "a", -1)
        assert keys(jobs.expired()) == ["k"]
        [back] = jobs.recover_expired()
        assert back.status == status
        assert back.last_error is not None
    assert jobs.expired() == jobs.recover_expired() == []
