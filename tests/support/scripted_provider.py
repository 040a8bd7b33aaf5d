"""A real model provider on loopback that says what a test tells it to, or what the demo script says.

It speaks OpenAI chat, OpenAI responses, Anthropic messages and Ollama's model list, under the paths that real
providers use: `<url>/v1`, `<url>/api/v1`, `<url>/v1beta/openai`, and behind a proxy root `<url>/openai/v1` or
`<url>/anthropic/v1`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from holaboss_runtime.demo_provider import chat, script
from holaboss_runtime.demo_provider.reply import Prompt, Reply, ToolCall, Usage, words
from tests.support.dialects import anthropic, responses
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.processes import PATIENCE_S

Dialect = Literal["chat", "responses", "anthropic", "ollama"]
Cut = Literal["reset", "close", "end", "garbage", "error", "silence"]

PREFIXES = ("/v1", "/api/v1", "/v1beta/openai", "/openai/v1", "/anthropic/v1")
ENDPOINTS: dict[str, Dialect] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
}
GARBAGE = b"data: {\xff\xfe not json\n\n"


class Gate:
    """Holds an answer in the middle: wait until it was `reached`, do something, then `release` it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._released = threading.Event()
        self._waiting: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def wait(self, timeout_s: float = PATIENCE_S) -> None:
        if not self.reached.wait(timeout_s):
            raise TimeoutError("the model was not asked, or did not get this far")

    async def wait_async(self, timeout_s: float = PATIENCE_S) -> None:
        await asyncio.to_thread(self.wait, timeout_s)

    def release(self) -> None:
        with self._lock:
            self._released.set()
            for wake in self._waiting:
                wake()

    async def hold(self) -> None:
        """On the provider's loop."""
        event, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the provider has gone
                loop.call_soon_threadsafe(event.set)

        with self._lock:
            self._waiting.append(wake)
            if self._released.is_set():
                event.set()
        self.reached.set()
        await event.wait()


@dataclass(slots=True)
class Answer:
    """A reply and how to get it wrong.

    `status` other than 200 refuses with `message` (and `retry_after`, seconds or a date). `cut` breaks the
    stream off after `after` chunks: reset (RST), close (FIN without an end), end (of the HTTP body, not
    of the dialect), garbage (neither UTF-8 nor JSON), error (an error object of the dialect) or silence
    (held until client or provider goes). `gate` pauses there instead and then goes on.
    `pace_s` is the pause between chunks, `split_utf8` cuts the bytes inside characters, `argument_size` is the
    length of the pieces of tool arguments.
    """

    reply: Reply = field(default_factory=Reply)
    status: int = 200
    message: str = "The scripted provider refuses."
    retry_after: str | None = None
    cut: Cut | None = None
    after: int = 0
    gate: Gate | None = None
    pace_s: float = 0.0
    split_utf8: bool = False
    argument_size: int = chat.ARGUMENT_SIZE


def say(text: str, *, thinking: str = "", usage: Usage | None = None) -> Reply:
    """An answer in words, streamed word by word."""
    pieces, thoughts = words(text), words(thinking)
    return Reply(pieces, thoughts, (), usage or Usage(10, len(pieces) + len(thoughts)))


def call(name: str, /, *, text: str = "", **arguments: Any) -> Reply:
    """An answer that calls one tool."""
    return Reply(words(text), (), (ToolCall(name, arguments),), Usage(10, 5))


def pause_after(chunks: int, reply: Reply) -> Answer:
    """`reply`, held after `chunks` wire events until `.gate.release()`."""
    return Answer(reply, gate=Gate(), after=chunks)


@dataclass(slots=True)
class Recorded:
    """A request that arrived. `gone` is set once its client has left before the end of the answer."""

    dialect: Dialect
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    prompt: Prompt
    gone: threading.Event


