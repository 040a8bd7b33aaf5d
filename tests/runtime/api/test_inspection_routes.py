"""What runs left behind, over a real socket: lists in pages, the resume context, the index of turns, and search."""

from __future__ import annotations

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import new_agent_session, problem_of, say

pytestmark = pytest.mark.anyio


async def test_what_runs_left_behind_is_listed_in_pages(client: RuntimeClient, core: Core) -> None:
    session = await new_agent_session(client)
    leads = []
    for number in range(4):
        leads.append((await say(client, session, f"question {number}")).input_id)
        await client.wake(session, wait=True)
    newest = leads[::-1]
    turns = (await client.turn_results(session, limit=3)).items
    assert [turn.input_id for turn in turns] == newest[:3]
    rest = await client.turn_results(session, before_seq=turns[-1].seq)
    assert [turn.input_id for turn in rest.items] == newest[3:]
    shots = (await client.request_snapshots(session, limit=3)).items
    assert [shot.input_id for shot in shots] == newest[:3]
    assert shots[0].fingerprint == turns[0].request_snapshot_fingerprint
    rest = await client.request_snapshots(session, before=shots[-1].input_id)
    assert [shot.input_id for shot in rest.items] == newest[3:]
    bounds = (await client.compaction_boundaries(session, limit=3)).items
    assert [bound.input_id for bound in bounds] == newest[:3]
    assert bounds[0].previous_boundary_id == bounds[1].boundary_id
    rest = await client.compaction_boundaries(session, before_seq=bounds[-1].seq)
    assert [bound.input_id for bound in rest.items] == newest[3:]


async def test_the_resume_context_keeps_its_bounds(client: RuntimeClient, core: Core) -> None:
    session = await new_agent_session(client)
    empty = await client.resume_context(session)
    assert empty.session_resume_context is None
    for number in range(6):
        await say(client, session, f"question {number} " + "x" * 500)
        await client.wake(session, wait=True)
    restored = await client.resume_context(session)
    resume = restored.session_resume_context
    assert resume is not None
    assert len(resume["recent_turns"]) == 4
    assert len(resume["recent_user_messages"]) == 3
    assert all(len(message["text"]) <= 220 for message in resume["recent_user_messages"])
    assert resume["recent_user_messages"][0]["text"].startswith("question 5")
    (boundary, *_) = (await client.compaction_boundaries(session)).items
    assert resume["compaction_boundary_id"] == boundary.boundary_id
    assert resume["preserved_turn_input_ids"] == boundary.preserved_turn_input_ids
    assert restored.compaction_restoration_context == boundary.restoration_context
    core.database.execute("DELETE FROM compaction_boundaries")
    rebuilt = await client.resume_context(session)
    assert rebuilt.compaction_restoration_context is None
    assert rebuilt.session_resume_context is not None
    assert rebuilt.session_resume_context["recent_turns"] == resume["recent_turns"]
    assert rebuilt.recent_runtime_context == restored.recent_runtime_context


async def test_the_index_of_turns_can_begin_after_a_turn(client: RuntimeClient, core: Core) -> None:
    made = await client.create_session(CreateSession(workspace_id=WORKSPACE))
    for text in ("one", "two", "three"):
        await say(client, made.session_id, text)
        await client.wake(made.session_id, wait=True)
    rows = (await client.turn_index(WORKSPACE, made.session_id)).rows
    assert len(rows) == 3
    later = await client.turn_index(WORKSPACE, made.session_id, after_seq=rows[0][0])
    assert later.rows == rows[1:]
    assert (await client.turn_index(WORKSPACE, made.session_id, after_seq=rows[2][0])).rows == []


async def test_what_was_said_is_found(client: RuntimeClient) -> None:
    made = await client.create_session(CreateSession(workspace_id=WORKSPACE))
    await say(client, made.session_id, "where is the zebra")
    await client.wake(made.session_id, wait=True)
    found = await client.search(WORKSPACE, "zebra")
    assert {(hit.kind, hit.role) for hit in found.items} == {("message", "user"), ("message", "assistant")}
    assert all("\u0002zebra\u0003" in hit.snippet for hit in found.items)
    first = await client.search(WORKSPACE, "zebra", limit=1)
    rest = await client.search(WORKSPACE, "zebra", before=first.items[0].cursor)
    assert [*first.items, *rest.items] == found.items
    assert (await client.search(WORKSPACE, "zebra", session_id="other")).count == 0
    with pytest.raises(ProblemError) as bad:
        await client.search(WORKSPACE, "zebra", before="x")
    assert problem_of(bad.value) == (400, "cursor_invalid")
