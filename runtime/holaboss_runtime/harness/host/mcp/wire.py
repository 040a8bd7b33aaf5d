"""The protocol itself, through its SDK: the only modules of this package that load it are this one and `remote`.

Negotiates the revision, lists tools in bounded pages and calls them. Asking the person, sampling and roots are not
offered to servers. Results are not checked against the output schema of the server that sent them: it could make that
check as slow as it likes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, cast

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from holaboss_client import PRODUCT_VERSION
from holaboss_runtime.harness.host.mcp.child import ServerProcess
from holaboss_runtime.harness.host.mcp.offers import MAX_TOOLS, Offer, sensible
from holaboss_runtime.harness.host.mcp.problems import ServerProblemError
from holaboss_runtime.harness.host.mcp.schemas import clean_description, clean_schema, readable_tools

for _name in ("mcp", "client"):  # it logs what servers send, which may be secret and without end
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)

PROBE_S = 3.0
MAX_PAGES = 10
MAX_NOISE = 100
"""Lines or events that are no messages, before a server counts as broken."""
_LOST = frozenset({"Connection closed", "Session terminated"})
_RELISTEN_S = (1.0, 5.0, 30.0, 60.0)

Item = SessionMessage | Exception


class CallError(Exception):
    """A call did not give a result. The message is a sentence; `lost` says that the connection is of no more use."""

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class Conversation:
    """An open connection whose revision is settled. `ended` is set when nothing more will come."""

    def __init__(self, session: ClientSession, changed: Callable[[], None], ended: asyncio.Event) -> None:
        self._session = session
        self._changed = changed
        self._good_until: float | None = None
        self.ended = ended

    @property
    def protocol_revision(self) -> str | None:
        return self._session.protocol_version

    @property
    def outdated(self) -> bool:
        """Whether the server has said that its list is good for a time, which is over."""
        return self._good_until is not None and asyncio.get_running_loop().time() > self._good_until

    async def tools(self) -> tuple[Offer, ...]:
        """Everything on offer. Raises what the SDK raises."""
        offers: list[Offer] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._session.list_tools(params=params)
            ttl_ms = page.ttl_ms if self.protocol_revision in MODERN_PROTOCOL_VERSIONS else None
            self._good_until = None if ttl_ms is None else asyncio.get_running_loop().time() + ttl_ms / 1000
            offers += await asyncio.to_thread(_offers, page.tools[:MAX_TOOLS])
            cursor = page.next_cursor
            if cursor is None or len(offers) >= MAX_TOOLS:
                break
        return sensible(offers)

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A `CallToolResult` as JSON. Raises `CallError`."""
        try:
            result = await self._call(name, arguments)
        except MCPError as error:
            lost = error.message in _LOST  # the code of these is also in use for anything else
            raise CallError(f"It said: {error.message}", lost=lost) from error
        except ValidationError as error:
            raise CallError("Its answer is not valid in the protocol.") from error
        except RuntimeError as error:  # the connection is being closed
            raise CallError("The connection ended.", lost=True) from error
        if not isinstance(result, types.CallToolResult):
            raise CallError("It wants to ask the person something first, which is not possible here.")
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def watch(self) -> None:
        """Notice changes of the list where they have to be asked for, until cancelled."""
        capabilities = self._session.server_capabilities
        tools = capabilities.tools if capabilities else None
        if self.protocol_revision not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
            return
        for delay in (*_RELISTEN_S, *(_RELISTEN_S[-1] for _ in range(10_000))):
            with suppress(SubscriptionLost, TimeoutError):
                try:
                    async with listen(self._session, tools_list_changed=True) as subscription:
                        self._changed()  # something may have changed while nobody listened
                        async for _ in subscription:
                            self._changed()
                except (MCPError, ListenNotSupportedError):
                    return
            await asyncio.sleep(delay)

    async def _call(self, name: str, arguments: dict[str, Any]) -> types.Result:
        try:
            return await self._session.call_tool(name, arguments, allow_input_required=True)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH or self.protocol_revision not in MODERN_PROTOCOL_VERSIONS:
                raise
            await self.tools()  # what it expects in headers has changed
            return await self._session.call_tool(name, arguments, allow_input_required=True)


class _Session(ClientSession):
    """Results are not checked against what their server says about them: see the top."""

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None: ...


