"""Requests: what is open, how it reads, and the decision that comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_app.core import requests
from holaboss_app.core.requests import Option, Request, open_requests
from holaboss_client.agents import PendingAction
from holaboss_client.permissions import RuleText

NOW = "2026-01-02T10:00:00.000Z"


def action(kind: str = "tool_confirmation", status: str = "open", **more: Any) -> PendingAction:
    given = {"id": "a", "session_id": "s", "tool_name": "bash", "input": {}, "requested_at": NOW}
    return PendingAction(kind=kind, status=status, **(given | more))


def bash(command: str) -> Request:
    return Request("a", "confirmation", "bash", {"command": command, "timeout": 5})


def test_only_what_a_person_can_decide_is_open() -> None:
    found = open_requests([action(), action("question"), action("custom_tool"), action(status="approved")])
    assert [request.kind for request in found] == ["confirmation", "question"]


def test_a_command_is_shown_and_edited_as_it_is() -> None:
    request = bash("ls")
    assert request.text == "ls"
    assert request.edited("ls") is None
    assert request.edited("ls -l") == {"command": "ls -l", "timeout": 5}


def test_other_arguments_are_shown_and_edited_as_json() -> None:
    request = Request("a", "confirmation", "mcp__git__push", {"remote": "origin"})
    assert request.edited('{"remote": "fork"}') == {"remote": "fork"}
    for broken in ("{", "[1]", "7"):
        with pytest.raises(ValueError, match=r".+"):
            request.edited(broken)


def test_decisions_say_only_what_was_decided() -> None:
    rule = RuleText(tool="bash", command="git push")
    assert requests.allow().model_dump(exclude_unset=True) == {"allowed": True}
    assert requests.allow({"command": "ls"}).input == {"command": "ls"}
    assert requests.allow(keep=rule).remember == rule
    assert requests.deny("  ").model_dump(exclude_unset=True) == {"allowed": False}
    assert requests.deny("Not now").note == "Not now"
    assert requests.answer(["Red"], " or blue ").output == {"options": ["Red"], "text": "or blue"}


def test_options_of_a_question_however_they_were_written() -> None:
    options = [{"label": "Red", "description": "Warm"}, "Blue"]
    request = Request("q", "question", "question", {"question": "Which?", "options": options})
    assert request.options == (Option("Red", "Warm"), Option("Blue"))
    assert not request.allow_multiple
    assert Request("q", "question", "question", {"options": "none"}).options == ()
