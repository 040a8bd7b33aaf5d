"""Typed events, wakes, decisions, scheduled wakes, resources and the inspection lists, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from holaboss_client.agents import AppendEvent, AttachResource, DecideAction, ScheduleWake
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession
from holaboss_runtime.sessions.wake import WakeOutcome
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import append, new_agent_session, problem_of, refused, say
from tests.support.fake_harness import Stage
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


async def asks(stage: Stage) -> None:
    """Asks once for leave to run a command, then says how it went."""
    decision = stage.decision()
    if decision is None:
        stage.ask("bash", {"command": "ls"})
    stage.say(decision.outcome)


def heard(core: Core) -> asyncio.Event:
    """Set as soon as a wake that somebody waits for has reached the worker."""
    reached, run_now = asyncio.Event(), core.sessions.orchestrator.run_now

    async def noted(session_id: str, reason: str) -> WakeOutcome:
        reached.set()
        return await run_now(session_id, reason)

    core.sessions.orchestrator.run_now = noted  # type: ignore[method-assign]
    return reached


async def test_an_event_is_appended_once_and_read_back(client: RuntimeClient, core: Core) -> None:
    session = await new_agent_session(client)
    appended = await say(client, session, "hello", event_id="e-1")
    assert (appended.input_id, appended.event.event_id) == ("e-1", "e-1")
    assert appended.event.processed_at is None
    assert await say(client, session, "hello again", event_id="e-1") == appended
    keyed = await say(client, session, "two", idempotency_key="k")
    assert await say(client, session, "two", idempotency_key="k") == keyed
    page = await client.session_events(session, types=["user.message"])
    assert [event.payload["text"] for event in page.items] == ["hello", "two"]
    assert page.last_seq == page.items[-1].seq
    status = await client.session_status(session)
    assert (status.pending_events, status.next_pending_type) == (2, "user.message")


async def test_the_log_is_read_in_pages_and_by_wake(client: RuntimeClient) -> None:
    session = await new_agent_session(client)
    await say(client, session, "one")
    report = await client.wake(session, reason="by hand", wait=True)
    await say(client, session, "two")
    everything = (await client.session_events(session)).items
    assert [event.seq for event in everything] == sorted(event.seq for event in everything)
    middle = everything[3]
    after = (await client.session_events(session, after_seq=middle.seq, limit=2)).items
    assert after == everything[4:6]
    before = (await client.session_events(session, before_seq=middle.seq, limit=2)).items
    assert before == everything[1:3]
    trace = (await client.session_events(session, wake_id=report.wake_id)).items
    assert trace == everything[:-1]
    assert {"user.message", "span.started", "agent.message", "span.completed"} <= {e.type for e in trace}
    two = await client.session_events(session, types=["user.message", "agent.message"])
    assert [event.type for event in two.items] == ["user.message", "agent.message", "user.message"]


async def test_a_wake_that_is_waited_for_reports_what_it_did(client: RuntimeClient) -> None:
    session = await new_agent_session(client)
    one, two = await say(client, session, "one"), await say(client, session, "two")
    report = await client.wake(session, reason="by hand", wait=True)
    assert (report.executed, report.result, report.status) == (True, "success", "idle")
    assert report.processed_event_ids == [one.input_id, two.input_id]
    assert report.consumed == ["user.message: one", "user.message: two"]
    assert report.response is not None
    assert report.model == "openai/m-default"
    idle = await client.wake(session, wait=True)
    assert (idle.executed, idle.skipped) == (False, "idle")


async def test_a_wake_nobody_waits_for_answers_at_once(client: RuntimeClient, core: Core, url: str) -> None:
    release = asyncio.Event()

    async def slow(stage: Stage) -> None:
        stage.say("working")
        await release.wait()

    core.harness.script = slow
    session = await new_agent_session(client)
    await say(client, session, "hello")
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        reply = await http.post(f"{url}/api/v1/agent-sessions/{session}/wake", json={})
    assert (reply.status_code, reply.json()["skipped"], reply.json()["executed"]) == (202, None, False)
    await core.until(lambda: core.harness.running == 1)
    again = await client.wake(session)
    assert (again.executed, again.skipped, again.status) == (False, None, "running")
    assert again.wake_id is not None
    reached = heard(core)
    waiting = asyncio.create_task(client.wake(session, wait=True))
    await reached.wait()
    release.set()
    finished = await waiting
    assert (finished.wake_id, finished.result) == (again.wake_id, "success")
    nothing = await client.wake(session)
    assert (nothing.executed, nothing.skipped, nothing.status) == (False, "idle", "idle")
    assert len(core.harness.packages) == 1


async def test_a_client_that_goes_away_does_not_stop_its_run(
    client: RuntimeClient, core: Core, url: str
) -> None:
    release = asyncio.Event()

    async def slow(stage: Stage) -> None:
        await release.wait()
        stage.say("done all the same")

    core.harness.script = slow
    session = await new_agent_session(client)
    await say(client, session, "hello")
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        path = f"{url}/api/v1/agent-sessions/{session}/wake"
        asking = asyncio.create_task(http.post(path, json={"wait": True}))
        await core.until(lambda: core.harness.running == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    reached = heard(core)
    waiting = asyncio.create_task(client.wake(session, wait=True))
    await reached.wait()
    release.set()
    report = await waiting
    assert (report.result, report.response) == ("success", "done all the same")


async def test_a_wake_that_cannot_run_says_why(client: RuntimeClient, core: Core) -> None:
    session = await new_agent_session(client)
    core.harness.script = asks
    await say(client, session, "hello")
    assert (await client.wake(session, wait=True)).result == "blocked"
    assert (await client.wake(session)).skipped == "requires_action"
    await client.terminate(session)
    assert (await client.wake(session)).skipped == "terminated"


async def test_a_request_is_decided_once(client: RuntimeClient, core: Core) -> None:
    core.harness.script = asks
    session = await new_agent_session(client)
    await say(client, session, "look around")
    await client.wake(session, wait=True)
    (action,) = (await client.pending_actions(session, only_open=True)).items
    assert (action.tool_name, action.input, action.status) == ("bash", {"command": "ls"}, "open")
    assert (await client.session_status(session)).pending_actions == [action]
    appended = await client.decide_action(session, action.id, DecideAction(allowed=True, note="go on"))
    assert appended.event.type == "user.tool_confirmation"
    assert appended.event.payload["request_id"] == action.id
    assert (await client.pending_actions(session, only_open=True)).count == 0
    (decided,) = (await client.pending_actions(session)).items
    assert (decided.status, decided.note) == ("approved", "go on")
    with pytest.raises(ProblemError) as twice:
        await client.decide_action(session, action.id, DecideAction(allowed=False))
    assert problem_of(twice.value) == (409, "action_not_open")
    assert session in str(twice.value)
    assert action.id in str(twice.value)
    assert (await client.wake(session, wait=True)).response == "approved"


async def test_the_result_of_a_custom_tool_may_be_any_json(client: RuntimeClient, core: Core) -> None:
    async def script(stage: Stage) -> None:
        decision = stage.decision()
        if decision is None:
            stage.ask("lookup", {"id": 1}, kind="custom_tool")
        stage.say(f"found: {decision.output}")

    core.harness.script = script
    session = await new_agent_session(client)
    await say(client, session, "find it")
    await client.wake(session, wait=True)
    (action,) = (await client.pending_actions(session)).items
    appended = await client.decide_action(session, action.id, DecideAction(output={"name": "Ada"}))
    assert appended.event.payload["output"] == '{"name":"Ada"}'
    assert (await client.wake(session, wait=True)).response == 'found: {"name":"Ada"}'


async def test_wakes_are_scheduled_once_and_taken_back(client: RuntimeClient, core: Core) -> None:
    session = await new_agent_session(client)
    wish = ScheduleWake(reason="look again", delay_seconds=600, dedupe_key="k", priority="high")
    wake = await client.schedule_wake(session, wish)
    assert (await client.schedule_wake(session, wish)).id == wake.id
    assert (await client.scheduled_wakes(session)).items == [wake]
    status = await client.session_status(session)
    assert (status.status, status.queued_wakes, status.next_wake_at) == ("rescheduling", 1, wake.due_at)
    cancelled = await client.cancel_wake(session, wake.id)
    assert (cancelled.outcome, cancelled.completed_at is None) == ("cancelled", False)
    assert (await client.scheduled_wakes(session)).count == 0
    assert (await client.session_status(session)).status == "idle"
    with pytest.raises(ProblemError) as twice:
        await client.cancel_wake(session, wake.id)
    assert problem_of(twice.value) == (409, "wake_not_waiting")
    elsewhere = await new_agent_session(client, "other")
    kept = await client.schedule_wake(elsewhere, wish)
    with pytest.raises(ProblemError) as foreign:
        await client.cancel_wake(session, kept.id)
    assert problem_of(foreign.value) == (404, "wake_not_found")
    assert (await client.scheduled_wakes(elsewhere)).count == 1


async def test_resources(client: RuntimeClient, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("numbers")
    session = await new_agent_session(client)
    before = (await client.resources(session)).count
    attached = await client.attach_resource(session, AttachResource(source_ref=str(report)))
    assert (attached.kind, attached.access) == ("local_file", "read_only")
    again = await client.attach_resource(session, AttachResource(source_ref=str(report)))
    assert again == attached
    listed = await client.resources(session)
    assert (listed.count, listed.items[-1]) == (before + 1, attached)
    assert attached in (await client.session_status(session)).resources


async def test_terminate_ends_a_session_for_good(client: RuntimeClient) -> None:
    session = await new_agent_session(client)
    await say(client, session, "hello")
    await client.schedule_wake(session, ScheduleWake(reason="later", delay_seconds=60))
    state = await client.terminate(session)
    assert (state.status, state.effective_state, state.has_queued_inputs) == ("terminated", "IDLE", False)
    assert await client.terminate(session) == state
    status = await client.session_status(session)
    assert (status.status, status.pending_events, status.queued_wakes) == ("terminated", 0, 0)
    refusals: list[Callable[[], Awaitable[Any]]] = [
        lambda: say(client, session, "more"),
        lambda: append(client, session, "user.interrupt", {}),
        lambda: client.schedule_wake(session, ScheduleWake(reason="x", delay_seconds=1)),
        lambda: client.attach_resource(session, AttachResource(source_ref="/etc")),
    ]
    for refusal in refusals:
        with pytest.raises(ProblemError) as ended:
            await refusal()
        assert problem_of(ended.value) == (409, "session_terminated")


async def test_every_operation_shows_in_the_change_feed(
    client: RuntimeClient, core: Core, tmp_path: Path
) -> None:
    core.harness.script = asks
    (tmp_path / "shared").mkdir()
    session = await new_agent_session(client)

    async def seen(operation: Awaitable[Any]) -> tuple[Any, set[str]]:
        position = core.changes.last_seq()
        result = await operation
        changes = core.changes.after(position) or []
        assert all(change.session_id == session for change in changes)
        return result, {change.kind for change in changes}

    state, queue, shown = str(Change.SESSION_STATE), str(Change.QUEUE), str(Change.SESSION)
    assert (await seen(say(client, session, "hello")))[1] == {state, queue, shown}
    assert (await seen(client.wake(session, wait=True)))[1] == {state, queue, shown}
    last = [c for c in core.changes.after(0) or [] if c.kind == Change.SESSION_STATE][-1].payload
    assert (last["effective_state"], last["open_actions"]) == ("WAITING_USER", 1)
    (action,) = (await client.pending_actions(session)).items
    _, kinds = await seen(client.decide_action(session, action.id, DecideAction(allowed=False)))
    assert kinds == {state, queue, shown}
    last = [c for c in core.changes.after(0) or [] if c.kind == Change.SESSION_STATE][-1].payload
    assert last["open_actions"] == 0
    wake, kinds = await seen(client.schedule_wake(session, ScheduleWake(reason="x", delay_seconds=60)))
    assert kinds == {state}
    assert (await seen(client.cancel_wake(session, wake.id)))[1] == {state}
    attach = client.attach_resource(session, AttachResource(source_ref=str(tmp_path / "shared")))
    assert (await seen(attach))[1] == {shown}
    assert (await seen(client.terminate(session)))[1] == {state, queue, shown}


MISSING = "/agent-sessions/nope"


NOT_THERE: list[tuple[str, str, Any, int, str]] = [
    (
        "POST",
        f"{MISSING}/events",
        {"type": "user.message", "payload": {"text": "x"}},
        404,
        "session_not_found",
    ),
    ("GET", f"{MISSING}/events", None, 404, "session_not_found"),
    ("POST", f"{MISSING}/wake", {}, 404, "session_not_found"),
    ("POST", f"{MISSING}/wake", {"wait": True}, 404, "session_not_found"),
    ("GET", f"{MISSING}/status", None, 404, "session_not_found"),
    ("POST", f"{MISSING}/terminate", None, 404, "session_not_found"),
    ("GET", f"{MISSING}/pending-actions", None, 404, "session_not_found"),
    ("POST", f"{MISSING}/pending-actions/x", {"allowed": True}, 404, "session_not_found"),
    ("GET", f"{MISSING}/wakes", None, 404, "session_not_found"),
    ("POST", f"{MISSING}/wakes", {"reason": "x", "delay_seconds": 1}, 404, "session_not_found"),
    ("DELETE", f"{MISSING}/wakes/x", None, 404, "session_not_found"),
    ("GET", f"{MISSING}/resources", None, 404, "session_not_found"),
    ("POST", f"{MISSING}/resources", {"source_ref": "/x"}, 404, "session_not_found"),
    ("GET", f"{MISSING}/turn-results", None, 404, "session_not_found"),
    ("GET", f"{MISSING}/request-snapshots", None, 404, "session_not_found"),
    ("GET", f"{MISSING}/compaction-boundaries", None, 404, "session_not_found"),
    ("GET", f"{MISSING}/resume-context", None, 404, "session_not_found"),
    ("GET", "/workspaces/nope/search?q=x", None, 404, "workspace_not_found"),
    ("GET", f"/workspaces/{WORKSPACE}/search?q=%20", None, 422, "query_required"),
    ("GET", f"/workspaces/{WORKSPACE}/search", None, 422, "invalid_request"),
    ("GET", "/agent-sessions/..%2F..%2Fetc/status", None, 404, "route_not_found"),
    ("GET", "/agent-sessions/s%00/status", None, 404, "session_not_found"),
    ("GET", "/agent-sessions/%2e%2e/status", None, 404, "session_not_found"),
]


async def test_what_is_not_there_is_a_problem(url: str) -> None:
    for method, path, body, status, code in NOT_THERE:
        problem = await refused(url, method, path, body)
        assert (problem.status, problem.code) == (status, code), f"{method} {path}"


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "events", {"type": "user.dance", "payload": {}}, 422, "event_type_unknown"),
    ("POST", "events", {"type": "session.wake_due", "payload": {}}, 422, "event_type_unknown"),
    ("POST", "events", {"type": "agent.message", "payload": {}}, 422, "event_type_unknown"),
    ("POST", "events", {"type": "user.message", "payload": {"text": " "}}, 422, "text_required"),
    ("POST", "events", {"type": "user.message", "payload": {"text": 1}}, 422, "payload_invalid"),
    ("POST", "events", {"type": "user.message", "payload": []}, 422, "invalid_request"),
    ("POST", "events", {"type": "user.define_outcome", "payload": {}}, 422, "title_required"),
    ("POST", "events", {"type": "user.tool_confirmation", "payload": {}}, 422, "decision_required"),
    ("POST", "events", {"type": "user.custom_tool_result", "payload": {}}, 422, "output_required"),
    (
        "POST",
        "events",
        {"type": "user.message", "payload": {"text": "x"}, "event_id": "../../x"},
        422,
        "event_id_invalid",
    ),
    (
        "POST",
        "events",
        {"type": "user.message", "payload": {"text": "x" * (4 << 20)}},
        413,
        "payload_too_large",
    ),
    (
        "POST",
        "events",
        {"type": "user.tool_confirmation", "payload": {"allowed": True}},
        409,
        "action_not_open",
    ),
    (
        "POST",
        "events",
        {"type": "user.tool_confirmation", "payload": {"allowed": True, "request_id": "r-1"}},
        409,
        "action_not_found",
    ),
    ("POST", "pending-actions/r-1", {"allowed": True}, 409, "action_not_found"),
    ("POST", "pending-actions/r-1", {}, 422, "invalid_request"),
    ("POST", "pending-actions/r-1", {"allowed": True, "output": "x"}, 422, "invalid_request"),
    ("POST", "pending-actions/r-1", {"allowed": "yes"}, 422, "invalid_request"),
    ("GET", "pending-actions?status=closed", None, 422, "invalid_request"),
    ("GET", "events?limit=0", None, 422, "invalid_request"),
    ("GET", "events?limit=1001", None, 422, "invalid_request"),
    ("GET", "events?after_seq=-1", None, 422, "invalid_request"),
    ("GET", f"events?before_seq={2**63}", None, 422, "invalid_request"),
    ("POST", "wake", {"reason": ""}, 422, "invalid_request"),
    ("POST", "wakes", {"reason": "x", "delay_seconds": 0}, 422, "invalid_request"),
    ("POST", "wakes", {"reason": "x", "delay_seconds": 100_000}, 422, "invalid_request"),
    ("DELETE", "wakes/nope", None, 404, "wake_not_found"),
    ("POST", "resources", {"source_ref": "relative.txt"}, 422, "resource_source_invalid"),
    ("POST", "resources", {"source_ref": "/nowhere/at/all"}, 422, "resource_source_invalid"),
    ("GET", "turn-results?limit=201", None, 422, "invalid_request"),
    ("GET", "request-snapshots?limit=0", None, 422, "invalid_request"),
    ("GET", "compaction-boundaries?limit=0", None, 422, "invalid_request"),
]


async def test_what_cannot_be_is_refused_and_changes_nothing(
    url: str, client: RuntimeClient, core: Core
) -> None:
    session = await new_agent_session(client)
    position = core.changes.last_seq()
    for method, rest, body, status, code in REFUSED:
        problem = await refused(url, method, f"/agent-sessions/{session}/{rest}", body)
        assert (problem.status, problem.code) == (status, code), f"{method} {rest}: {problem.detail}"
        if code.startswith("action_"):
            assert session in problem.detail
        assert core.changes.last_seq() == position, f"{method} {rest}"
    assert (await client.session_events(session)).count == 0


async def test_a_session_of_the_desktop_has_no_resources(url: str, client: RuntimeClient) -> None:
    made = await client.create_session(CreateSession(workspace_id=WORKSPACE))
    problem = await refused(url, "GET", f"/agent-sessions/{made.session_id}/resources")
    assert (problem.status, problem.code) == (409, "session_kind_mismatch")


async def test_an_event_id_of_another_session_is_not_taken_for_this_one(client: RuntimeClient) -> None:
    one, two = await new_agent_session(client), await new_agent_session(client)
    await say(client, one, "hello", event_id="same")
    with pytest.raises(ProblemError) as taken:
        await say(client, two, "hello", event_id="same")
    assert problem_of(taken.value) == (409, "event_id_in_use")


async def test_a_key_of_another_session_is_not_taken_for_this_one(client: RuntimeClient) -> None:
    """Keys belong to the workspace of the session; the answer still tells where the first one went."""
    one, two = await new_agent_session(client), await new_agent_session(client)
    first = await say(client, one, "hello", idempotency_key="same")
    second = await say(client, two, "hello", idempotency_key="same")
    assert (second.input_id, second.event.session_id) == (first.input_id, one)


async def test_a_message_that_fits_no_log_is_refused_by_the_queue(url: str, core: Core) -> None:
    body = {"workspace_id": WORKSPACE, "session_id": "s1", "text": "x" * (4 << 20)}
    problem = await refused(url, "POST", "/agent-sessions/queue", body)
    assert (problem.status, problem.code) == (413, "payload_too_large")
    assert core.records.sessions.get("s1") is None


def test_the_body_of_a_decision_becomes_its_event() -> None:
    said = DecideAction(allowed=False, note="no").event("r")
    assert said == AppendEvent(
        type="user.tool_confirmation", payload={"request_id": "r", "allowed": False, "note": "no"}
    )
    assert DecideAction(output=None).event("r").payload == {"request_id": "r", "output": None}
