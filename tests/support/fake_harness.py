"""A harness that runs a script instead of a model: an implementation of the contract, not a mock of it.

A script is an async function that says things through a `Stage`. Whatever it does, exactly one terminal event comes,
last; a cancelled run ends as paused with what was said until then, and one that asked somebody waits for the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NoReturn

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import (
    ActionDecision,
    ActionKind,
    AdapterCapabilities,
    Cancellation,
    Denial,
    HistoryEntry,
    NewOutput,
    PendingCall,
    PrepPlan,
    RunnerEvent,
    RunPackage,
    RunResult,
    WireProtocol,
)
from holaboss_runtime.harness.services import HostAskError
from holaboss_runtime.permissions.model import PermissionRule

Script = Callable[["Stage"], Awaitable[None]]


class ScriptedFailure(Exception):
    def __init__(self, **payload: Any) -> None:
        super().__init__(payload.get("message", ""))
        self.payload = payload


class ScriptedWait(Exception):
    """The script ended with calls that somebody outside has to decide."""

    def __init__(self, pending: list[PendingCall]) -> None:
        super().__init__(f"{len(pending)} calls wait")
        self.pending = pending


class Stage:
    """What a script can do: talk, think, call tools, ask, fail."""

    def __init__(self, package: RunPackage, events: asyncio.Queue[RunnerEvent]) -> None:
        self.package = package
        self._events = events
        self._part = -1
        self._open: str | None = None
        self._offset = 0
        self.text = ""
        self.denials: list[Denial] = []
        self.outputs: list[NewOutput] = []
        self.containment: str | None = None

    def say(self, text: str) -> None:
        self._delta(RunEvent.OUTPUT_DELTA, "output", text)
        self.text += text

    def think(self, text: str) -> None:
        self._delta(RunEvent.THINKING_DELTA, "thinking", text)

    def tool(self, name: str, *, error: bool = False, result: str = "ok", **payload: Any) -> None:
        self._part, self._open = self._part + 1, None
        call = {
            "call_id": f"call-{self._part}",
            "content_index": self._part,
            "tool_name": name,
            "tool_args": {},
        }
        self._put(RunEvent.TOOL_CALL, call | {"phase": "started"})
        content = {"content": [{"type": "text", "text": result}]}
        self._put(
            RunEvent.TOOL_CALL, call | {"phase": "completed", "result": content, "error": error} | payload
        )

    def refused(
        self,
        name: str,
        reason: str,
        *,
        would_ask: bool = False,
        suggestions: Sequence[PermissionRule] = (),
        tool_args: dict[str, Any] | None = None,
    ) -> None:
        """A call that a rule refuses; the run goes on."""
        self.tool(name, error=True, result=f"Denied by policy: {reason}", denied=reason)
        self.denials.append(
            Denial(
                call_id=f"call-{self._part}",
                tool_name=name,
                reason=reason,
                would_ask=would_ask,
                suggestions=list(suggestions),
                tool_args=tool_args or {},
            )
        )

    def blocked(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        kind: ActionKind = "tool_confirmation",
        reason: str = "",
        suggestions: Sequence[PermissionRule] = (),
    ) -> PendingCall:
        """Tell of a call that waits, and return it for `wait`."""
        self._part, self._open = self._part + 1, None
        waits = PendingCall(
            call_id=f"call-{self.package.wake_id}-{self._part}",
            kind=kind,
            tool_name=name,
            tool_args=arguments or {},
            reason=reason,
            suggestions=list(suggestions),
        )
        call = {
            "content_index": self._part,
            **waits.model_dump(include={"call_id", "tool_name", "tool_args"}),
        }
        self._put(RunEvent.TOOL_CALL, call | {"phase": "started"})
        self._put(RunEvent.TOOL_CALL, call | {"phase": "blocked", "kind": kind})
        return waits

    def wait(self, *pending: PendingCall) -> NoReturn:
        """End the script: all of these have to be decided."""
        raise ScriptedWait(list(pending))

    def ask(
        self, tool_name: str, args: dict[str, Any] | None = None, kind: ActionKind = "tool_confirmation"
    ) -> NoReturn:
        """End the script with one call that waits."""
        self.wait(self.blocked(tool_name, args, kind=kind))

    def decision(self, tool_name: str | None = None) -> ActionDecision | None:
        """The first decision this run was given, or the first one about a call of `tool_name`."""
        named = (each for each in self.package.decisions if tool_name in (None, each.tool_name))
        return next(named, None)

    def fail(self, **payload: Any) -> None:
        raise ScriptedFailure(**payload)

    def _delta(self, event_type: str, kind: str, text: str) -> None:
        if self._open != kind:
            self._part, self._open, self._offset = self._part + 1, kind, 0
        payload = {
            "delta": text,
            "content_index": self._part,
            "offset": self._offset,
            "delta_kind": kind,
        }
        self._offset += len(text)
        self._put(event_type, payload)

    def _put(self, event_type: str, payload: dict[str, Any]) -> None:
        self._events.put_nowait(RunnerEvent(event_type=event_type, payload=payload))


async def echo(stage: Stage) -> None:
    """The default script: answers with what it was told."""
    stage.say(f"You said: {stage.package.instruction}")


class FakeHarness:
    """`packages` are those of every run, in order; `running` counts runs right now, `most_running` at most."""

    name = "native"
    capabilities = AdapterCapabilities(supports_waiting_user=True, supports_skills=True, supports_mcp=True)
    ready = True
    containment: str | None = None

    def __init__(
        self, script: Script = echo, *, tool_names: tuple[str, ...] = ("read", "write", "bash")
    ) -> None:
        self.script = script
        self.tool_names = tool_names
        self.packages: list[RunPackage] = []
        self.running = 0
        self.most_running = 0

    def prep_plan(self, session_kind: str) -> PrepPlan:
        return PrepPlan(prepare_mcp_tooling=True)

    async def start(self) -> None:
        pass

    def warm(self, protocol: WireProtocol) -> None:
        pass

    async def ask(
        self, workspace_id: str, name: str, arguments: dict[str, Any], *, timeout_s: float = 30.0
    ) -> Any:
        raise HostAskError("unknown_ask", f"There is no {name} here.")

    async def close(self) -> None:
        pass

    async def run(self, package: RunPackage, cancel: Cancellation) -> AsyncIterator[RunnerEvent]:
        self.packages.append(package)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        events: asyncio.Queue[RunnerEvent] = asyncio.Queue()
        stage = Stage(package, events)
        play = asyncio.ensure_future(self.script(stage))
        stop = asyncio.ensure_future(cancel.wait())
        try:
            async for event in _until_done(events, play, stop):
                yield event
            yield _terminal(stage, play)
        finally:
            self.running -= 1
            play.cancel()
            stop.cancel()
            await asyncio.gather(play, stop, return_exceptions=True)


async def _until_done(
    events: asyncio.Queue[RunnerEvent], play: asyncio.Future[None], stop: asyncio.Future[None]
) -> AsyncIterator[RunnerEvent]:
    while True:
        getter = asyncio.ensure_future(events.get())
        await asyncio.wait({getter, play, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not getter.done():
            getter.cancel()
            return
        yield getter.result()


def _terminal(stage: Stage, play: asyncio.Future[None]) -> RunnerEvent:
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    exchange = [stage.package.instruction, stage.text]
    history = HistoryEntry(adapter="fake", version=1, payload=exchange)
    result = RunResult(
        assistant_text=stage.text,
        history=history,
        usage=usage,
        denials=stage.denials,
        outputs=stage.outputs,
        containment=stage.containment,
    )
    if not play.done():
        return RunnerEvent(
            event_type=RunEvent.RUN_COMPLETED, payload={"status": "paused", "usage": usage}, result=result
        )
    error = play.exception()
    if error is None:
        return RunnerEvent(
            event_type=RunEvent.RUN_COMPLETED, payload={"status": "success", "usage": usage}, result=result
        )
    if isinstance(error, ScriptedWait):
        return RunnerEvent(
            event_type=RunEvent.RUN_COMPLETED,
            payload={"status": "waiting_user", "usage": usage},
            result=result.model_copy(update={"pending": error.pending}),
        )
    if not isinstance(error, ScriptedFailure):
        raise error
    names = {"provider_id": stage.package.provider_id, "model_id": stage.package.model_id}
    payload = {"type": "ProviderError", "message": "", "retryable": False} | names | error.payload
    return RunnerEvent(
        event_type=RunEvent.RUN_FAILED,
        payload=payload,
        result=result.model_copy(update={"history": None}),
    )
