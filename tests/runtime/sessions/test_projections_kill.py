"""Killed at any moment, whoever comes next brings the files up to the database, without a line lost or doubled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent_files import AgentFiles

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("writers", [1, 2])
def test_killed_writers_leave_files_that_can_go_on(tmp_path: Path, writers: int) -> None:
    with AgentFiles(tmp_path) as kept:
        sessions = kept.session(), kept.session()
        for rounds in (1, 2, 4, 7):
            _write_and_die(tmp_path, sessions, rounds=rounds, writers=writers)

            report = kept.projector.flush_now()

            assert report.problems == ()
            for session in sessions:
                assert kept.projector.verify(session) == []
                events = kept.records.events.select(session, limit=100_000)
                lines = kept.lines(session)
                appended = [line["event"]["id"] for line in lines if line["kind"] == "session.event.appended"]
                assert appended == [event.event_id for event in events]
                taken = [line["eventId"] for line in lines if line["kind"] == "session.event.processed"]
                done = [event for event in events if event.type == "user.message" and event.processed_at]
                assert len(taken) == len(set(taken)) == len(done)


def _write_and_die(root: Path, sessions: tuple[str, str], *, rounds: int, writers: int) -> None:
    command = [sys.executable, "-m", "tests.runtime.sessions.projection_child", str(root), *sessions]
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "HOME": str(root)}
    children = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env=environment) for _ in range(writers)
    ]
    for child in children:
        with child:
            assert child.stdout is not None
            for _ in range(rounds):
                assert child.stdout.readline() == b"flushed\n"
            child.kill()
