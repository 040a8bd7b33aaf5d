"""The toy's adapter: a `Harness` that starts a player for each run and tells its lines as runner events."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import (
    ActionDecision,
    ActionKind,
    AdapterCapabilities,
    Cancellation,
    Denial,
    HistoryEntry,
    PendingCall,
    PrepPlan,
    RunnerEvent,
    RunPackage,
    RunResult,
    WireProtocol,
)
from holaboss_runtime.harness.options import HarnessOptions
from holaboss_runtime.harness.registry import Adapter
from holaboss_runtime.harness.services import HostAskError
from holaboss_runtime.harness.toolbox import Caller, Toolbox
from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.processes import child_environment, terminate_group

PLAYER = Path(__file__).with_name("player.py")
NOTES = "notes.txt"


class ToyHarness:
    """Plays the script in the instruction. `told` is everything the newest run was given, for a test to read."""

    name = "toy"
    capabilities = AdapterCapabilities(supports_waiting_user=True)
    tool_names = ("note", "look")
    ready = True
    containment: str | None = None

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        self.told = ""
        self._players: set[asyncio.subprocess.Process] = set()

    def prep_plan(self, session_kind: str) -> PrepPlan:
        return PrepPlan(stage_workspace_commands=True)

    async def start(self) -> None:
        pass

    def warm(self, protocol: WireProtocol) -> None:
        pass

    async def ask(
        self, workspace_id: str, name: str, arguments: dict[str, Any], *, timeout_s: float = 30.0
    ) -> Any:
        raise HostAskError("unknown_ask", f"There is no {name} here.")

    async def close(self) -> None:
        await asyncio.gather(*(terminate_group(player, 1.0) for player in list(self._players)))

    async def run(self, package: RunPackage, cancel: Cancellation) -> AsyncIterator[RunnerEvent]:
        turn = _Turn(self, package)
        self.told = "\n".join([package.system_prompt, *package.context_messages, *turn.memory])
        if cancel.reason is not None:
            yield turn.end("paused")
            return
        player = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(PLAYER),
            env=child_environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._players.add(player)
        stop = asyncio.ensure_future(cancel.wait())
        try:
            async for event in turn.play(player, stop):
                yield event
        finally:
            stop.cancel()
            self._players.discard(player)
            await terminate_group(player, 1.0)
            self.told += "\n" + "\n".join(turn.memory)


class _Turn:
    """One run: what the player says, and what becomes of its calls."""

    def __init__(self, harness: ToyHarness, package: RunPackage) -> None:
        self._harness = harness
        self._package = package
        self._part = -1
        self._texts: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._changed: list[str] = []
        self._pending: list[PendingCall] = []
        self._denials: list[Denial] = []
        payloads = [entry.payload for entry in package.history if entry.adapter == "toy"]
        self.memory: list[str] = list(payloads[-1]["memory"]) if payloads else []
        self._open: list[str] = list(payloads[-1]["open"]) if payloads else []
        self._waiting: list[str] = []

    async def play(
        self, player: asyncio.subprocess.Process, stop: asyncio.Future[None]
    ) -> AsyncIterator[RunnerEvent]:
        for decision in self._package.decisions:
            if decision.call_id in self._open:
                async for event in self._take_up(decision):
                    yield event
        assert player.stdin is not None
        script = [line for line in self._package.instruction.splitlines() if line]
        self._send(player, json.dumps({"memory": self.memory, "script": script}))
        status = "success"
        while True:
            line = await self._next(player, stop)
            word, _, rest = (line or "").partition(" ")
            if line is None:
                status = "paused"
                break
            if word == "say":
                yield self._say(rest)
            elif word == "call":
                name, _, arguments = rest.partition(" ")
                events, reply = await self._call(name, json.loads(arguments))
                for event in events:
                    yield event
                self._send(player, reply)
            elif word == "fail" or not line:
                yield self._failed(rest or "The player has gone.")
                return
            else:
                self.memory = json.loads(rest)
                break
        yield self.end("waiting_user" if self._pending else status)

    def end(self, status: str) -> RunnerEvent:
        payload = {"status": status, "usage": {}}
        return RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload=payload, result=self._result())

    async def _next(self, player: asyncio.subprocess.Process, stop: asyncio.Future[None]) -> str | None:
        """The next line; empty at its end, None when the run is cancelled first."""
        assert player.stdout is not None
        reading = asyncio.ensure_future(player.stdout.readline())
        await asyncio.wait({reading, stop}, return_when=asyncio.FIRST_COMPLETED)
        if stop.done():
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            return None
        return reading.result().decode().rstrip("\n")

    def _send(self, player: asyncio.subprocess.Process, line: str) -> None:
        assert player.stdin is not None
        with suppress(ConnectionError):
            player.stdin.write(line.encode() + b"\n")

    def _say(self, text: str) -> RunnerEvent:
        self._part += 1
        self._texts.append(text)
        payload = {"delta": text, "content_index": self._part, "offset": 0, "delta_kind": "output"}
        return RunnerEvent(event_type=RunEvent.OUTPUT_DELTA, payload=payload)

    async def _call(self, name: str, arguments: dict[str, Any]) -> tuple[list[RunnerEvent], str]:
        self._part += 1
        call_id = f"{self._package.input_id}-{self._package.wake_id}-{self._part}"
        events = [self._tell(call_id, name, "started", tool_args=arguments)]
        kind = self._waits_as(call_id, name)
        if kind is not None:
            self._pending.append(PendingCall(call_id=call_id, kind=kind, tool_name=name, tool_args=arguments))
            self._waiting.append(call_id)
            return [*events, self._tell(call_id, name, "blocked", tool_args=arguments, kind=kind)], "hold"
        text, error = await self._carry_out(call_id, name, arguments)
        return [
            *events,
            self._completed(call_id, name, arguments, text, error=error),
        ], "result " + json.dumps(text)

    def _waits_as(self, call_id: str, name: str) -> ActionKind | None:
        policy = self._package.permissions
        effect = decide(policy, CallFacts(name)).effect
        if effect == "always_ask" and policy.may_ask:
            return "tool_confirmation"
        outside = any(tool.name == name for tool in self._package.custom_tools)
        return "custom_tool" if outside and effect == "always_allow" else None

    async def _carry_out(self, call_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        if decide(self._package.permissions, CallFacts(name)).effect != "always_allow":
            self._denials.append(Denial(call_id=call_id, tool_name=name, reason=f"{name} may not be used."))
            return f"Denied by policy: {name} may not be used.", True
        return await self._act(name, arguments)

    async def _act(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        package = self._package
        if any(tool.name == name for tool in package.runtime_tools):
            answer = await self._harness.toolbox.call(Caller.of(package), name, arguments)
            return answer.text, answer.error
        notes = Path(package.workspace_dir) / NOTES
        if name not in package.tools:
            return f"There is no tool {name}.", True
        if name == "look":
            return notes.read_text() if notes.exists() else "", False
        with notes.open("a") as file:
            file.write(str(arguments["text"]) + "\n")
        self._changed = [NOTES]
        return "Noted.", False

    async def _take_up(self, decision: ActionDecision) -> AsyncIterator[RunnerEvent]:
        self._part += 1
        call_id, name, arguments = decision.call_id, decision.tool_name, decision.tool_args
        yield self._tell(call_id, name, "started", tool_args=arguments)
        if decision.outcome == "approved":
            text, error = await self._act(name, arguments)
        elif decision.outcome == "answered":
            text, error = str(decision.output), False
        else:
            text, error = f"The person denied this call. They said: {decision.note}", True
        self.memory.append(text)
        yield self._completed(call_id, name, arguments, text, error=error)

    def _completed(
        self, call_id: str, name: str, arguments: dict[str, Any], text: str, *, error: bool
    ) -> RunnerEvent:
        self._calls.append({"call_id": call_id, "tool_name": name, "error": error})
        result = {"content": [{"type": "text", "text": text}]}
        return self._tell(call_id, name, "completed", tool_args=arguments, result=result, error=error)

    def _tell(self, call_id: str, name: str, phase: str, **facts: Any) -> RunnerEvent:
        payload = {
            "phase": phase,
            "call_id": call_id,
            "content_index": self._part,
            "tool_name": name,
            **facts,
        }
        return RunnerEvent(event_type=RunEvent.TOOL_CALL, payload=payload)

    def _failed(self, message: str) -> RunnerEvent:
        payload = {
            "type": "ScriptError",
            "message": message,
            "provider_id": self._package.provider_id,
            "model_id": self._package.model_id,
            "retryable": False,
        }
        return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=self._result())

    def _result(self) -> RunResult:
        remembered = {"memory": self.memory, "open": self._waiting}
        return RunResult(
            assistant_text="\n\n".join(self._texts),
            history=HistoryEntry(adapter="toy", version=1, payload=remembered),
            tool_calls=self._calls,
            changed_paths=self._changed,
            pending=self._pending,
            denials=self._denials,
        )


def _open(options: HarnessOptions) -> ToyHarness:
    return ToyHarness(options.toolbox)


ADAPTER = Adapter("toy", _open)
