"""What a command answers: text for people, data for machines, remarks for stderr, and an exit code."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from io import TextIOWrapper
from typing import Any, TextIO

from holaboss_client.base import WireModel
from holaboss_runtime.errors import DomainError, Kind

DONE = 0
REFUSED = 1
FAILED = 2
STOPPED = 130

EXIT_CODES = (
    "Exit codes: 0 done, 1 refused or not found, 2 the run failed, a key is missing or the usage is wrong,"
    " 130 stopped."
)

_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Everything but tabs and line breaks that moves, colours, hides or reorders text, and half a character."""

_NEXT = {
    "session_not_found": "`agent session list` shows what there is.",
    "agent_not_found": "`agent list` shows what there is.",
    "environment_not_found": "`agent environment list` shows what there is.",
}

_STATUS: dict[Kind, int] = {
    "invalid": 400,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unprocessable": 422,
    "unavailable": 503,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """`data` is what `--json` prints; `remarks` go to stderr either way."""

    lines: Sequence[str]
    data: WireModel | Mapping[str, Any]
    code: int = DONE
    remarks: Sequence[str] = field(default_factory=tuple[str, ...])


def speak_any_encoding() -> None:
    """A terminal that cannot show a character gets its number instead of nothing at all."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def plain(text: str) -> str:
    """Text of a model or of a file for a terminal: what would steer it is shown instead of done."""
    return _STEERS.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def say(*lines: str) -> None:
    """On stdout, at once."""
    _print(plain("\n".join(lines)), sys.stdout)


def remark(*lines: str) -> None:
    _print(plain("\n".join(lines)), sys.stderr)


def bullets(**fields: object) -> list[str]:
    """`- name: value` for each; nothing is said of what is None but `none`."""
    return [f"- {name}: {shown(value)}" for name, value in fields.items()]


def shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(value).splitlines())


def give(answer: Answer, *, as_json: bool) -> int:
    if answer.remarks:
        remark(*answer.remarks)
    if as_json:
        data = answer.data.model_dump(mode="json") if isinstance(answer.data, WireModel) else answer.data
        _print(_json(data), sys.stdout)
    elif answer.lines:
        say(*answer.lines)
    return answer.code


def refuse(error: DomainError, *, as_json: bool) -> int:
    remark(f"{error.detail} {_NEXT[error.code]}" if error.code in _NEXT else error.detail)
    if as_json:
        status = HTTPStatus(_STATUS[error.kind])
        problem = {
            "type": "about:blank",
            "title": status.phrase,
            "status": int(status),
            "detail": error.detail,
            "code": error.code,
        }
        _print(_json(problem | error.context), sys.stdout)
    return REFUSED


def _json(data: object) -> str:
    """Readable in any language where the other side can take it."""
    any_language = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(data, ensure_ascii=not any_language, indent=2, default=str)


def _print(text: str, stream: TextIO) -> None:
    """What was done is done, also when a reader like `head` has gone before the end."""
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
