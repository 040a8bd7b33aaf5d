"""Following events: nothing lost, nothing twice, however a subscriber comes and goes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from holaboss_client.events import Change, OutputEvent
from holaboss_runtime.sessions import subscription
from holaboss_runtime.sessions.subscription import OutputQuery, Ping, Shutdown
from tests.runtime.sessions.core import Core
from tests.support.fake_harness import Stage
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


async def chatter(stage: Stage) -> None:
    for number in range(40):
        stage.say(f"{number} ")
        if number % 10 == 9:
            stage.tool("read")
            await asyncio.sleep(0)


def text_of(events: list[OutputEvent]) -> str:
    return "".join(event.payload["delta"] for event in events if event.event_type == "output_delta")


async def test_resuming_after_any_id_loses_and_repeats_nothing(core: Core) -> None:
    core.harness.script = chatter
    reply = core.send("go")
    whole = [event async for event in core.follow(OutputQuery("s1", input_id=reply.input_id))]
    ids = [event.id for event in whole]
    assert ids == sorted(set(ids))
    assert ids == [event.id for event in core.events()]
    for cut in range(0, len(ids) - 1, 7):
        rest = [event async for event in core.follow(OutputQuery("s1", after_id=ids[cut]))]
        assert [event.id for event in rest] == ids[cut + 1 :]


async def test_coalesced_streams_say_the_same_in_fewer_events(core: Core) -> None:
    core.harness.script = chatter
    reply = core.send("go")
    slow = [event async for event in core.follow(OutputQuery("s1", coalesce_s=5.0))]
    plain = core.events()
    assert text_of(slow) == text_of(plain)
    assert len(slow) < len(plain)
    assert {event.id for event in slow} <= {event.id for event in plain}
    assert slow[-1].id == plain[-1].id
    # An id of the coalesced stream is a place to resume the plain one from.
    middle = slow[len(slow) // 2]
    rest = [event async for event in core.follow(OutputQuery("s1", after_id=middle.id))]
    assert [event.id for event in rest] == [event.id for event in plain if event.id > middle.id]
    assert reply.session_id == "s1"


async def test_a_stream_may_come_before_its_session_and_outlive_turns(core: Core) -> None:
    seen: list[str] = []

    async def read() -> None:
        async for event in core.follow(OutputQuery("later", stop_on_terminal=False)):
            seen.append(event.event_type)
            if seen.count("run_completed") == 2:
                return

    reader = asyncio.create_task(read())
    await asyncio.sleep(0)
    await core.ask("one", session_id="later")
    await core.ask("two", session_id="later")
    await reader
    assert seen.count("run_claimed") == 2


async def test_a_stream_stops_at_the_first_terminal_event(core: Core) -> None:
    await core.ask("one")
    await core.ask("two")
    events = [event async for event in core.follow(OutputQuery("s1"))]
    assert [event.event_type for event in events].count("run_completed") == 1
    assert events[-1].is_terminal


async def test_streams_end_with_the_server(core: Core) -> None:
    await core.ask("one")
    last = core.events()[-1].id
    outputs = core.sessions.follow_outputs(OutputQuery("s1", after_id=last), core.lifetime)
    changes = core.sessions.follow_changes(None, core.lifetime)
    position = core.changes.last_seq()
    core.lifetime.set()
    assert [item async for item in outputs] == [Shutdown(last)]
    assert [item async for item in changes] == [Shutdown(position)]


async def test_what_happens_while_a_subscriber_is_busy_is_not_slept_over(core: Core) -> None:
    await core.ask("one")
    query = OutputQuery("s1", stop_on_terminal=False)
    async with aclosing(core.sessions.follow_outputs(query, core.lifetime)) as stream:
        await anext(stream)
        outputs = core.sessions.records.outputs
        # It is told now, before it sleeps.
        outputs.append("w1", "s1", "other", [("run_notice", {"code": "c", "message": "m"})])
        news = await asyncio.wait_for(anext(stream), PATIENCE_S)
        assert isinstance(news, list)
        assert [event.event_type for event in news] == ["run_notice"]
        core.lifetime.set()
        assert isinstance(await asyncio.wait_for(anext(stream), PATIENCE_S), Shutdown)


async def test_a_silent_stream_pings_also_after_sleeps_that_were_cut_short(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = OutputQuery("s1", stop_on_terminal=False)
    async with aclosing(core.sessions.follow_outputs(query, core.lifetime)) as stream:
        for number in range(3):
            monkeypatch.setattr(subscription, "PING_S", 0.02)
            asleep = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            notice = ("run_notice", {"code": "c", "message": str(number)})
            core.sessions.records.outputs.append("w1", "s1", "other", [notice])
            assert isinstance(await asleep, list)
            monkeypatch.setattr(subscription, "PING_S", 0.1)  # so the timer that was set rings long before
            for _ in range(2):
                assert isinstance(await asyncio.wait_for(anext(stream), PATIENCE_S), Ping)


async def test_a_subscriber_that_vanishes_leaves_nothing_behind(core: Core) -> None:
    before = asyncio.all_tasks()
    stream = core.sessions.follow_outputs(OutputQuery("s1", stop_on_terminal=False), core.lifetime)
    reader = asyncio.create_task(anext(stream))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    await stream.aclose()  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_changes_resume_and_reset(core: Core) -> None:
    await core.ask("one")
    changes = core.changes.after(0) or []
    assert {Change.SESSION, Change.SESSION_STATE, Change.QUEUE} <= {change.kind for change in changes}
    resumed = await anext(core.sessions.follow_changes(changes[2].id, core.lifetime))
    assert isinstance(resumed, list)
    assert [change.id for change in resumed] == [change.id for change in changes[3:]]
    reset = await anext(core.sessions.follow_changes(10_000, core.lifetime))
    assert isinstance(reset, list)
    assert [(change.kind, change.id) for change in reset] == [(Change.RESET, changes[-1].id)]


async def test_states_on_the_feed_are_those_a_client_would_read(core: Core) -> None:
    await core.ask("one")
    states = [
        change.payload["effective_state"]
        for change in core.changes.after(0) or []
        if change.kind == Change.SESSION_STATE
    ]
    assert states == ["QUEUED", "BUSY", "IDLE"]


async def test_a_long_replay_is_sent_in_batches_even_when_it_is_joined(core: Core) -> None:
    """Otherwise one client that reads slowly keeps all of it in memory, and everybody else waits."""

    async def much(stage: Stage) -> None:
        for number in range(1200):
            stage.say(f"{number} ")

    core.harness.script = much
    await core.ask("go")
    query = OutputQuery("s1", coalesce_s=5.0)
    async with aclosing(core.sessions.follow_outputs(query, core.lifetime)) as items:
        batches = [item async for item in items if isinstance(item, list)]
    ends = [batch[-1].id for batch in batches]
    assert all(later - earlier <= 500 for earlier, later in zip([0, *ends], ends, strict=False))
