"""Telling the events of a run: from what the agent loop streams to what the runtime stores and shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from pydantic_ai.messages import (
    DeferredToolRequestsEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
)

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import ActionKind, NewOutput, PendingCall, RunnerEvent
from holaboss_runtime.harness.host.deltas import WINDOW_S, DeltaKind, DeltaMerger
from holaboss_runtime.harness.host.text import bounded_arguments, clip, valid_text
from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.web.native import native_result
from holaboss_runtime.permissions.model import Verdict

MAX_RESULT_CHARS = 16 * 1024


_Call = ToolCallPart | ToolReturnPart | NativeToolCallPart[Any] | NativeToolReturnPart[Any]


class _Part(NamedTuple):
    content_index: int
    kind: DeltaKind


class Narrator:
    """One per run. `content_index` counts the parts of the whole run: text, thinking and tool calls.

    `tools` are those of the run, `asked` the verdicts on calls that wait, by call id. `approved` are the arguments, by
    call id, with which approved calls of an earlier run are executed now.
    """

    def __init__(
        self,
        send: Callable[[RunnerEvent], None],
        tools: Mapping[str, HostTool] | None = None,
        asked: Mapping[str, Verdict] | None = None,
        approved: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        self._send = send
        self._tools = tools or {}
        self._asked: Mapping[str, Verdict] = {} if asked is None else asked  # filled by the gate meanwhile
        self._approved = dict(approved or {})
        self._merger = DeltaMerger()
        self._timer: asyncio.TimerHandle | None = None
        self._next_index = 0
        self._parts: dict[int, _Part] = {}
        self._calls: dict[str, int] = {}
        self._arguments: dict[str, dict[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}
        self.tool_calls: list[dict[str, Any]] = []
        self.changed_paths: list[str] = []
        self.pending: list[PendingCall] = []
        self.outputs: list[NewOutput] = []
        self.containment: str | None = None

    @property
    def assistant_text(self) -> str:
        """Every text part of the run, in order, with blank lines between."""
        texts = ("".join(pieces).strip() for pieces in self._texts.values())
        return "\n\n".join(text for text in texts if text)

    def begin_response(self) -> None:
        """A new answer of the model counts its parts from zero again."""
        self._parts.clear()

    def hear(self, event: object) -> None:
        if isinstance(event, PartDeltaEvent):
            self._continue(event.index, event.delta)
        elif isinstance(event, PartStartEvent):
            self._begin(event.index, event.part)
        elif isinstance(event, PartEndEvent) and isinstance(event.part, NativeToolCallPart):
            self._arguments[event.part.tool_call_id] = _shown_arguments(event.part)
        elif isinstance(event, FunctionToolCallEvent):
            self._tool_started(event.part)
        elif isinstance(event, FunctionToolResultEvent):
            self._tool_completed(event)
        elif isinstance(event, DeferredToolRequestsEvent):
            asked: list[tuple[ToolCallPart, ActionKind]] = [
                *((call, "tool_confirmation") for call in event.requests.approvals),
                *((call, self._kind_of(call.tool_name)) for call in event.requests.calls),
            ]
            for call, kind in sorted(asked, key=lambda each: self._call_index(each[0].tool_call_id)):
                self._tool_blocked(call, kind)

    def tell_skill(self, payload: dict[str, Any]) -> None:
        """A skill was invoked: the payload of a `skill_invocation`."""
        self._flush()
        self._send(RunnerEvent(event_type=RunEvent.SKILL_INVOCATION, payload=payload))

    def close(self) -> None:
        """Send what is still held back. Nothing may be heard afterwards."""
        self._flush()

    def _begin(self, index: int, part: object) -> None:
        if isinstance(part, ToolCallPart):
            self._call_index(part.tool_call_id)
        elif isinstance(part, NativeToolCallPart):
            begun = cast("NativeToolCallPart[Any]", part)
            self._tell(begun, "started", tool_args=_shown_arguments(begun))
        elif isinstance(part, NativeToolReturnPart):
            self._native_completed(cast("NativeToolReturnPart[Any]", part))
        elif isinstance(part, TextPart | ThinkingPart):
            kind: DeltaKind = "output" if isinstance(part, TextPart) else "thinking"
            self._parts[index] = _Part(self._new_index(), kind)
            self._say(index, part.content)

    def _continue(self, index: int, delta: object) -> None:
        if isinstance(delta, TextPartDelta | ThinkingPartDelta) and index in self._parts:
            self._say(index, delta.content_delta or "")

    def _say(self, index: int, text: str) -> None:
        if not text:
            return
        part, text = self._parts[index], valid_text(text)
        if part.kind == "output":
            self._texts.setdefault(part.content_index, []).append(text)
        for event in self._merger.push(part.content_index, part.kind, text):
            self._send(event)
        if self._merger.pending and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for event in self._merger.flush():
            self._send(event)

    def _tool_started(self, call: ToolCallPart) -> None:
        approved = self._approved.pop(valid_text(call.tool_call_id), None)
        shown = _shown_arguments(call) if approved is None else bounded_arguments(approved)
        self._arguments[call.tool_call_id] = shown
        self._tell(call, "started", tool_args=shown)

    def _native_completed(self, part: NativeToolReturnPart[Any]) -> None:
        """Something the model's provider did by itself, within its answer."""
        text, failed, details = native_result(part)
        result = {"content": [{"type": "text", "text": text}], "details": details}
        name, call_id = valid_text(part.tool_name), valid_text(part.tool_call_id)
        self.tool_calls.append({"call_id": call_id, "tool_name": name, "error": failed})
        arguments = self._arguments.pop(part.tool_call_id, {})
        self._tell(part, "completed", tool_args=arguments, result=result, error=failed, changed_paths=[])

    def _tool_blocked(self, call: ToolCallPart, kind: ActionKind) -> None:
        """The call waits: for a decision, for an answer, or for whoever gives the result of a custom tool."""
        verdict = self._asked.get(valid_text(call.tool_call_id)) or Verdict("always_ask")
        waits = PendingCall(
            call_id=valid_text(call.tool_call_id),
            kind=kind,
            tool_name=valid_text(call.tool_name),
            tool_args=call.args_as_dict(),
            reason=verdict.reason,
            suggestions=list(verdict.suggestions),
        )
        self.pending.append(waits)
        arguments = self._arguments.pop(call.tool_call_id, {})
        self._tell(call, "blocked", tool_args=arguments, kind=kind, reason=verdict.reason)

    def _kind_of(self, tool_name: str) -> ActionKind:
        tool = self._tools.get(tool_name)
        return (tool.waits if tool else None) or "custom_tool"

    def _tool_completed(self, event: FunctionToolResultEvent) -> None:
        part = event.part
        outcome = part.metadata if isinstance(part.metadata, ToolOutcome) else None
        text = outcome.text if outcome else part.model_response_str(wrap_if_error=False)
        error = outcome.error if outcome else part.outcome != "success"
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": clip(valid_text(text), MAX_RESULT_CHARS)}]
        }
        if outcome and outcome.containment:
            result["containment"] = self.containment = outcome.containment
        if outcome and outcome.details:
            result["details"] = outcome.details
        facts: dict[str, Any] = {"denied": outcome.refused} if outcome and outcome.refused else {}
        self.outputs += outcome.outputs if outcome else ()
        changed = list(outcome.changed_paths) if outcome else []
        self.changed_paths += [path for path in changed if path not in self.changed_paths]
        name, call_id = valid_text(part.tool_name), valid_text(part.tool_call_id)
        self.tool_calls.append({"call_id": call_id, "tool_name": name, "error": error})
        arguments = self._arguments.pop(part.tool_call_id, {})
        facts |= {"result": result, "error": error, "changed_paths": changed}
        self._tell(part, "completed", tool_args=arguments, **facts)

    def _tell(self, call: _Call, phase: str, **facts: object) -> None:
        self._flush()
        payload = {
            "phase": phase,
            "call_id": valid_text(call.tool_call_id),
            "content_index": self._call_index(call.tool_call_id),
            "tool_name": valid_text(call.tool_name),
            **(tool.origin if (tool := self._tools.get(call.tool_name)) else {}),
            **facts,
        }
        self._send(RunnerEvent(event_type=RunEvent.TOOL_CALL, payload=payload))

    def _call_index(self, call_id: str) -> int:
        if call_id not in self._calls:
            self._calls[call_id] = self._new_index()
        return self._calls[call_id]

    def _new_index(self) -> int:
        self._next_index += 1
        return self._next_index - 1


def _shown_arguments(call: ToolCallPart | NativeToolCallPart[Any]) -> dict[str, Any]:
    try:
        return bounded_arguments(call.args_as_dict(raise_if_invalid=True))
    except (ValueError, AssertionError):
        return {"…": clip(valid_text(call.args_as_json_str()), 2000)}
