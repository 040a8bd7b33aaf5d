"""What a finished turn owes is paid together with letting go of its session, or later, but never holds the session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.sessions.core import Core

pytestmark = pytest.mark.anyio

_REFUSE = """
CREATE TRIGGER refuse BEFORE INSERT ON post_run_jobs BEGIN SELECT RAISE(ABORT, 'not now'); END
"""


async def test_a_debt_that_cannot_be_paid_keeps_nobody_from_the_next_turn(
    core: Core, allow_log: Callable[..., None]
) -> None:
    allow_log("holaboss_runtime.sessions.continuity", "still owed")
    core.database.execute(_REFUSE)
    assert (await core.ask("first")).event_type == "run_completed"
    await core.until(lambda: core.state().lease_until is None)
    (owing,) = core.records.wakes.owing("s1")
    assert owing.continuity_owed
    assert owing.evolve_owed
    assert core.records.boundaries.latest("s1") is None  # all of it or nothing

    core.database.execute("DROP TRIGGER refuse")
    assert (await core.ask("second")).event_type == "run_completed"
    await core.until(lambda: core.state().lease_until is None)
    assert core.records.wakes.owing("s1") == []
    boundaries = core.database.scalar("SELECT count(*) FROM compaction_boundaries WHERE session_id = 's1'")
    jobs = core.database.scalar("SELECT count(*) FROM post_run_jobs WHERE session_id = 's1'")
    assert (boundaries, jobs) == (2, 2)
