"""One server of one workspace: its connection, and what becomes of it.

A task of its own enters and leaves everything the protocol's library opens, tries again with growing pauses, and keeps
the list of tools current. Callers only wait and read: a server that hangs holds up nobody beyond a time-out.

States: `starting` → `ready`, or `needs_authorization` (nothing happens until somebody calls `retry`), or `failed`
(tried again after a pause); `stopped` is the end.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holaboss_client.base import utc_now
from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.host.mcp import names, problems
from holaboss_runtime.harness.host.mcp.child import ServerProcess
from holaboss_runtime.harness.host.mcp.logbook import Logbook
from holaboss_runtime.harness.host.mcp.results import outcome_of
from holaboss_runtime.harness.host.mcp.surroundings import Health, State, Surroundings
from holaboss_runtime.harness.host.tools.base import ToolError
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.redaction import redact

if TYPE_CHECKING:
    from holaboss_runtime.harness.host.mcp.remote import Kind, Line
    from holaboss_runtime.harness.host.mcp.wire import Conversation

logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
HEALTHY_S = 60.0
LONGEST_WAIT_S = 10.0
RELIST_S = 0.5
GRACE_S = 2.0
UNWIND_S = 2.0


class ServerConnection:
    """`open` starts it, `close` ends it. `users` counts the runs that hold it."""

    def __init__(self, server: McpServer, surroundings: Surroundings) -> None:
        self.server = server
        self.name = server.name
        self.fingerprint = names.fingerprint(server.config)
        self.users = 0
        self.health = Health(transport="stdio" if server.config.type == "local" else server.config.transport)
        self.secrets = names.secrets_of(server.config)
        self.errors = Logbook(partial(surroundings.logs, server.name, "stderr"), self.secrets)
        self._output = Logbook(partial(surroundings.logs, server.name, "stdout"), self.secrets)
        self._surroundings = surroundings
        self._conversation: Conversation | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._owner: asyncio.Task[None] | None = None
        self._grace_s = GRACE_S
        self._closing = False
        self._interrupt = asyncio.Event()
        self._changed = asyncio.Event()
        self._changes, self._listed = 0, 0
        self._line: Line | None = None
        self._refused = False
        self._loss: asyncio.Future[None] | None = None
        self._news = asyncio.Event()
        self._kind: Kind | None = None
        self._healthy_since: float | None = None

    def open(self) -> None:
        self._owner = asyncio.create_task(self._live(), name=f"mcp {self.name}")

    async def close(self, grace_s: float = GRACE_S) -> None:
        self._closing = True
        self._grace_s = grace_s
        self._interrupt.set()
        if self._owner is not None:
            await asyncio.wait({self._owner})

    def retry(self) -> None:
        """Connect anew, at once; a connection that works is ended first."""
        self._kind = None
        if not self._closing:
            self._become("starting")
            self._interrupt.set()

    async def settled(self, limit_s: float, wanted: frozenset[str] = frozenset()) -> bool:
        """Wait until it is ready with a current list that has all of `wanted`; False when that does not happen within
        the limit, or cannot."""
        if self._conversation is not None and self._conversation.outdated:
            self._list_changed()
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not self._is_settled(wanted):
                    if self._is_hopeless(wanted):
                        return False
                    await self._news.wait()
        return self._is_settled(wanted)

    async def call(self, tool: str, arguments: dict[str, Any], *, pictures: bool = False) -> ToolOutcome:
        """Raises `ToolError` with a sentence the model can act on. A call is never made twice."""
        conversation = await self._usable()
        if all(offer.name != tool for offer in self.health.offers):
            raise ToolError(f"The MCP server {self.name} no longer offers {tool}. Do without it.")
        call = asyncio.create_task(conversation.call(tool, arguments))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            await asyncio.wait({call}, timeout=self.server.config.timeout_s)
        finally:
            if not call.done():  # nobody waits for how it takes the news: it may not even read
                call.cancel()
                call.add_done_callback(_heard)
        if call.cancelled():
            raise ToolError(f"The MCP server {self.name} was stopped while it worked on {tool}.")
        if not call.done():
            raise ToolError(
                f"The MCP server {self.name} did not answer {tool} within {self.server.config.timeout_s:g} s. "
                "Whether it did anything is not known."
            )
        if (error := call.exception()) is not None:
            raise ToolError(self._failed_call(error))
        # Megabytes of a result are not for the loop.
        return await asyncio.to_thread(outcome_of, call.result(), self.secrets, pictures=pictures)

    def shown(self, text: str) -> str:
        return redact(text, self.secrets)

    async def _usable(self) -> Conversation:
        if self._conversation is None:
            await self.settled(min(self.server.config.timeout_s, LONGEST_WAIT_S))
        if self._conversation is None:
            reason = self.health.last_error or "It is not connected."
            raise ToolError(f"The MCP server {self.name} is not available. {reason}")
        return self._conversation

    def _failed_call(self, error: BaseException) -> str:
        if self._is_refused:
            self._lose(problems.AuthorizationNeededError("It wants to know who asks."))
            return f"The MCP server {self.name} wants the person to sign in first."
        if getattr(error, "lost", False):
            self._lose(problems.ServerProblemError("The connection ended."))
        known = str(error) if type(error).__name__ == "CallError" else problems.sentence(error)
        return self.shown(f"The MCP server {self.name} failed. {known[:1000]}")

    @property
    def _is_refused(self) -> bool:
        return self._refused or (self._line is not None and self._line.status == 401)

    def _refuse(self) -> None:
        self._refused = True

    def _lose(self, error: Exception) -> None:
        if self._loss is not None and not self._loss.done():
            self._loss.set_exception(error)

    def _is_settled(self, wanted: frozenset[str]) -> bool:
        current = self.health.state == "ready" and self._listed == self._changes
        return current and wanted <= {offer.name for offer in self.health.offers}

    def _is_hopeless(self, wanted: frozenset[str]) -> bool:
        return self.health.state in ("needs_authorization", "stopped") or (
            self.health.state == "failed" and not wanted
        )

    async def _live(self) -> None:
        pause = FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        while not self._closing:
            self._interrupt.clear()
            self._healthy_since = None
            self._become("starting")
            error = await self._once()
            if self._closing:
                break
            if self._interrupt.is_set():
                pause = FIRST_PAUSE_S
            elif error is not None:
                if self._healthy_since is not None and loop.time() - self._healthy_since >= HEALTHY_S:
                    pause = FIRST_PAUSE_S
                await self._recover(error, pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
            self.health.restarts += 1
        self._become("stopped")

    async def _recover(self, error: BaseException, pause: float) -> None:
        """Say what happened, then wait: for a person, or for a while."""
        self.health.last_error = self.shown(self._reason(error))
        if problems.needs_authorization(error) or self._is_refused:
            self._become("needs_authorization")
            await self._interrupt.wait()
            return
        self._become("failed")
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._interrupt.wait()

    def _reason(self, error: BaseException) -> str:
        if problems.needs_authorization(error) or self._is_refused:
            return "It wants to know who asks: sign in to it."
        if isinstance(error, TimeoutError):
            return f"It did not answer within {self.server.config.timeout_s:g} s."
        reason = problems.sentence(error)
        last = self.errors.tail(problems.LONGEST).rpartition("\n")[2].strip()
        return f"{reason} It wrote: {last}" if last else reason

    async def _once(self) -> BaseException | None:
        """One connection from beginning to end, in a task of its own; what ended it."""
        attempt = asyncio.create_task(self._connect(), name=f"mcp {self.name} connection")
        interrupted = asyncio.create_task(self._interrupt.wait())
        await asyncio.wait({attempt, interrupted}, return_when=asyncio.FIRST_COMPLETED)
        interrupted.cancel()
        while not attempt.done():  # a second one, where the end itself hangs
            attempt.cancel()
            await asyncio.wait({attempt}, timeout=UNWIND_S + self._grace_s)
        self._conversation = None
        for call in list(self._calls):
            call.cancel()
        return None if attempt.cancelled() else attempt.exception()

    async def _connect(self) -> None:
        await asyncio.to_thread(_load)
        clock = asyncio.timeout(self.server.config.timeout_s)
        try:
            async with clock:
                if self.server.config.type == "local":
                    await self._converse_with_process(clock)
                else:
                    await self._converse_with_address(clock)
        except Exception:
            if clock.expired():  # whatever else broke when time was up
                raise TimeoutError from None
            raise

    async def _converse_with_process(self, clock: asyncio.Timeout) -> None:
        from holaboss_runtime.harness.host.mcp import wire

        config, around = self.server.config, self._surroundings
        process = await ServerProcess.start(
            config.command, config.environment, around.folder, around.owner(), self.errors
        )
        around.announce(process.pid, True)
        self.health.pid = process.pid
        try:
            async with (
                wire.pipe_streams(process, self._noise) as (reading, writing),
                wire.conversation(reading, writing, self._list_changed) as conversation,
            ):
                await self._serve(conversation, clock)
        finally:
            self._conversation = None
            await process.end(self._grace_s)
            await self._output.flush()
            self.health.pid = None
            around.announce(process.pid, False)

    async def _converse_with_address(self, clock: asyncio.Timeout) -> None:
        from holaboss_runtime.harness.host.mcp import remote

        transport = self.server.config.transport
        kind: Kind = self._kind or ("sse" if transport == "sse" else "http")
        around = self._surroundings
        self._refused = False
        auth = around.auth(around.workspace_id, self.server, self._refuse)
        self._line = remote.Line(self.server.config, auth, around.tls())
        try:
            await self._converse_on(self._line, kind, clock)
        except Exception:
            older = kind == "http" and transport == "auto" and self._line.status in remote.NOT_STREAMABLE
            if not older or self._healthy_since is not None:
                raise
            self._kind = "sse"
            await self._converse_on(self._line, "sse", clock)

    async def _converse_on(self, line: Line, kind: Kind, clock: asyncio.Timeout) -> None:
        from holaboss_runtime.harness.host.mcp import wire

        self.health.transport = kind
        async with (
            line.streams(kind) as (reading, writing),
            wire.conversation(reading, writing, self._list_changed) as conversation,
        ):
            await self._serve(conversation, clock)

    async def _serve(self, conversation: Conversation, clock: asyncio.Timeout) -> None:
        """From the first list of tools until the connection ends. Always raises."""
        await self._list(conversation)
        clock.reschedule(None)
        loop = asyncio.get_running_loop()
        self._loss = loop.create_future()
        self._healthy_since = loop.time()
        self._conversation = conversation
        self.health.protocol_revision = conversation.protocol_revision
        self.health.started_at = utc_now()
        self.health.last_error = None
        self._become("ready")
        watching = asyncio.create_task(conversation.watch())
        ended = asyncio.create_task(conversation.ended.wait())
        try:
            await self._keep_current(conversation, ended, self._loss)
        finally:
            self._loss.cancel()
            for task in (watching, ended):
                task.cancel()
            await asyncio.gather(watching, ended, return_exceptions=True)

    async def _keep_current(
        self, conversation: Conversation, ended: asyncio.Task[bool], loss: asyncio.Future[None]
    ) -> None:
        while True:
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait({ended, loss, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if loss.done():
                loss.result()
            if ended.done():
                raise problems.ServerProblemError("The connection ended.")
            async with asyncio.timeout(self.server.config.timeout_s):
                await self._list(conversation)
            self._become("ready")
            await asyncio.sleep(RELIST_S)  # a server that changes all the time is not asked all the time

    def _list_changed(self) -> None:
        self._changes += 1
        self._changed.set()

    async def _list(self, conversation: Conversation) -> None:
        self._changed.clear()
        asked_for = self._changes
        self.health.offers = await conversation.tools()
        self._listed = asked_for

    def _noise(self, line: bytes) -> None:
        self._output.add(line.rstrip(b"\r\n") + b"\n")

    def _become(self, state: State) -> None:
        if self._closing and state != "stopped":
            return
        self.health.state = state
        if state in ("failed", "stopped", "needs_authorization"):
            self.health.offers = self.health.offers if state == "failed" else ()
        self._news.set()
        self._news = asyncio.Event()
        try:
            self._surroundings.news(self.server, self.health)
        except Exception:  # the boundary: whoever is told must not stop what it is told of
            logger.exception("telling of %s failed", self.name)


def _load() -> None:
    """The protocol's library takes 25 MB and half a second; only a host with servers pays for it."""
    import_module("holaboss_runtime.harness.host.mcp.wire")
    import_module("holaboss_runtime.harness.host.mcp.remote")


def _heard(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
