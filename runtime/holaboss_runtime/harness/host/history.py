"""What the agent loop remembers of earlier runs: reading it back, and writing down what a run added.

An entry is always fit to be sent again: every tool call in it has an answer, nothing in it was cut off.
The system prompt is not part of it; each run brings its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

from holaboss_runtime.harness.contract import HistoryEntry
from holaboss_runtime.harness.host.text import valid_text

ADAPTER = "native"
VERSION = 1
NO_RESULT = "This call was interrupted before it had a result."


def read_history(entries: Sequence[HistoryEntry]) -> list[ModelMessage]:
    """The messages of all entries this program can read, oldest first; others are skipped."""
    messages: list[ModelMessage] = []
    for entry in entries:
        if entry.adapter != ADAPTER or entry.version != VERSION:
            continue
        try:
            messages += ModelMessagesTypeAdapter.validate_python(entry.payload)
        except ValidationError:
            continue
    return messages


def write_history(messages: Sequence[ModelMessage]) -> HistoryEntry | None:
    """An entry for the messages of one run; None when nothing of it can be sent again."""
    answers = _answers(messages)
    whole = [_whole(message, answers) for message in messages]
    answered = _answer_open_calls([message for message in whole if message.parts], answers)
    if not answered:
        return None
    payload = ModelMessagesTypeAdapter.dump_python(answered, mode="json", exclude_none=True)
    return HistoryEntry(adapter=ADAPTER, version=VERSION, payload=payload)


def _answers(messages: Sequence[ModelMessage]) -> set[str]:
    """The ids of all tool calls that got an answer."""
    requests = (message for message in messages if isinstance(message, ModelRequest))
    return {
        part.tool_call_id
        for request in requests
        for part in request.parts
        if isinstance(part, ToolReturnPart)
    }


def _whole(message: ModelMessage, answers: set[str]) -> ModelMessage:
    """Without the system prompt, and without parts the end of the run cut off."""
    if isinstance(message, ModelRequest):
        parts = [_without_metadata(part) for part in message.parts]
        return replace(message, parts=parts, instructions=None, state="complete")
    kept = [part for part in message.parts if not _is_cut_call(part, answers)]
    if message.state == "interrupted":  # its thinking may lack the signature without which it is refused
        kept = [part for part in kept if not isinstance(part, ThinkingPart)]
    return replace(message, parts=kept, state="complete")


def _without_metadata(part: ModelRequestPart) -> ModelRequestPart:
    """Metadata is for the events of the run; the model never sees it."""
    return replace(part, metadata=None) if isinstance(part, ToolReturnPart) else part


def _is_cut_call(part: object, answers: set[str]) -> bool:
    if not isinstance(part, ToolCallPart) or part.tool_call_id in answers:
        return False
    try:
        part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return True
    return False


def _answer_open_calls(messages: list[ModelMessage], answers: set[str]) -> list[ModelMessage]:
    """Give every call without a result one that says so, right behind the response that made it."""
    complete: list[ModelMessage] = []
    missing: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, ModelRequest) and missing:
            message, missing = replace(message, parts=[*missing, *message.parts]), []
        if missing:
            complete.append(ModelRequest(parts=missing))
        complete.append(message)
        missing = _unanswered(message, answers)
    if missing:
        complete.append(ModelRequest(parts=missing))
    return complete


def _unanswered(message: ModelMessage, answers: set[str]) -> list[ModelRequestPart]:
    if not isinstance(message, ModelResponse):
        return []
    return [
        ToolReturnPart(
            tool_name=valid_text(part.tool_name), content=NO_RESULT, tool_call_id=part.tool_call_id
        )
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.tool_call_id not in answers
    ]
