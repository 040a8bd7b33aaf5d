"""What the agent loop remembers of earlier runs: reading it back, and writing down what a run added.

What is sent is always fit to be sent: every tool call in it has an answer, nothing in it was cut off. Only the
calls a run ended with because they wait for somebody are stored without an answer, and only the newest response may
have such calls. The system prompt is not part of an entry; each run brings its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from holaboss_runtime.harness.contract import HistoryEntry
from holaboss_runtime.harness.host.attachments import remembered
from holaboss_runtime.harness.host.text import valid_text

ADAPTER = "native"
VERSION = 1
PICTURE_GONE = "[A picture was shown here. Read its file again to see it.]"
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


def write_history(
    messages: Sequence[ModelMessage],
    *,
    waiting: Collection[str] = (),
    resumed: Sequence[ToolCallPart] = (),
) -> HistoryEntry | None:
    """An entry for the messages of one run; None when nothing of it can be sent again.

    The calls in `waiting` keep no answer. `resumed` are those an earlier run had left open and this one took up: what
    has no result by now never gets one, so that nobody can take it up a second time.
    """
    answers = _answers_from(messages, 0)
    unfinished = [_no_result(call) for call in resumed if call.tool_call_id not in answers]
    whole = close_open_calls(_whole(messages), keep=waiting)
    if unfinished:
        whole = _with_first(whole, unfinished)
    if not whole:
        return None
    payload = ModelMessagesTypeAdapter.dump_python(whole, mode="json", exclude_none=True)
    return HistoryEntry(adapter=ADAPTER, version=VERSION, payload=payload)


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The calls of the newest response that have no result yet."""
    places = reversed(range(len(messages)))
    newest = next((at for at in places if isinstance(messages[at], ModelResponse)), None)
    return [] if newest is None else _unanswered(messages, newest)


def close_open_calls(messages: Sequence[ModelMessage], *, keep: Collection[str] = ()) -> list[ModelMessage]:
    """Give every call without a result one that says so, right behind the response that made it.

    A result belongs to the response before it: some servers use the same ids again and again.
    """
    complete: list[ModelMessage] = []
    missing: list[ModelRequestPart] = []
    for at, message in enumerate(messages):
        if missing:
            if isinstance(message, ModelRequest):
                message = replace(message, parts=[*missing, *message.parts])
            else:
                complete.append(ModelRequest(parts=missing))
            missing = []
        complete.append(message)
        missing = [_no_result(call) for call in _unanswered(messages, at) if call.tool_call_id not in keep]
    if missing:
        complete.append(ModelRequest(parts=missing))
    return complete


def _whole(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Without system prompts, and without parts the end of the run cut off."""
    whole = (_whole_message(message, messages, at) for at, message in enumerate(messages))
    return [message for message in whole if message.parts]


def _whole_message(message: ModelMessage, messages: Sequence[ModelMessage], at: int) -> ModelMessage:
    if isinstance(message, ModelRequest):
        parts = [_without_pictures(_without_metadata(part)) for part in message.parts]
        return replace(message, parts=parts, instructions=None, state="complete")
    cut = [call for call in _unanswered(messages, at) if not _has_readable_arguments(call)]
    kept = [part for part in message.parts if part not in cut and not _is_half(part, message)]
    if message.state == "interrupted":  # its thinking may lack the signature without which it is refused
        kept = [part for part in kept if not isinstance(part, ThinkingPart)]
    return replace(message, parts=kept, state="complete")


def _without_metadata(part: ModelRequestPart) -> ModelRequestPart:
    """Metadata is for the events of the run; the model never sees it."""
    return replace(part, metadata=None) if isinstance(part, ToolReturnPart) else part


def _is_half(part: ModelResponsePart, message: ModelResponse) -> bool:
    """Something the provider began by itself and whose result never came."""
    if not isinstance(part, NativeToolCallPart):
        return False
    returned = (other for other in message.parts if isinstance(other, NativeToolReturnPart))
    return all(other.tool_call_id != part.tool_call_id for other in returned)


def _without_pictures(part: ModelRequestPart) -> ModelRequestPart:
    """A picture is shown to a model once: kept, each would be sent and stored again with every later turn."""
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return part
    kept = (PICTURE_GONE if _is_picture(item) else item for item in part.content)
    return replace(part, content=[remembered(item) if isinstance(item, str) else item for item in kept])


def _is_picture(item: object) -> bool:
    return isinstance(item, BinaryContent) or (isinstance(item, ImageUrl) and item.url.startswith("data:"))


def _has_readable_arguments(call: ToolCallPart) -> bool:
    try:
        call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return False
    return True


def _unanswered(messages: Sequence[ModelMessage], at: int) -> list[ToolCallPart]:
    """The calls of the message at `at` that no request answers before the next response."""
    message = messages[at]
    if not isinstance(message, ModelResponse):
        return []
    answers = _answers_from(messages, at + 1)
    calls = (part for part in message.parts if isinstance(part, ToolCallPart))
    return [call for call in calls if call.tool_call_id not in answers]


def _answers_from(messages: Sequence[ModelMessage], at: int) -> set[str]:
    """The ids of the calls that have a result between `at` and the next response."""
    answers: set[str] = set()
    while at < len(messages) and isinstance(message := messages[at], ModelRequest):
        answers |= {part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)}
        at += 1
    return answers


def _no_result(call: ToolCallPart) -> ModelRequestPart:
    return ToolReturnPart(
        tool_name=valid_text(call.tool_name), content=NO_RESULT, tool_call_id=call.tool_call_id
    )


def _with_first(messages: list[ModelMessage], parts: Sequence[ModelRequestPart]) -> list[ModelMessage]:
    """The same messages, beginning with these parts of a request."""
    if messages and isinstance(first := messages[0], ModelRequest):
        return [replace(first, parts=[*parts, *first.parts]), *messages[1:]]
    return [ModelRequest(parts=parts), *messages]
