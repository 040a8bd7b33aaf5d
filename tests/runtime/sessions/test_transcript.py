"""Index, pages, history and events tell the same story."""

from __future__ import annotations

import pytest

from holaboss_client.events import OutputEvent
from holaboss_runtime.runs.turn_fold import TurnFold
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


async def lively(stage: Stage) -> None:
    number = int(stage.package.instruction.split()[0])
    stage.think("hm " * number)
    for line in range(number):
        stage.say(f"line {line}\n")
    if number % 3 == 0:
        stage.tool("read")
        stage.say("and more")
    if number % 4 == 0:
        stage.fail(message="no")


def shown(events: list[OutputEvent]) -> list[tuple[str, str]]:
    return [(event.event_type, str(event.payload.get("delta", ""))) for event in events]


async def test_index_pages_and_history_agree(core: Core) -> None:
    core.harness.script = lively
    for number in range(1, 13):
        await core.ask(f"{number} lines\nplease")

    index = core.sessions.transcript.index("s1")
    whole = core.sessions.transcript.turns("s1", from_seq=0, limit=200)
    paged = []
    after = 0
    while True:
        page = core.sessions.transcript.turns("s1", from_seq=after, limit=5)
        paged += page.items
        if len(page.items) < 5:
            break
        after = page.items[-1].seq + 1
    assert paged == whole.items
    assert [(row[0], row[1]) for row in index.rows] == [(turn.seq, turn.input_id) for turn in paged]
    assert index.last_event_id == whole.last_event_id == core.events()[-1].id

    session = core.sessions.directory.require(WORKSPACE, "s1")
    history = core.sessions.transcript.history(session, limit=1000, offset=0, newest_first=False)
    said = {message.id: message.text for message in history.messages}
    for row, turn in zip(index.rows, paged, strict=True):
        answer = TurnFold.of(turn.events).assistant_text
        assert said[f"user-{turn.input_id}"] == turn.text
        assert said.get(f"assistant-{turn.input_id}", "") == answer
        assert row[2:] == (
            len(turn.text),
            2,
            len(answer),
            answer.count("\n") + 1 if answer else 0,
            TurnFold.of(turn.events).steps,
        )
        assert turn.status == ("failed" if int(turn.text.split()[0]) % 4 == 0 else "completed")


async def test_history_pages_add_up_in_both_orders(core: Core) -> None:
    for number in range(7):
        await core.ask(f"{number}")
    session = core.sessions.directory.require(WORKSPACE, "s1")

    def ids(**query: int | bool) -> list[str]:
        page = core.sessions.transcript.history(session, **query)  # type: ignore[arg-type]
        assert page.total == 14
        return [message.id for message in page.messages]

    whole = ids(limit=100, offset=0, newest_first=False)
    assert (
        ids(limit=5, offset=0, newest_first=False) + ids(limit=5, offset=5, newest_first=False) == whole[:10]
    )
    assert ids(limit=100, offset=0, newest_first=True) == whole[::-1]
    assert ids(limit=3, offset=2, newest_first=True) == whole[::-1][2:5]
    assert ids(limit=3, offset=50, newest_first=True) == []


async def test_old_deltas_are_joined_and_still_say_the_same(core: Core) -> None:
    async def script(stage: Stage) -> None:
        stage.think("a")
        stage.think("b")
        for number in range(50):
            stage.say(f"{number} ")
        stage.tool("read")
        stage.say("end")

    core.harness.script = script
    first = core.send("one")
    await core.terminal(first)
    before = core.sessions.transcript.turns("s1", from_seq=0, limit=1).items[0]
    rows = len(core.events(input_id=first.input_id))
    middle = core.events(input_id=first.input_id)[20]
    await core.ask("two")

    events = core.events(input_id=first.input_id)
    assert rows == 58
    assert shown(events) == shown(before.events)
    assert core.sessions.transcript.turns("s1", from_seq=0, limit=1).items[0] == before
    assert [event.sequence for event in events] == sorted(event.sequence for event in events)
    # Whoever was cut off in the middle gets the rest; offsets tell what it has already.
    rest = core.records.outputs.after("s1", middle.id, input_id=first.input_id)
    assert (
        TurnFold.of([*_until(before.events, middle), *rest]).assistant_text
        == TurnFold.of(before.events).assistant_text
    )


def _until(joined: list[OutputEvent], middle: OutputEvent) -> list[OutputEvent]:
    """What a client had that was cut off at `middle`: the part of the joined text that ends there."""
    end = middle.payload["offset"] + len(middle.payload["delta"])
    text = next(event for event in joined if event.event_type == "output_delta")
    return [text.model_copy(update={"payload": {**text.payload, "delta": text.payload["delta"][:end]}})]


async def test_output_events_are_paged_by_id(core: Core) -> None:
    await core.ask("one")
    await core.ask("two")

    def page(**query: object):  # noqa: ANN202
        defaults: dict[str, object] = {
            "input_id": None,
            "after_event_id": None,
            "include_history": True,
            "limit": 3,
        }
        return core.sessions.transcript.events("s1", **{**defaults, **query})  # type: ignore[arg-type]

    first = page()
    second = page(after_event_id=first.last_event_id)
    third = page(after_event_id=second.last_event_id)
    assert [event.id for p in (first, second, third) for event in p.items] == [e.id for e in core.events()]
    end = core.events()[-1].id
    assert (page(after_event_id=end).items, page(after_event_id=end).last_event_id) == ([], end)
    assert (page(include_history=False).items, page(include_history=False).last_event_id) == ([], end)
