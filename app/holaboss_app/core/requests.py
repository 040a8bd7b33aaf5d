"""What waits for a person: a call that needs permission, or a question; read from the wire, and turned into a decision.

It decides nothing and says nothing in words: how a request reads on screen is the pane's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from holaboss_app.core.visible import is_visible, spelt_out
from holaboss_client.agents import DecideAction, PendingAction
from holaboss_client.permissions import RuleText

Kind = Literal["confirmation", "question"]
_KINDS: dict[str, Kind] = {"tool_confirmation": "confirmation", "question": "question"}
_TEXTS = ("command", "url")
"""Arguments that say everything about a call that has nothing else."""
_BESIDE: dict[str, frozenset[str]] = {
    "bash": frozenset({"timeout", "description", "background"}),
    "terminal_session_start": frozenset({"title", "cols", "rows"}),
    "download_url": frozenset({"expected_mime_prefix"}),
}
"""What these of our own tools also take, and what does not change what is done, or is said in the heading."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that is offered."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One open request. `arguments` are those of the call, `reason` says why somebody is asked."""

    id: str
    kind: Kind
    tool: str
    arguments: Mapping[str, Any]
    reason: str = ""
    suggestions: tuple[RuleText, ...] = ()

    @property
    def question(self) -> str:
        return str(self.arguments.get("question") or "")

    @property
    def options(self) -> tuple[Option, ...]:
        listed = self.arguments.get("options")
        return tuple(map(_option, cast("list[Any]", listed))) if isinstance(listed, list) else ()

    @property
    def allow_multiple(self) -> bool:
        return bool(self.arguments.get("allow_multiple"))

    @property
    def text_argument(self) -> str | None:
        """The one argument that is shown and edited as it is; without one, all of them are shown.

        Only where it says everything, and everything in it can be seen: people allow what they read.
        """
        telling = self.arguments.keys() - _BESIDE.get(self.tool, frozenset())
        name = next((name for name in _TEXTS if telling == {name}), None)
        text = self.arguments[name] if name is not None else None
        return name if isinstance(text, str) and is_visible(text) else None

    @property
    def text(self) -> str:
        """What would be done, as it can be shown and edited."""
        if (name := self.text_argument) is not None:
            return str(self.arguments[name])
        return spelt_out(json.dumps(dict(self.arguments), indent=2, ensure_ascii=False), "\n")

    def edited(self, text: str) -> dict[str, Any] | None:
        """The arguments after somebody changed `text`; None when nothing changed. Raises `ValueError` for JSON that
        is not an object."""
        if text == self.text:
            return None
        if (name := self.text_argument) is not None:
            return {**self.arguments, name: text}
        changed: object = json.loads(text)
        if not isinstance(changed, dict):
            raise ValueError("not an object")
        return cast("dict[str, Any]", changed)


def open_requests(actions: Iterable[PendingAction]) -> list[Request]:
    """What a person can decide here, in the order it was asked."""
    return [
        Request(
            action.id,
            _KINDS[action.kind],
            action.tool_name,
            action.input,
            action.reason,
            tuple(action.suggestions),
        )
        for action in actions
        if action.status == "open" and action.kind in _KINDS
    ]


def allow(changed: dict[str, Any] | None = None, keep: RuleText | None = None) -> DecideAction:
    """`changed` are other arguments than those that were asked for, `keep` a rule for the future."""
    given: dict[str, Any] = {"input": changed, "remember": keep}
    return DecideAction(allowed=True, **{name: value for name, value in given.items() if value is not None})


def deny(note: str = "") -> DecideAction:
    return DecideAction(allowed=False, note=note) if note.strip() else DecideAction(allowed=False)


def answer(options: Iterable[str], text: str = "") -> DecideAction:
    """Neither options nor text: the question is skipped."""
    return DecideAction(output={"options": list(options), "text": text.strip()})


def _option(value: Any) -> Option:  # noqa: ANN401 - what a model wrote
    if not isinstance(value, dict):
        return Option(str(value))
    option = cast("dict[str, Any]", value)
    return Option(str(option.get("label") or ""), str(option.get("description") or ""))
