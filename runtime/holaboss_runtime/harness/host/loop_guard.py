"""Noticing that a model makes the same call again and again and learns nothing from it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from holaboss_runtime.harness.host.failures import ToolLoopError
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome

ANSWERED_AT = 3
"""The how-manieth identical call in a row is no longer made, and its answer says why."""
FAILED_AT = 6
"""The how-manieth one ends the run."""

POLLING = frozenset(
    {
        "terminal_session_read",
        "terminal_session_wait",
        "terminal_session_get",
        "terminal_sessions_list",
        "get_subagent",
        "list_background_tasks",
    }
)
"""Tools whose point is to be asked again."""


class LoopGuard:
    """One per run. Calls are the same when tool and arguments are, and count while their results are the same too."""

    def __init__(self) -> None:
        self._call: bytes | None = None
        self._result: bytes | None = None
        self._same = 0

    def answer(self, name: str, arguments: dict[str, Any]) -> ToolOutcome | None:
        """What the model is told instead of a result; None when the call may be made. Raises `ToolLoopError`."""
        if _digest(name, arguments) != self._call or _is_polling(name, arguments):
            return None
        if self._same < ANSWERED_AT - 1:
            return None
        self._same += 1
        if self._same >= FAILED_AT:
            raise ToolLoopError
        return ToolOutcome(
            f"You have made this very call {ANSWERED_AT - 1} times and the result was the same, so it was not made"
            " again. Use what you know, try something else, or say what keeps you from going on.",
            error=True,
        )

    def made(self, name: str, arguments: dict[str, Any], outcome: ToolOutcome) -> None:
        """A call was carried out, or refused."""
        call, result = _digest(name, arguments), _digest(str(outcome.error), outcome.text)
        self._same = self._same + 1 if (call, result) == (self._call, self._result) else 1
        self._call, self._result = call, result


def _is_polling(name: str, arguments: dict[str, Any]) -> bool:
    return name in POLLING or (name == "bash" and bool(arguments.get("id")))


def _digest(name: str, what: object) -> bytes:
    text = json.dumps([name, what], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
