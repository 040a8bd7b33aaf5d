"""The way of an event: how often it is stored, written down and told on its way to a client. Counts, not times."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.api.routes.streams import _output_frame
from holaboss_runtime.sessions.subscription import OutputQuery, Ping, Shutdown
from holaboss_runtime.store import json_text
from holaboss_runtime.store.database import Database
from tests.runtime.sessions.core import Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio

DELTA = ("output_delta", {"delta": 'ü\n"x', "content_index": 0, "offset": 0, "delta_kind": "output"})


class Counting:
    """A connection that counts the statements that go through it, by their first word."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.words: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        self.words[sql.split(None, 1)[0]] += 1
        return self._connection.execute(sql, values)


@contextmanager
def counted(database: Database) -> Generator[Counter[str]]:
    plain = database._connection
    counting = Counting(plain)
    database._connection = counting  # type: ignore[assignment]
    try:
        yield counting.words
    finally:
        database._connection = plain


class CountingEncoder(json.JSONEncoder):
    deltas = 0

    def encode(self, o: Any) -> str:
        CountingEncoder.deltas += isinstance(o, dict) and "delta" in o
        return super().encode(o)


class CountingDecoder(json.JSONDecoder):
    deltas = 0

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        CountingDecoder.deltas += '"delta"' in s
        return super().raw_decode(s, idx)


@pytest.fixture
def leased(core: Core) -> int:
    """The epoch of a lease on session `s1`."""
    with core.database.transaction():
        core.records.sessions.create("s1", "w1", kind="workspace_session", created_by="test")
        epoch = core.records.sessions.acquire_lease("s1", "somebody", "2999-01-01T00:00:00.000Z")
    assert epoch is not None
    return epoch


async def talk(core: Core, deltas: int) -> Counter[str]:
    """What a run with so many deltas costs the database, while one client follows it."""

    async def script(stage: Stage) -> None:
        for number in range(deltas):
            stage.say(f"{number} ")
            await asyncio.sleep(0)

    core.harness.script = script
    with counted(core.database) as words:
        await core.ask("go")
    return words


async def test_a_further_event_of_a_run_is_one_write_and_at_most_one_read(core: Core) -> None:
    await talk(core, 10)
    few, many = await talk(core, 10), await talk(core, 110)
    assert many["INSERT"] - few["INSERT"] == 100
    assert many["BEGIN"] == few["BEGIN"]
    assert many["COMMIT"] == few["COMMIT"]
    # The only other statement is the follower's look; it may find several events at once. The commit of the turn also
    # joins the deltas of the turn before, which is one update and one delete for the whole of them.
    others = set(many) - {"INSERT", "SELECT"}
    assert {word: many[word] - few[word] for word in others} == dict.fromkeys(others, 0)
    assert 0 < many["SELECT"] - few["SELECT"] <= 100


async def test_a_run_takes_five_transactions_and_a_bounded_number_of_statements(core: Core) -> None:
    await talk(core, 1)
    words = await talk(core, 1)
    # Queued; claimed; begun; ended; continuity and release. A single event needs none around it.
    assert words["BEGIN"] == 5
    assert sum(words.values()) <= 125


async def test_an_event_is_encoded_once_and_never_decoded_for_a_plain_stream(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = CountingEncoder(ensure_ascii=False, separators=(",", ":"))
    monkeypatch.setattr(json_text, "_ENCODER", encoder)
    monkeypatch.setattr(json_text, "_DECODER", CountingDecoder())
    monkeypatch.setattr(CountingEncoder, "deltas", 0)
    monkeypatch.setattr(CountingDecoder, "deltas", 0)

    async def script(stage: Stage) -> None:
        for _ in range(20):
            stage.say("word ")
            await asyncio.sleep(0)

    core.harness.script = script
    reply, frames = core.send("go"), list[bytes]()
    async for item in core.sessions.follow_outputs(OutputQuery("s1", input_id=reply.input_id), core.lifetime):
        assert not isinstance(item, Ping | Shutdown)
        frames += [_output_frame(row) for row in item]
    assert sum(frame.startswith(b"event: output_delta") for frame in frames) == 20
    assert (CountingEncoder.deltas, CountingDecoder.deltas) == (20, 0)


async def test_a_frame_is_the_stored_payload_in_its_envelope(core: Core, leased: int) -> None:
    assert core.records.outputs.append_under_lease("w1", "s1", 'in"put', leased, [DELTA])
    (row,) = core.records.outputs.rows_after("s1", 0)
    event, row_id, data, *_ = _output_frame(row).decode().split("\n")
    assert (event, row_id) == ("event: output_delta", f"id: {row.id}")
    found = json.loads(data.removeprefix("data: "))
    expected = row.event().model_dump() | {"timestamp": row.created_at}
    assert found == expected
    assert found["payload"] == DELTA[1]
    assert row.payload_text in data


async def test_one_event_under_a_lease_is_one_statement(core: Core, leased: int) -> None:
    with counted(core.database) as words:
        assert core.records.outputs.append_under_lease("w1", "s1", "i", leased, [DELTA])
    assert words == {"INSERT": 1}
    with counted(core.database) as words:
        assert core.records.outputs.append_under_lease("w1", "s1", "i", leased, [DELTA, DELTA])
    assert words == {"BEGIN": 1, "INSERT": 2, "COMMIT": 1}
    assert [row.sequence for row in core.records.outputs.rows_after("s1", 0)] == [1, 2, 3]


async def test_nothing_is_written_and_nobody_told_under_a_lease_that_is_lost(core: Core, leased: int) -> None:
    told = list[str]()
    signal = core.records.outputs.signal("s1")
    signal.follow(lambda: told.append(utc_now()))
    outputs = core.records.outputs
    assert outputs.append_under_lease("w1", "s1", "i", leased, [DELTA, DELTA])
    assert len(told) == 1  # once for each batch
    for events in ([DELTA], [DELTA, DELTA]):
        assert not outputs.append_under_lease("w1", "s1", "i", leased + 1, events)
    core.records.sessions.release_lease("s1", leased)
    assert not outputs.append_under_lease("w1", "s1", "i", leased, [DELTA])
    assert len(told) == 1
    assert len(outputs.rows_after("s1", 0)) == 2


async def test_a_follower_is_told_only_after_the_transaction_around_the_event(
    core: Core, leased: int
) -> None:
    told = list[bool]()
    signal = core.records.outputs.signal("s1")
    signal.follow(lambda: told.append(core.database._connection.in_transaction))
    with core.database.transaction():
        assert core.records.outputs.append_under_lease("w1", "s1", "i", leased, [DELTA])
        assert not told
    assert told == [False]


async def test_the_queue_is_worked_in_batches_by_a_bounded_number_of_statements(core: Core) -> None:
    from holaboss_runtime.store.queue import InputQueue, NewInput

    queue = InputQueue(core.database)
    queue.enqueue_all([NewInput("w1", f"s{number % 5}", {"text": "hi"}) for number in range(5)])
    with counted(core.database) as words:
        taken = queue.claim(500, "worker", 60)
        queue.complete_all([item.input_id for item in taken], "DONE", "worker")
    few = sum(words.values())
    queue.enqueue_all([NewInput("w1", f"s{number % 5}", {"text": "hi"}) for number in range(300)])
    with counted(core.database) as words:
        taken = queue.claim(500, "worker", 60)
        queue.complete_all([item.input_id for item in taken], "DONE", "worker")
    assert len(taken) == 300
    assert sum(words.values()) == few <= 10
