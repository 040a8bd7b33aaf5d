"""The event stream: any cut of the bytes gives the same frames, a lost connection is resumed without loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_client import streams
from holaboss_client.problems import ProblemError
from holaboss_client.streams import Frame, FrameDecoder, ResumingStream
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.ports import free_port
from tests.support.processes import PATIENCE_S

FRAMES = st.lists(
    st.builds(
        Frame,
        event=st.sampled_from(["message", "output_delta", "run_completed"]),
        id=st.integers(1, 10**9).map(str),
        data=st.dictionaries(st.text(max_size=5), st.text() | st.integers() | st.none(), max_size=3),
    ),
    max_size=8,
)


def encode(frame: Frame) -> bytes:
    data = json.dumps(frame.data, ensure_ascii=False)
    return f"event: {frame.event}\nid: {frame.id}\ndata: {data}\n\n".encode()


@given(FRAMES, st.data())
def test_any_cut_of_the_bytes_gives_the_same_frames(frames: list[Frame], data: st.DataObject) -> None:
    wire = b": connected\n\n" + b": ping\n\n".join([*map(encode, frames), b""])
    places = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=12)))
    decoder = FrameDecoder()
    seen = [
        frame
        for start, end in zip([0, *places], [*places, len(wire)], strict=True)
        for frame in decoder.feed(wire[start:end])
    ]
    assert seen == frames


def test_an_unfinished_frame_is_not_shown() -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(b'event: a\nid: 1\ndata: {"x": 1}\n')) == []
    assert list(decoder.feed(b"\n")) == [Frame("a", "1", {"x": 1})]


class Feed:
    """A server of `count` numbered events; it breaks connections as `breakages` says, then serves the rest."""

    def __init__(
        self, count: int, breakages: list[Callable[[Wire], None]], *, per_connection: int = 3
    ) -> None:
        self.asked_after: list[str | None] = []
        self._count = count
        self._breakages = breakages
        self._per_connection = per_connection

    async def handle(self, request: Request, wire: Wire) -> None:
        after = request.headers.get("last-event-id")
        self.asked_after.append(after)
        start = int(after or 0) + 1
        breakage = self._breakages.pop(0) if self._breakages else None
        end = self._count if breakage is None else min(self._count, start + self._per_connection - 1)
        wire.begin(200, "text/event-stream")
        wire.chunk(b": connected\n\n")
        for number in range(start, end + 1):
            wire.chunk(encode(Frame("tick", str(number), {"n": number})))
        if breakage is None:
            wire.chunk(encode(Frame("end", str(self._count + 1), {})))
            wire.end()
        else:
            breakage(wire)


def half_a_frame(wire: Wire) -> None:
    wire.chunk(b'event: tick\nid: 99\ndata: {"n": 9')
    wire.close()


@contextmanager
def served(feed: Feed) -> Generator[str]:
    with HttpServer(feed.handle) as server:
        yield server.url


@pytest.fixture
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RECONNECT_DELAYS_S", (0.0,))


@pytest.mark.anyio
@pytest.mark.usefixtures("no_delay")
@pytest.mark.parametrize("breakage", [Wire.close, Wire.end, half_a_frame])
async def test_a_lost_connection_is_resumed_after_the_last_frame(breakage: Callable[[Wire], None]) -> None:
    feed = Feed(8, [breakage, breakage])
    with served(feed) as url:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as http:
            stream = ResumingStream(http, "/events", {}, after=None, last=frozenset({"end"}))
            seen = [frame async for frame in stream.frames()]
    numbers = [frame.data["n"] for frame in seen if frame is not None and frame.event == "tick"]
    assert numbers == list(range(1, 9))
    assert feed.asked_after == [None, "3", "6"]
    assert [index for index, frame in enumerate(seen) if frame is None] == [0, 4, 8]
    assert seen[-1] == Frame("end", "9", {})


@pytest.mark.anyio
@pytest.mark.usefixtures("no_delay")
async def test_a_reset_in_the_middle_loses_and_repeats_nothing() -> None:
    # A reset may swallow frames that were sent: what counts is that each arrives once, in order.
    feed = Feed(30, [Wire.reset] * 4, per_connection=7)
    with served(feed) as url:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as http:
            stream = ResumingStream(http, "/events", {}, after=10, last=frozenset({"end"}))
            seen = [frame async for frame in stream.frames()]
    assert [frame.data["n"] for frame in seen if frame is not None and frame.event == "tick"] == list(
        range(11, 31)
    )
    assert feed.asked_after[0] == "10"


@pytest.mark.anyio
@pytest.mark.usefixtures("no_delay")
async def test_waits_for_a_server_that_is_not_there_yet() -> None:
    feed = Feed(2, [])
    port = free_port()
    http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S)
    async with http:
        frames = ResumingStream(http, "/events", {}, after=None, last=frozenset({"end"})).frames()
        with HttpServer(feed.handle, port=port):
            assert [frame.event async for frame in frames if frame is not None] == ["tick", "tick", "end"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"title": "Gone", "status": 404, "code": "session_not_found"}', "session_not_found"),
        (b"oops", "not_a_problem"),
    ],
)
async def test_a_refusal_ends_the_stream(content: bytes, code: str) -> None:
    async def refuse(_: Request, wire: Wire) -> None:
        wire.send(404, content, {"content-type": "application/problem+json"})

    with HttpServer(refuse) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE_S) as http:
            stream = ResumingStream(http, "/events", {}, after=None, last=frozenset())
            with pytest.raises(ProblemError) as raised:
                await anext(stream.frames())
    assert (raised.value.problem.code, raised.value.problem.status) == (code, 404)
