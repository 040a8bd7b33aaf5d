"""The events of a run, folded into what the turn says and did.

A run that ends well, one that is cut off and one that is recovered after a crash all go through this fold, so the
stored answer is always exactly what the events show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from holaboss_client.events import OutputEvent, RunEvent


@dataclass(slots=True)
class _Part:
    length: int = 0
    pieces: list[str] = field(default_factory=list[str])


class TurnFold:
    """Feed it events in order; a delta that was seen before, in any cut, changes nothing."""

    def __init__(self) -> None:
        self._text: dict[int, _Part] = {}
        self._thinking: set[int] = set()
        self._tools: dict[str, dict[str, Any]] = {}
        self._skills: list[dict[str, Any]] = []
        self.started: dict[str, Any] = {}
        self.began = False
        """The last attempt got as far as its harness; earlier attempts do not count."""
        self.progressed = False
        """Something was said or done, so that running again would say or do it twice."""

    @classmethod
    def of(cls, events: Iterable[OutputEvent]) -> TurnFold:
        fold = cls()
        for event in events:
            fold.add(event.event_type, event.payload)
        return fold

    def add(self, event_type: str, payload: dict[str, Any]) -> None:
        if event_type == RunEvent.OUTPUT_DELTA:
            self.progressed = True
            self._add_text(payload)
        elif event_type == RunEvent.THINKING_DELTA:
            self.progressed = True
            self._thinking.add(_integer(payload.get("content_index")))
        elif event_type == RunEvent.TOOL_CALL:
            self.progressed = True
            self._add_tool(payload)
        elif event_type == RunEvent.SKILL_INVOCATION and payload.get("phase") == "completed":
            self._skills.append(payload)
        elif event_type == RunEvent.RUN_STARTED:
            self.started, self.began = payload, True
        elif event_type == RunEvent.RUN_CLAIMED:
            self.began = False

    @property
    def assistant_text(self) -> str:
        """The text parts in the order they began, with a blank line between them, trimmed."""
        parts = ("".join(self._text[index].pieces).strip() for index in sorted(self._text))
        return "\n\n".join(part for part in parts if part)

    @property
    def steps(self) -> int:
        """Tool calls and stretches of thinking."""
        return len(self._tools) + len(self._thinking)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """What is known of each call, in the order of the calls."""
        return list(self._tools.values())

    @property
    def tool_names(self) -> list[str]:
        """Each call's tool, in the order of the calls."""
        return [str(call.get("tool_name", "")) for call in self._tools.values()]

    def tool_usage_summary(self) -> dict[str, Any]:
        calls = self._tools.values()
        completed = [call for call in calls if call.get("phase") == "completed"]
        return {
            "total_calls": len(calls),
            "completed_calls": sum(1 for call in completed if not call.get("error")),
            "failed_calls": sum(1 for call in completed if call.get("error")),
            "tool_names": sorted({str(call.get("tool_name", "")) for call in calls}),
            "tool_ids": list(self._tools),
            **self._skill_usage(),
        }

    def _skill_usage(self) -> dict[str, Any]:
        """The skills that were invoked, and what each opened for the rest of the run."""
        if not self._skills:
            return {}
        opened = [one for one in self._skills if one.get("granted_tools") or one.get("granted_commands")]
        kept = ("skill_id", "widening_scope", "granted_tools", "granted_commands")
        return {
            "skill_invocations": [
                {"skill_id": one.get("skill_id"), "error": bool(one.get("error"))} for one in self._skills
            ],
            "skill_policy_widening": [{name: one.get(name) for name in kept} for one in opened],
        }

    def permission_denials(self) -> list[dict[str, Any]]:
        """The calls that rules refused, as far as the events say."""
        return [
            {"tool_name": call.get("tool_name"), "tool_id": call_id, "reason": str(call["denied"])}
            for call_id, call in self._tools.items()
            if call.get("denied")
        ]

    def _add_text(self, payload: dict[str, Any]) -> None:
        part = self._text.setdefault(_integer(payload.get("content_index")), _Part())
        delta = str(payload.get("delta", ""))
        offset = payload.get("offset")
        seen = part.length - offset if isinstance(offset, int) else 0
        fresh = delta[seen:] if seen > 0 else delta
        part.pieces.append(fresh)
        part.length += len(fresh)

    def _add_tool(self, payload: dict[str, Any]) -> None:
        call_id = str(payload.get("call_id", ""))
        self._tools[call_id] = {**self._tools.get(call_id, {}), **payload}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def result_text(result: Any) -> str:  # noqa: ANN401
    """The words of a tool result: a list of text items, or something plainer."""
    if isinstance(result, dict):
        content = cast(dict[str, Any], result).get("content")
        items = cast(list[Any], content) if isinstance(content, list) else []
        return " ".join(
            str(cast(dict[str, Any], item).get("text", "")) for item in items if isinstance(item, dict)
        )
    return "" if result is None else str(result)
