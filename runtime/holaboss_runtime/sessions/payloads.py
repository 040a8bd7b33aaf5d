"""What an inbound event may say: each type checked and reduced to its own fields before anything is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from holaboss_client.agents import CLIENT_EVENTS
from holaboss_client.agents import SessionEventType as Event
from holaboss_client.permissions import RuleText
from holaboss_client.sessions import QueueRequest
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.workspace.attached import reachable

MAX_PAYLOAD_CHARS = 4 * 1024 * 1024
"""More than a message a model can read; less than what makes a log unreadable."""

MAX_CRITERIA = 50
_DATA_URL = re.compile(r"data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)


def event_payload(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload of an event that a person or a program appends. Raises `DomainError`."""
    if event_type not in CLIENT_EVENTS:
        known = ", ".join(sorted(CLIENT_EVENTS))
        raise _unprocessable(
            "event_type_unknown", f"{event_type[:80]!r} cannot be appended. There are: {known}."
        )
    _check_storable(payload)
    return _CHECKS[Event(event_type)](payload)


def message_payload(body: QueueRequest, folder: Path) -> dict[str, Any]:
    """The payload of a person's message. Raises `DomainError` for one that cannot be sent."""
    if not all(_is_picture(url) for url in body.image_urls):
        raise _unprocessable(
            "image_urls_unsupported",
            "Images from the web cannot be sent. Save the image in the workspace and attach the file.",
        )
    if not body.text.strip() and not body.attachments and not body.image_urls:
        raise _unprocessable("text_required", "Write something, or attach a file.")
    for attachment in body.attachments:
        _check_attachment(attachment, folder)
    payload: dict[str, Any] = {"text": body.text}
    optional: dict[str, Any] = {
        "attachments": body.attachments,
        "image_urls": body.image_urls,
        "model": body.model,
        "thinking_value": body.thinking_value,
    }
    payload |= {name: value for name, value in optional.items() if value}
    _check_storable(payload)
    return payload


def _check_storable(payload: dict[str, Any]) -> None:
    text = encode(payload)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _unprocessable(
            "text_invalid",
            "The text has half of a character in it (a lone surrogate). Send whole characters.",
        ) from error
    if len(text) > MAX_PAYLOAD_CHARS:
        raise DomainError(
            "too_large",
            "payload_too_large",
            f"An event holds at most {MAX_PAYLOAD_CHARS >> 20} MB. Put long material into a file and name it.",
        )


def _message(payload: dict[str, Any]) -> dict[str, Any]:
    text = _text(payload, "text") or _text(payload, "message")
    if not text.strip():
        raise _unprocessable("text_required", "A message needs some text.")
    optional = {name: _text(payload, name) for name in ("model", "thinking_value")}
    return {"text": text} | {name: value for name, value in optional.items() if value}


def _outcome(payload: dict[str, Any]) -> dict[str, Any]:
    title = _text(payload, "title").strip()
    if not title:
        raise _unprocessable("title_required", "An outcome needs a title.")
    given = payload.get("success_criteria", [])
    criteria = cast(list[Any], given) if isinstance(given, list) else None
    if criteria is None or len(criteria) > MAX_CRITERIA:
        raise _unprocessable(
            "criteria_invalid", f"success_criteria is a list of at most {MAX_CRITERIA} sentences."
        )
    listed = [str(item) for item in criteria]
    return {"title": title, "detail": _text(payload, "detail") or None, "success_criteria": listed}


def _interrupt(payload: dict[str, Any]) -> dict[str, Any]:
    return {"note": _text(payload, "note") or None}


def _confirmation(payload: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(payload.get("allowed"), bool):
        raise _unprocessable("decision_required", "A confirmation says `allowed`: true or false.")
    said = _answer(payload) | {"allowed": payload["allowed"], "note": _text(payload, "note") or None}
    more = {name: payload[name] for name in ("input", "remember") if payload.get(name) is not None}
    if more and not payload["allowed"]:
        raise _unprocessable("decision_required", "`input` and `remember` go with `allowed`: true.")
    if not isinstance(more.get("input", {}), dict):
        raise _unprocessable("input_invalid", "`input` replaces the arguments of the call: it is an object.")
    return said | more | ({"remember": _rule(more["remember"])} if "remember" in more else {})


def _rule(given: object) -> dict[str, Any]:
    try:
        return RuleText.model_validate(given).model_dump(exclude_none=True)
    except ValidationError as error:
        raise _unprocessable(
            "rule_invalid", "`remember` is a rule: `effect`, `tool`, and what else it is about, as texts."
        ) from error


def _custom_result(payload: dict[str, Any]) -> dict[str, Any]:
    """Whether an output fits is known only where it is known who asked."""
    if "output" not in payload:
        raise _unprocessable("output_required", "The result of a tool needs an `output`.")
    return _answer(payload) | {"output": payload["output"]}


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    named = {name: _text(payload, name) for name in ("request_id", "tool_name")}
    return {name: value for name, value in named.items() if value}


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _unprocessable("payload_invalid", f"`{name}` must be text.")
    return value


_CHECKS: dict[Event, Callable[[dict[str, Any]], dict[str, Any]]] = {
    Event.USER_MESSAGE: _message,
    Event.USER_DEFINE_OUTCOME: _outcome,
    Event.USER_INTERRUPT: _interrupt,
    Event.USER_TOOL_CONFIRMATION: _confirmation,
    Event.USER_CUSTOM_TOOL_RESULT: _custom_result,
}


def _is_picture(url: str) -> bool:
    """Part of the message itself. An address is not: whoever answers there would learn who reads it, and when."""
    return bool(_DATA_URL.match(url))


def _check_attachment(attachment: dict[str, Any], folder: Path) -> None:
    path = attachment.get("workspace_path")
    # Flat and finite: it is stored with the message and goes back to every client that reads the history.
    plain = all(
        value is None or isinstance(value, str | int) or _is_finite(value) for value in attachment.values()
    )
    if not isinstance(path, str) or not path or not plain:
        raise _unprocessable(
            "attachment_invalid",
            "An attachment must name a file with `workspace_path`, and consists of plain values.",
        )
    if not reachable(folder, path).exists():
        raise _unprocessable("attachment_missing", f"There is no file {path!r} in the workspace to attach.")


def _is_finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _unprocessable(code: str, detail: str) -> DomainError:
    return DomainError("unprocessable", code, detail)
