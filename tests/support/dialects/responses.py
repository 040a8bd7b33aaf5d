"""OpenAI responses: what a request asks, and a `Reply` as its wire bytes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from holaboss_runtime.demo_provider.chat import last_text
from holaboss_runtime.demo_provider.reply import Prompt, Reply, ToolCall, cut

Json = dict[str, Any]


def read_prompt(body: Json) -> Prompt:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    asked, results = "", list[str]()
    for item in items:
        if item.get("role") == "user":
            asked, results = last_text(item["content"]), []
        elif item.get("type") == "function_call_output":
            results.append(last_text(item["output"]))
    offered: list[Json] = body.get("tools") or []
    tools = frozenset(str(tool.get("name")) for tool in offered)
    return Prompt(asked, tuple(results), tools, len(json.dumps(items)))


def stream(reply: Reply, model: str, *, argument_size: int) -> Iterator[bytes]:
    """Numbers the events, as the wire demands."""
    for number, (kind, fields) in enumerate(_events(reply, model, argument_size)):
        data = json.dumps({"type": kind, "sequence_number": number} | fields, ensure_ascii=False)
        yield f"event: {kind}\ndata: {data}\n\n".encode()


def _events(reply: Reply, model: str, argument_size: int) -> Iterator[tuple[str, Json]]:
    begun = _response(model, "in_progress", [])
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    done: list[Json] = []
    if reply.thinking:
        yield from _thinking(reply.thinking, len(done), done)
    if reply.text:
        yield from _text(reply.text, len(done), done)
    for call in reply.tool_calls:
        yield from _call(call, len(done), done, argument_size)
    yield (
        "response.completed",
        {"response": begun | {"status": "completed", "output": done, "usage": _usage(reply)}},
    )


def _thinking(pieces: tuple[str, ...], index: int, done: list[Json]) -> Iterator[tuple[str, Json]]:
    item: Json = {"id": f"rs_{uuid.uuid4().hex}", "type": "reasoning", "summary": []}
    place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    part = {"type": "summary_text", "text": "".join(pieces)}
    yield "response.output_item.added", {"output_index": index, "item": item}
    yield "response.reasoning_summary_part.added", place | {"part": part | {"text": ""}}
    for piece in pieces:
        yield "response.reasoning_summary_text.delta", place | {"delta": piece}
    yield "response.reasoning_summary_text.done", place | {"text": part["text"]}
    yield "response.reasoning_summary_part.done", place | {"part": part}
    done.append(item | {"summary": [part]})
    yield "response.output_item.done", {"output_index": index, "item": done[-1]}


def _text(pieces: tuple[str, ...], index: int, done: list[Json]) -> Iterator[tuple[str, Json]]:
    item: Json = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "content": []}
    item["status"] = "in_progress"
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part: Json = {"type": "output_text", "text": "".join(pieces), "annotations": [], "logprobs": []}
    yield "response.output_item.added", {"output_index": index, "item": item}
    yield "response.content_part.added", place | {"part": part | {"text": ""}}
    for piece in pieces:
        yield "response.output_text.delta", place | {"delta": piece, "logprobs": []}
    yield "response.output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "response.content_part.done", place | {"part": part}
    done.append(item | {"status": "completed", "content": [part]})
    yield "response.output_item.done", {"output_index": index, "item": done[-1]}


def _call(call: ToolCall, index: int, done: list[Json], argument_size: int) -> Iterator[tuple[str, Json]]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    item: Json = {
        "id": f"fc_{uuid.uuid4().hex}",
        "type": "function_call",
        "call_id": call.call_id,
        "name": call.name,
    }
    place = {"item_id": item["id"], "output_index": index}
    begun = item | {"arguments": "", "status": "in_progress"}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    for piece in cut(arguments, argument_size):
        yield "response.function_call_arguments.delta", place | {"delta": piece}
    yield "response.function_call_arguments.done", place | {"arguments": arguments, "name": call.name}
    done.append(item | {"arguments": arguments, "status": "completed"})
    yield "response.output_item.done", {"output_index": index, "item": done[-1]}


def complete(reply: Reply, model: str) -> Json:
    *_, (_, last) = _events(reply, model, argument_size=1024)
    return last["response"]


def error_event(message: str) -> bytes:
    fields = {
        "type": "error",
        "code": "server_error",
        "message": message,
        "param": None,
        "sequence_number": 999,
    }
    return f"event: error\ndata: {json.dumps(fields)}\n\n".encode()


def _response(model: str, status: str, output: list[Json]) -> Json:
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }
