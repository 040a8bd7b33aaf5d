"""Saying, in a test, what a model asks for and what somebody decides; and reading what a run made of it."""

from __future__ import annotations

from typing import Any

from holaboss_client.events import RunEvent
from holaboss_runtime.demo_provider.chat import last_text
from holaboss_runtime.harness.contract import (
    ActionDecision,
    CustomTool,
    HistoryEntry,
    PendingCall,
    RunnerEvent,
    RunResult,
    WireProtocol,
)
from holaboss_runtime.permissions.model import Permission, PermissionPolicy, PermissionRule
from tests.support.scripted_provider import Reply, ToolCall, Usage, words


def policy(default: Permission = "always_allow", **tools: Permission) -> PermissionPolicy:
    """Rules about tools by name."""
    rules = [PermissionRule(effect=effect, tool=name) for name, effect in tools.items()]
    return PermissionPolicy(default=default, rules=rules)


PROTOCOLS: list[WireProtocol] = ["openai_chat", "openai_responses", "anthropic_messages"]
ASK = policy(bash="always_ask")
LOOKUP = CustomTool(
    name="lookup",
    description="Ask the archive.",
    input_schema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
)


def calls(*made: ToolCall, text: str = "") -> Reply:
    """An answer with several calls."""
    return Reply(words(text), (), made, Usage(10, 5))


def bash(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command})


def ending(events: list[RunnerEvent]) -> tuple[str, RunResult]:
    """Status (or type of the failure) and result of the one terminal event, which is the last."""
    terminals = [
        event for event in events if event.event_type in (RunEvent.RUN_COMPLETED, RunEvent.RUN_FAILED)
    ]
    assert terminals == [events[-1]]
    result = events[-1].result
    assert result is not None
    return events[-1].payload.get("status") or events[-1].payload["type"], result


def waiting(events: list[RunnerEvent]) -> RunResult:
    status, result = ending(events)
    assert status == "waiting_user"
    assert result.pending
    return result


def decide(pending: PendingCall, outcome: str = "approved", **fields: Any) -> ActionDecision:
    given = {"tool_args": pending.tool_args} | fields
    return ActionDecision(
        call_id=pending.call_id, kind=pending.kind, tool_name=pending.tool_name, outcome=outcome, **given
    )


def history(*results: RunResult) -> list[HistoryEntry]:
    return [result.history for result in results if result.history is not None]


def steps(events: list[RunnerEvent]) -> list[tuple[str, str]]:
    told = [event.payload for event in events if event.event_type == RunEvent.TOOL_CALL]
    return [(payload["phase"], payload["tool_name"]) for payload in told]


def told(events: list[RunnerEvent], phase: str) -> list[dict[str, Any]]:
    payloads = [event.payload for event in events if event.event_type == RunEvent.TOOL_CALL]
    return [payload for payload in payloads if payload["phase"] == phase]


def answers_sent(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Id and text of every tool result in a request, in order, whatever its dialect."""
    found: list[tuple[str, str]] = []
    for item in body.get("input", body.get("messages", [])):
        if item.get("role") == "tool":
            found.append((item["tool_call_id"], str(item["content"])))
        elif item.get("type") == "function_call_output":
            found.append((item["call_id"], str(item["output"])))
        elif isinstance(item.get("content"), list):
            blocks = [block for block in item["content"] if block.get("type") == "tool_result"]
            found += [(block["tool_use_id"], last_text(block["content"])) for block in blocks]
    return found
