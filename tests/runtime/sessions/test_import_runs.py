"""A session that another program left behind runs here: what waited is answered, and the files follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from holaboss_client.agents import AppendEvent
from holaboss_runtime.sessions.projections.importer import Importer
from holaboss_runtime.sessions.projections.projector import Projector
from tests.runtime.sessions.core import Core, running_core
from tests.support.older_tree import ASKING, BUSY, QUEUED_WAKE, REQUEST, SECOND, TALK, write_older_tree

pytestmark = pytest.mark.anyio


@pytest.mark.allow_log("holaboss_runtime.sessions.projections", "line_torn")
async def test_what_waited_in_an_older_tree_is_answered(tmp_path: Path) -> None:
    write_older_tree(tmp_path)
    _take(tmp_path)

    async with running_core(tmp_path) as core:
        await core.until(lambda: all(_idle(core, session) for session in (TALK, BUSY)))

        assert core.records.events.pending(TALK) == []
        assert [wake.id for wake in core.records.scheduled.waiting(TALK)] == []
        asked = [package.instruction for package in core.harness.packages]
        assert len([text for text in asked if "And now?" in text]) == 1
        assert len([text for text in asked if "Are you there?" in text]) == 1
        assert not any("Look at the repository" in text for text in asked)
        second = core.records.events.get(SECOND)
        assert second is not None
        answers = [event for event in core.records.events.select(TALK) if event.type == "agent.message"]
        assert second.wake_id in [answer.wake_id for answer in answers]
        (consumed,) = core.database.rows("SELECT * FROM session_wakes WHERE id = ?", (QUEUED_WAKE,))
        assert consumed["outcome"] == "consumed"


@pytest.mark.allow_log("holaboss_runtime.sessions.projections", "line_torn")
async def test_a_confirmation_asked_for_elsewhere_is_given_here(tmp_path: Path) -> None:
    write_older_tree(tmp_path)
    _take(tmp_path)

    async with running_core(tmp_path) as core:
        body = {"request_id": REQUEST, "tool_name": "shell_run", "allowed": True}
        core.sessions.control.append(ASKING, AppendEvent(type="user.tool_confirmation", payload=body))
        await core.until(lambda: _idle(core, ASKING))

        action = core.records.actions.get(REQUEST)
        assert action is not None
        assert action.status == "approved"
        assert action.delivered_wake_id is not None
        assert core.records.events.pending(ASKING) == []


@pytest.mark.allow_log("holaboss_runtime.sessions.projections", "line_torn")
async def test_the_files_of_what_ran_say_what_the_database_says(tmp_path: Path) -> None:
    write_older_tree(tmp_path)
    _take(tmp_path)

    async with running_core(tmp_path) as core:
        projector = Projector(core.records, tmp_path)
        await core.until(lambda: all(_idle(core, session) for session in (TALK, BUSY)))
        await projector.flush()

        for session in (TALK, ASKING, BUSY):
            assert projector.verify(session) == []
        assert projector.verify_agent("alpha") == []
        assert not projector.stale(TALK)


def _take(root: Path) -> None:
    core = Core(root)
    Importer(core.records, core.agents).import_new_now()
    core.database.close()


def _idle(core: Core, session_id: str) -> bool:
    session = core.records.sessions.get(session_id)
    assert session is not None
    waiting = core.records.events.pending(session_id) or core.records.scheduled.waiting(session_id)
    return session.status == "idle" and not waiting and session.lease_owner is None