@asynccontextmanager
async def conversation(
    read_stream: Any,  # noqa: ANN401 - a stream of the SDK
    write_stream: Any,  # noqa: ANN401
    changed: Callable[[], None],
) -> AsyncGenerator[Conversation]:
    """Enter and leave it in one task. Raises what the SDK raises for a server that cannot be talked to."""
    ended = asyncio.Event()
    noise = 0

    async def hear(message: IncomingMessage) -> None:
        nonlocal noise
        if isinstance(message, types.ToolListChangedNotification):
            changed()
        elif isinstance(message, Exception):
            noise += 1
            if noise > MAX_NOISE:
                ended.set()

    session = _Session(
        _Watched(read_stream, ended),
        write_stream,
        message_handler=hear,
        client_info=types.Implementation(name="holaboss", title="Holaboss", version=PRODUCT_VERSION),
    )
    async with session:
        await _negotiate(session)
        yield Conversation(session, changed, ended)


async def _negotiate(session: ClientSession) -> None:
    """The newest revision both sides know: the stateless ones are probed, all others shake hands.

    A server that is slow to start may answer the probe late and then refuse the handshake, naming what it speaks.
    """
    version = LATEST_MODERN_VERSION
    for last in (False, True):
        try:
            async with asyncio.timeout(PROBE_S):
                found = types.DiscoverResult.model_validate(await session.send_discover(version))
            if any(known in found.supported_versions for known in MODERN_PROTOCOL_VERSIONS):
                session.adopt(found)
                return
        except MCPError as error:
            offered = _versions_in(error)
            mutual = [known for known in MODERN_PROTOCOL_VERSIONS if known in offered]
            if mutual and not last:
                version = mutual[-1]
                continue
            if offered and not any(known in HANDSHAKE_PROTOCOL_VERSIONS for known in offered):
                raise ServerProblemError(
                    "It speaks no revision of the protocol that is known here."
                ) from error
        except (TimeoutError, ValidationError):
            pass  # not a modern server, as far as can be told
        try:
            await session.initialize()
            return
        except MCPError as error:
            mutual = [known for known in MODERN_PROTOCOL_VERSIONS if known in _versions_in(error)]
            if last or not mutual:
                raise
            version = mutual[-1]


def _versions_in(error: MCPError) -> list[str]:
    if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
        return []
    try:
        return types.UnsupportedProtocolVersionErrorData.model_validate(error.data).supported
    except ValidationError:
        return []


def _offers(tools: list[types.Tool]) -> list[Offer]:
    """Takes a while for schemas that are made to: not for the loop."""
    return [_offer(tool) for tool in tools]


def _offer(tool: types.Tool) -> Offer:
    hints = tool.annotations
    return Offer(
        tool.name,
        clean_description(tool.description or tool.title),
        clean_schema(tool.input_schema),
        hints.read_only_hint if hints else None,
        hints.destructive_hint if hints else None,
    )


class _Watched:
    """A stream that says when it has ended, and puts lists of tools into a form that can be read."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:  # noqa: ANN401
        self._inner = inner
        self._ended = ended

    @property
    def last_context(self) -> Any:  # noqa: ANN401
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        try:
            return await _readable(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Watched:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        await self.aclose()
        return None


async def _readable(item: Item) -> Item:
    """One tool that is described wrongly must not take all others with it."""
    message = item.message if isinstance(item, SessionMessage) else None
    if isinstance(message, types.JSONRPCResponse) and isinstance(tools := message.result.get("tools"), list):
        message.result["tools"] = await asyncio.to_thread(readable_tools, cast("list[Any]", tools))
    return item


@asynccontextmanager
async def pipe_streams(
    process: ServerProcess, noise: Callable[[bytes], None]
) -> AsyncGenerator[tuple[MemoryObjectReceiveStream[Item], MemoryObjectSendStream[SessionMessage]]]:
    """Messages as lines; `noise` gets what is no message.

    Raises `ServerProblemError`, in a group, when the process is gone or breaks the rules.
    """
    incoming, read_stream = anyio.create_memory_object_stream[Item](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with incoming, read_stream, write_stream, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(_receive, process, incoming, noise)
        tasks.start_soon(_send, process, outgoing)
        yield read_stream, write_stream
        tasks.cancel_scope.cancel()


async def _receive(
    process: ServerProcess, incoming: MemoryObjectSendStream[Item], noise: Callable[[bytes], None]
) -> None:
    heard = 0
    async for line in process.lines():
        if not line.strip():
            continue
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            noise(line[:4096])
            heard += 1
            if heard > MAX_NOISE:
                raise ServerProblemError(
                    "It writes to its standard output what is not the protocol."
                ) from None
            continue
        heard = 0
        try:
            await incoming.send(SessionMessage(message))
        except anyio.BrokenResourceError:  # the session is being closed, for a reason of its own
            return
    raise ServerProblemError(await process.gone())


async def _send(process: ServerProcess, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(ConnectionError):  # whoever reads notices that it is gone, and knows more
        async for item in outgoing:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.write(line.encode() + b"\n")
