"""What a tool of a server answered, as text for the model and as bounded facts for whoever shows the call.

A result is somebody else's words: bounded, without terminal control, and never anything but content. Pictures are
handed on where the model takes them; other files are described, not carried.
"""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any, cast

from holaboss_runtime.harness.host.pictures import MAX_PICTURE_BYTES, media_type_of
from holaboss_runtime.harness.host.text import clip, plain_text
from holaboss_runtime.harness.host.tools.outcome import Picture, ToolOutcome
from holaboss_runtime.redaction import redact

MAX_TEXT = 2_000_000
"""What is too long for a model is kept in a file by the sandbox; this bounds the file."""

_MAX_PICTURES = 4
_MAX_BLOCKS = 200
_MAX_STRUCTURED = 8 * 1024

Block = dict[str, Any]


def outcome_of(result: Block, secrets: list[str], *, pictures: bool = False) -> ToolOutcome:
    """`result` is a `CallToolResult` as JSON; `secrets` are in the order of `worth_hiding`.

    With `pictures` the model gets to see them.
    """
    given = result.get("content")
    parts = cast(list[Any], given) if isinstance(given, list) else []
    blocks = [cast(Block, block) for block in parts if isinstance(block, dict)]
    texts = [_text_of(block) for block in blocks[:_MAX_BLOCKS]]
    if len(blocks) > _MAX_BLOCKS:
        texts.append(f"[… {len(blocks) - _MAX_BLOCKS} more parts left out …]")
    structured = _structured(result)
    if structured is not None and not any(text.strip() for text in texts):
        texts = [structured]
    text = redact(clean_text("\n".join(text for text in texts if text)), secrets)
    details = _details(blocks, structured, secrets)
    error = result.get("isError") is True
    shown = tuple(_pictures(blocks)) if pictures else ()
    text = text or ("The tool failed." if error else "(no output)")
    return ToolOutcome(text, error=error, details=details, pictures=shown)


def clean_text(text: str) -> str:
    return plain_text(clip(text, MAX_TEXT).encode("utf-8", "replace"))


def _text_of(block: Block) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return f"[{kind}, {_mime(block)}, {_size(block.get('data'))}]"
    if kind == "resource":
        return _resource(block.get("resource"))
    if kind == "resource_link":
        return f"[resource {_short(block.get('name'))}: {_short(block.get('uri'))}]"
    return f"[{_short(kind)}; not shown here]"


def _resource(given: Any) -> str:  # noqa: ANN401 - whatever a server sent
    resource: Block = cast(Block, given) if isinstance(given, dict) else {}
    where = _short(resource.get("uri"))
    if isinstance(resource.get("text"), str):
        return f"[resource {where}]\n{resource['text']}"
    return f"[resource {where}, {_mime(resource)}, {_size(resource.get('blob'))}]"


def _pictures(blocks: list[Block]) -> list[Picture]:
    found: list[Picture] = []
    for block in blocks:
        data = block.get("data")
        if block.get("type") != "image" or not isinstance(data, str) or len(data) > MAX_PICTURE_BYTES:
            continue
        with suppress(ValueError):
            content = base64.b64decode(data, validate=True)
            if (kind := media_type_of(content)) is not None and len(found) < _MAX_PICTURES:
                found.append(Picture(content, kind))
    return found


def _structured(result: Block) -> str | None:
    value = result.get("structuredContent")
    return None if value is None else json.dumps(value, ensure_ascii=False, indent=1)


def _details(blocks: list[Block], structured: str | None, secrets: list[str]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    parts = [_part(block) for block in blocks[:20] if block.get("type") != "text"]
    if parts:
        details["parts"] = parts
    if structured is not None and len(structured) <= _MAX_STRUCTURED:
        with suppress(ValueError):  # a secret that is a number leaves no JSON behind
            details["structured"] = json.loads(
                redact(structured, [json.dumps(secret)[1:-1] for secret in secrets])
            )
    return details


def _part(block: Block) -> Block:
    resource = block.get("resource")
    inner: Block = block | (cast(Block, resource) if isinstance(resource, dict) else {})
    part = {"type": _short(block.get("type")), "mime_type": _mime(inner)}
    return part | {key: _short(inner[key]) for key in ("uri", "name") if isinstance(inner.get(key), str)}


def _mime(block: Block) -> str:
    return _short(block.get("mimeType") or "unknown type")


def _size(data: Any) -> str:  # noqa: ANN401
    """Of base64."""
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{size:,} bytes" if size < 10_000 else f"{size // 1024:,} KB"


def _short(value: Any) -> str:  # noqa: ANN401
    return plain_text(str(value)[:200].encode("utf-8", "replace"))
