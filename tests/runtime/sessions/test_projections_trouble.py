"""Writing files can fail in many ways. None of them fails the database, another session, or the next attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.sessions.projections import disk
from holaboss_runtime.sessions.projections.tree_lock import TreeLock
from tests.support.agent_files import AGENT, AgentFiles
from tests.support.processes import PATIENCE_S

PROJECTIONS = "holaboss_runtime.sessions.projections"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[AgentFiles]:
    with AgentFiles(tmp_path) as kept:
        yield kept


@pytest.mark.allow_log(PROJECTIONS, "projection_not_written")
@pytest.mark.parametrize("name", ["events.jsonl", "session.json"])
def test_a_folder_in_the_way_holds_up_one_file_only(kept: AgentFiles, name: str) -> None:
    blocked, fine = kept.session(), kept.session()
    folder = kept.tree.session(AGENT, blocked) / name
    folder.mkdir(parents=True)
    for session in (blocked, fine):
        kept.say(session, "hello")

    first = kept.projector.flush_now()
    again = kept.projector.flush_now()

    assert not first.complete
    assert [problem.path for problem in first.problems] == [str(folder)]
    assert again.problems == first.problems
    assert kept.projector.stale(blocked)
    assert not kept.projector.stale(fine)
    assert kept.projector.verify(fine) == []
    others = {"events.jsonl", "session.json"} - {name}
    assert all((folder.parent / other).is_file() for other in others)

    folder.rmdir()
    assert kept.projector.flush_now().complete
    assert kept.projector.verify(blocked) == []
    assert not kept.projector.stale(blocked)


@pytest.mark.allow_log(PROJECTIONS, "projection_not_written")
def test_a_problem_is_logged_once_until_it_was_well(kept: AgentFiles, strictness: Any) -> None:
    session = kept.session()
    folder = kept.events_file(session)
    folder.mkdir(parents=True)
    kept.say(session, "hello")
    watch = strictness[0]

    kept.projector.flush_now()
    kept.projector.flush_now()
    assert len(_logged(watch)) == 1
    folder.rmdir()
    kept.projector.flush_now()
    folder.unlink()
    folder.mkdir()
    kept.say(session, "again")
    kept.projector.flush_now()

    assert len(_logged(watch)) == 2


@pytest.mark.allow_log(PROJECTIONS, "projection_not_written")
def test_a_full_disk_in_the_middle_of_a_line_is_caught_up_with(
    kept: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = kept.session()
    kept.say(session, "one")
    kept.projector.flush_now()
    kept.say(session, "two")
    kept.say(session, "three")
    append = disk.append

    def full(path: Path, addition: bytes) -> None:
        append(path, addition[:30])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(disk, "append", full)
        report = kept.projector.flush_now()
        assert not report.complete
        assert "No space left" in report.problems[0].detail
    kept.say(session, "four")

    assert kept.projector.flush_now().problems == ()
    assert [line["event"]["message"] for line in kept.lines(session)] == ["one", "two", "three", "four"]


def test_marks_of_a_file_that_cannot_be_written_do_not_pile_up(
    kept: AgentFiles, allow_log: Callable[..., None]
) -> None:
    allow_log(PROJECTIONS, "projection_not_written")
    session = kept.session()
    folder = kept.tree.session_document(AGENT, session)
    folder.mkdir(parents=True)
    for _ in range(5):
        kept.records.outbox.mark(session, "session")
        kept.projector.flush_now()

    assert len(kept.records.outbox.pending(AGENT, session, limit=100)) == 1


@pytest.mark.allow_log(PROJECTIONS, "projection_not_written")
def test_a_link_in_the_tree_is_not_followed(kept: AgentFiles, tmp_path: Path) -> None:
    session = kept.session()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept.tree.make_folder(kept.tree.sessions(AGENT))
    kept.tree.session(AGENT, session).symlink_to(elsewhere)
    kept.say(session, "secret")

    assert not kept.projector.flush_now().complete

    assert list(elsewhere.iterdir()) == []
    assert kept.projector.stale(session)


@pytest.mark.anyio
async def test_two_processes_flush_at_once(kept: AgentFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its own connection and lock, as a server and a command beside it."""
    monkeypatch.setattr(TreeLock.__init__, "__defaults__", (PATIENCE_S,))
    session = kept.session()
    with AgentFiles(kept.root) as other:
        for number in range(60):
            (kept if number % 2 else other).say(session, str(number))
            if number % 5 == 0:
                await asyncio.gather(kept.projector.flush(), other.projector.flush())
        await asyncio.gather(kept.projector.flush(), other.projector.flush())

        assert [line["event"]["message"] for line in kept.lines(session)] == [str(n) for n in range(60)]
        assert kept.projector.verify(session) == []


@pytest.mark.anyio
async def test_a_cancelled_flush_leaves_the_lock_and_a_file_that_can_go_on(kept: AgentFiles) -> None:
    session = kept.session()
    for number in range(20):
        kept.say(session, str(number))
        flushing = asyncio.ensure_future(kept.projector.flush())
        for _ in range(number):
            await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)

    await kept.projector.flush()

    assert [line["event"]["message"] for line in kept.lines(session)] == [str(n) for n in range(20)]
    assert kept.projector.verify(session) == []


@pytest.mark.allow_log(PROJECTIONS, "projection_busy")
def test_a_lock_that_somebody_keeps_is_named_and_nothing_is_lost(
    kept: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = kept.session()
    kept.projector.flush_now()
    kept.say(session, "one")
    monkeypatch.setattr(TreeLock.__init__, "__defaults__", (0.0,))
    lock = TreeLock(kept.tree.agent_runtime(AGENT) / "projection.lock")
    lock.acquire()

    report = kept.projector.flush_now()

    assert [problem.code for problem in report.problems] == ["projection_busy"]
    assert not report.complete
    lock.release()
    assert kept.projector.flush_now().complete
    assert kept.projector.verify(session) == []


def _logged(watch: Any) -> list[str]:
    return [record.getMessage() for record in watch._records if record.name.startswith(PROJECTIONS)]
