"""Server-sent events that survive a lost connection: the decoder, and a stream that resumes after the last
id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from holaboss_client.problems import ProblemError, RuntimeUnreachableError

SILENCE_LIMIT_S = 45.0
"""The server pings every 15 s; three missed pings mean that the connection is dead."""

END_LIMIT_S = 2.0
"""How long a server may take to end a response after its last event."""

RECONNECT_DELAYS_S = (0.25, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event. `data` is the decoded JSON object."""

    event: str
    id: str
    data: dict[str, Any]


class FrameDecoder:
    """Bytes in, frames out; a frame may be cut anywhere, also inside a character."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        self._buffer += chunk
        *blocks, self._buffer = self._buffer.split(b"\n\n")
        for block in blocks:
            frame = _parse(block)
            if frame is not None:
                yield frame


def _parse(block: bytes) -> Frame | None:
    event, event_id, data = "message", "", b""
    for line in block.split(b"\n"):
        name, _, value = line.partition(b": ")
        if name == b"event":
            event = value.decode()
        elif name == b"id":
            event_id = value.decode()
        elif name == b"data":
            data += value
    return Frame(event, event_id, json.loads(data)) if data else None


class ResumingStream:
    """Yields frames for ever, reconnecting after the last id seen. `None` is yielded each time a connection
    opens.

    Ends after a frame named in `last`. Raises `ProblemError` when the server refuses the stream, which a
    reconnection would not cure.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        path: str,
        params: dict[str, str],
        *,
        after: int | None,
        last: frozenset[str],
    ) -> None:
        self._http = http
        self._path = path
        self._params = params
        self._after = after
        self._last = last
        self._failures = 0

    async def frames(self) -> AsyncGenerator[Frame | None, None]:
        while True:
            try:
                async with aclosing(self._connection()) as connection:
                    async for frame in connection:
                        self._failures = 0
                        yield frame
                        if frame is not None and frame.event in self._last:
                            await _read_out(connection)
                            return
            except (httpx.HTTPError, TimeoutError, RuntimeUnreachableError):
                pass
            delay = RECONNECT_DELAYS_S[min(self._failures, len(RECONNECT_DELAYS_S) - 1)]
            self._failures += 1
            await asyncio.sleep(delay)

    async def _connection(self) -> AsyncGenerator[Frame | None, None]:
        headers = {"accept": "text/event-stream"}
        if self._after is not None:
            headers["last-event-id"] = str(self._after)
        decoder = FrameDecoder()
        timeout = httpx.Timeout(10.0, read=SILENCE_LIMIT_S)
        request = self._http.stream("GET", self._path, params=self._params, headers=headers, timeout=timeout)
        async with request as response:
            if response.status_code >= 400:
                await response.aread()
                raise_for_problem(response)
            yield None
            async for chunk in response.aiter_raw():
                for frame in decoder.feed(chunk):
                    if frame.id:
                        self._after = int(frame.id)
                    yield frame


async def _read_out(connection: AsyncGenerator[Frame | None, None]) -> None:
    """Wait for the server to end the response. One that is dropped in the middle is closed by the garbage
    collector, outside of any task, which httpx does not survive quietly."""
    with suppress(TimeoutError, httpx.HTTPError):  # cut off instead of ended: over all the same
        async with asyncio.timeout(END_LIMIT_S):
            async for _ in connection:
                pass


def raise_for_problem(response: httpx.Response) -> None:
    """Raise `ProblemError` for an error reply; a reply that is not problem details becomes one."""
    from holaboss_client.problems import Problem

    if response.status_code < 400:
        return
    try:
        problem = Problem.model_validate_json(response.content)
    except ValueError:
        problem = Problem(
            title=response.reason_phrase or "Error", status=response.status_code, code="not_a_problem"
        )
    raise ProblemError(problem)
