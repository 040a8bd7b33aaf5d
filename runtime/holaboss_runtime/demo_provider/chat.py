"""The OpenAI chat dialect: what a request asks, and a `Reply` as wire bytes."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, Field

from holaboss_runtime.demo_provider.reply import Prompt, Reply, cut

Json = dict[str, Any]
DONE = b"data: [DONE]\n\n"
ARGUMENT_SIZE = 12
_TAGS = re.compile(r"</?session-[a-z]+\b[^>]*>\n?")


class Message(BaseModel):
    role: str
    content: str | list[Json] | None = None


class Function(BaseModel):
    name: str


class Tool(BaseModel):
    function: Function


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The fields of a request that a script can answer; everything else is ignored."""

    model: str
    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] = Field(default_factory=list[Tool])
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()


def read_prompt(request: ChatRequest) -> Prompt:
    asked, results = "", list[str]()
    for message in request.messages:
        if message.role == "user":
            asked, results = _unwrapped(last_text(message.content)), []
        elif message.role == "tool":
            results.append(last_text(message.content))
    tools = frozenset(tool.function.name for tool in request.tools)
    size = sum(len(str(message.content)) for message in request.messages)
    told = [message for message in request.messages if message.role in ("system", "developer")]
    return Prompt(asked, tuple(results), tools, size, "\n".join(last_text(each.content) for each in told))


def _unwrapped(text: str) -> str:
    """Without the tags that say where a text comes from: the script has no use for them."""
    return _TAGS.sub("", text).strip()


def last_text(content: str | list[Json] | None) -> str:
    """Content as text: the string itself, or the last text part of a list."""
    if not isinstance(content, list):
        return content or ""
    texts = [str(part["text"]) for part in content if "text" in part]
    return texts[-1] if texts else ""


def stream(reply: Reply, model: str, *, usage: bool, argument_size: int = ARGUMENT_SIZE) -> Iterator[bytes]:
    """One server-sent event after the other; tool arguments come in pieces of `argument_size` characters."""
    identity = _identity("chat.completion.chunk", model)

    def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
        return _event(identity | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in reply.thinking:
        yield chunk({"reasoning_content": piece})
    for piece in reply.text:
        yield chunk({"content": piece})
    for index, call in enumerate(reply.tool_calls):
        begun = {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index} | begun]})
        for piece in cut(json.dumps(call.arguments, ensure_ascii=False), argument_size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, reply.finish_reason)
    if usage:
        yield _event(identity | {"choices": [], "usage": _usage(reply)})
    yield DONE


def complete(reply: Reply, model: str) -> Json:
    """The whole reply at once, for a request that does not stream."""
    message: Json = {"role": "assistant", "content": "".join(reply.text)}
    if reply.thinking:
        message["reasoning_content"] = "".join(reply.thinking)
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in reply.tool_calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    return _identity("chat.completion", model) | {"choices": [choice], "usage": _usage(reply)}


def models(names: Sequence[str]) -> Json:
    """Body of `GET /v1/models`."""
    items = [{"id": name, "object": "model", "created": 0, "owned_by": "holaboss"} for name in names]
    return {"object": "list", "data": items}


def error(message: str, code: str, kind: str = "invalid_request_error") -> Json:
    """Body of a refusal, and of an error in the middle of a stream."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _identity(kind: str, model: str) -> Json:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:24]}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


def _event(payload: Json) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
