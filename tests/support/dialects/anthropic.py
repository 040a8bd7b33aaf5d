"""Anthropic messages: what a request asks, and a `Reply` as its wire bytes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from holaboss_runtime.demo_provider.chat import last_text
from holaboss_runtime.demo_provider.reply import Prompt, Reply, cut

Json = dict[str, Any]


def read_prompt(body: Json) -> Prompt:
    asked, results = "", list[str]()
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                results.append(last_text(block.get("content")))
            elif block["type"] == "text" and message["role"] == "user":
                asked, results = block["text"], []
    offered: list[Json] = body.get("tools") or []
    tools = frozenset(str(tool["name"]) for tool in offered)
    return Prompt(asked, tuple(results), tools, len(json.dumps(body["messages"])))


def stream(reply: Reply, model: str, *, argument_size: int) -> Iterator[bytes]:
    usage = {"input_tokens": reply.usage.input_tokens, "output_tokens": 0}
    yield _event("message_start", message=_message(model) | {"stop_reason": None, "usage": usage})
    yield _event("ping")
    index = 0
    if reply.thinking:
        yield _start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in reply.thinking:
            yield _delta(index, {"type": "thinking_delta", "thinking": piece})
        yield _delta(index, {"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
        yield _event("content_block_stop", index=index)
        index += 1
    if reply.text:
        yield _start(index, {"type": "text", "text": ""})
        for piece in reply.text:
            yield _delta(index, {"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=index)
        index += 1
    for call in reply.tool_calls:
        yield _start(index, {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}})
        for piece in cut(json.dumps(call.arguments, ensure_ascii=False), argument_size):
            yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=index)
        index += 1
    ended = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage={"output_tokens": reply.usage.output_tokens})
    yield _event("message_stop")


def complete(reply: Reply, model: str) -> Json:
    content: list[Json] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": "".join(reply.thinking), "signature": "c2lnbmF0dXJl"})
    if reply.text:
        content.append({"type": "text", "text": "".join(reply.text)})
    for call in reply.tool_calls:
        content.append({"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments})
    usage = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    return _message(model) | {"content": content, "stop_reason": _stop_reason(reply), "usage": usage}


def models(names: tuple[str, ...]) -> Json:
    items = [
        {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        for name in names
    ]
    return {"data": items, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def error(status: int, message: str) -> Json:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
    kinds |= {429: "rate_limit_error", 529: "overloaded_error"}
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def error_event(message: str) -> bytes:
    return _event("error", **{"error": {"type": "overloaded_error", "message": message}})


def _message(model: str) -> Json:
    identity = f"msg_{uuid.uuid4().hex[:24]}"
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_sequence": None,
    }


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.tool_calls else "end_turn"


def _start(index: int, block: Json) -> bytes:
    return _event("content_block_start", index=index, content_block=block)


def _delta(index: int, delta: Json) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind} | fields, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()