class ScriptedProvider:
    """`with ScriptedProvider() as provider:`, also as `async with`; works in sync, asyncio and Qt tests.

    Without an enqueued answer it follows the demo script. With `key`, every request needs it (else 401); with
    `models`, only these exist (else 404). `port=11434` is where Ollama lives.
    """

    def __init__(
        self, *, key: str | None = None, models: tuple[str, ...] | None = None, port: int = 0
    ) -> None:
        self.requests: list[Recorded] = []
        self._key = key
        self._models = models
        self._answers: deque[Reply | Answer] = deque()
        self._respond: Callable[[Recorded], Reply | Answer] = lambda request: script.answer(request.prompt)
        self._arrived = threading.Condition()
        self._server = HttpServer(self._handle, port=port)

    @property
    def url(self) -> str:
        """The root; an OpenAI base URL is `url + "/v1"`, Anthropic's is the root itself."""
        return self._server.url

    def enqueue(self, *answers: Reply | Answer) -> None:
        """Say these first, in this order, one for each request."""
        self._answers.extend(answers)

    def respond_with(self, respond: Callable[[Recorded], Reply | Answer]) -> None:
        """Decide for each request once the queue is empty. Runs on the provider's thread."""
        self._respond = respond

    def wait_for_requests(self, count: int = 1, timeout_s: float = PATIENCE_S) -> list[Recorded]:
        """The requests so far, as soon as there are `count`."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests arrived, {count} were expected")
        return list(self.requests)

    def drop_connections(self) -> None:
        self._server.drop_connections()

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    async def _handle(self, request: Request, wire: Wire) -> None:
        endpoint = _endpoint(request.path)
        dialect = ENDPOINTS.get(endpoint) or (
            "anthropic" if "anthropic-version" in request.headers else "chat"
        )
        if request.path == "/api/tags":
            wire.send_json(200, _tags(self._listed()))
        elif self._key is not None and self._key not in _keys(request):
            _refuse(
                wire, dialect, Answer(status=401, message="Incorrect API key provided."), "invalid_api_key"
            )
        elif endpoint == "/models" and request.method == "GET":
            wire.send_json(200, (anthropic if dialect == "anthropic" else chat).models(self._listed()))
        elif endpoint in ENDPOINTS and request.method == "POST":
            await self._answer(dialect, request, wire)
        else:
            _refuse(wire, dialect, Answer(status=404, message=f"No route for {request.path}."), "not_found")

    def _listed(self) -> tuple[str, ...]:
        return self._models or ("scripted",)

    async def _answer(self, dialect: Dialect, request: Request, wire: Wire) -> None:
        body = request.body
        prompt = _read_prompt(dialect, body)
        recorded = Recorded(dialect, request.path, request.headers, body, prompt, request.gone)
        with self._arrived:
            self.requests.append(recorded)
            self._arrived.notify_all()
        model = str(body["model"])
        if self._models is not None and model not in self._models:
            message = f"The model `{model}` does not exist."
            _refuse(wire, dialect, Answer(status=404, message=message), "model_not_found")
            return
        chosen = self._answers.popleft() if self._answers else self._respond(recorded)
        answer = chosen if isinstance(chosen, Answer) else Answer(chosen)
        if answer.status != 200:
            _refuse(wire, dialect, answer, "rate_limit_exceeded" if answer.status == 429 else "server_error")
        elif body.get("stream"):
            wire.begin(200, "text/event-stream; charset=utf-8")
            await _stream(dialect, answer, body, wire)
        else:
            wire.send_json(200, _complete(dialect, answer.reply, model))


def _endpoint(path: str) -> str:
    """What follows the longest known prefix; empty for an unknown one."""
    matching = (path.removeprefix(prefix) for prefix in PREFIXES if path.startswith(f"{prefix}/"))
    return min(matching, key=len, default="")


def _keys(request: Request) -> tuple[str, ...]:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return (bearer, request.headers.get("x-api-key", ""))


def _read_prompt(dialect: Dialect, body: dict[str, Any]) -> Prompt:
    if dialect == "anthropic":
        return anthropic.read_prompt(body)
    if dialect == "responses":
        return responses.read_prompt(body)
    return chat.read_prompt(chat.ChatRequest.model_validate(body))


def _complete(dialect: Dialect, reply: Reply, model: str) -> dict[str, Any]:
    encoders = {"chat": chat.complete, "responses": responses.complete, "anthropic": anthropic.complete}
    return encoders[dialect](reply, model)


def _pieces(dialect: Dialect, answer: Answer, body: dict[str, Any]) -> Iterator[bytes]:
    model, size = str(body["model"]), answer.argument_size
    if dialect == "anthropic":
        return anthropic.stream(answer.reply, model, argument_size=size)
    if dialect == "responses":
        return responses.stream(answer.reply, model, argument_size=size)
    usage = chat.ChatRequest.model_validate(body).stream_options.include_usage
    return chat.stream(answer.reply, model, usage=usage, argument_size=size)


async def _stream(dialect: Dialect, answer: Answer, body: dict[str, Any], wire: Wire) -> None:
    for number, piece in enumerate(_pieces(dialect, answer, body)):
        if number == answer.after:
            if answer.gate is not None:
                await answer.gate.hold()
            if answer.cut is not None:
                await _break_off(dialect, answer.cut, wire)
                return
        for part in _halves(piece) if answer.split_utf8 else (piece,):
            wire.chunk(part)
        # Gives the socket, and a client on the same machine, a chance between two events.
        await asyncio.sleep(answer.pace_s)
    wire.end()


async def _break_off(dialect: Dialect, how: Cut, wire: Wire) -> None:
    if how == "reset":
        wire.reset()
    elif how == "close":
        wire.close()
    elif how == "silence":
        await asyncio.Event().wait()
    else:
        if how != "end":
            wire.chunk(GARBAGE if how == "garbage" else _error_event(dialect))
        wire.end()


def _error_event(dialect: Dialect) -> bytes:
    message = "The scripted provider broke in the middle."
    if dialect == "anthropic":
        return anthropic.error_event(message)
    if dialect == "responses":
        return responses.error_event(message)
    return b"data: " + json.dumps(chat.error(message, "server_error", "server_error")).encode() + b"\n\n"


def _halves(piece: bytes) -> Iterator[bytes]:
    """Cut inside every character that has more than one byte; without such a character, in the middle."""
    places = [index for index, byte in enumerate(piece) if byte & 0xC0 == 0x80] or [len(piece) // 2]
    for start, end in zip([0, *places], [*places, len(piece)], strict=True):
        yield piece[start:end]


def _refuse(wire: Wire, dialect: Dialect, answer: Answer, code: str) -> None:
    headers = {"retry-after": answer.retry_after} if answer.retry_after is not None else {}
    if dialect == "anthropic":
        wire.send_json(answer.status, anthropic.error(answer.status, answer.message), headers)
    else:
        wire.send_json(answer.status, chat.error(answer.message, code), headers)


def _tags(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "models": [
            {"name": name, "model": name, "size": 1, "details": {"family": "scripted"}} for name in names
        ]
    }
