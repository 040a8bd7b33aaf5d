"""Requests of the session on screen: they appear, are decided once, and go, whoever was faster."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtWidgets import QLabel, QPushButton

from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, FakeSession
from tests.app.chat.stage import Chat


def ask(chat: Chat, session: FakeSession, action_id: str = "a1", **more: Any) -> None:
    given: dict[str, Any] = {"kind": "tool_confirmation", "tool": "bash", "input": {"command": "ls"}}
    chat.world.ask(session, action_id, **(given | more))
    chat.change(Change.SESSION_STATE, session)


def press(chat: Chat, name: str) -> None:
    chat.in_loop(chat.pane.requests.findChild(QPushButton, name).click)


def test_a_request_appears_and_goes_with_its_decision(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    assert chat.pane.requests.requests == ["a1"]
    assert "Ctrl+." in chat.pane.composer.field.placeholderText()
    press(chat, "request-allow")
    assert chat.world.decisions == [("a1", {"allowed": True})]
    assert chat.pane.requests.requests == []
    assert chat.pane.composer.field.placeholderText() == "Write a message"


def test_it_is_still_there_after_the_runtime_was_away(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    chat.in_loop(lambda: chat.presenter.detach("It stopped."))
    assert chat.pane.requests.requests == []
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert chat.pane.requests.requests == ["a1"]


def test_a_request_that_waited_before_the_window_was_opened(chat: Chat) -> None:
    chat.world.ask(
        chat.world.session("w-one", "main-w-one"), "a1", "question", "question", input={"question": "Why?"}
    )
    chat.start()
    assert chat.pane.requests.requests == ["a1"]
    assert "write it here" in chat.pane.composer.field.placeholderText()


def test_somebody_else_was_faster(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    session.actions.clear()
    press(chat, "request-allow")
    assert "It was allowed." in chat.banner("request")
    assert chat.pane.requests.requests == []
    chat.press("request")
    assert chat.banner("request") == ""


def test_it_goes_when_it_is_decided_elsewhere(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    session.actions.clear()
    chat.change(Change.SESSION_STATE, session)
    assert chat.pane.requests.requests == []


def test_a_refused_decision_can_be_made_again(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    chat.world.refusal = "The disk is full."
    press(chat, "request-allow")
    card = chat.pane.requests.card("a1")
    assert card is not None
    assert card.isEnabled()
    assert any(label.text() == "The disk is full." for label in card.findChildren(QLabel))
    chat.world.refusal = None
    press(chat, "request-allow")
    assert chat.world.decisions == [("a1", {"allowed": True})]


def test_another_session_has_its_own(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    ask(chat, session)
    chat.in_loop(chat.presenter.new_session)
    assert chat.pane.requests.requests == []


def test_the_profile_of_the_workspace_is_shown_and_changed(chat: Chat) -> None:
    session = chat.start()
    picker = chat.pane.composer.permissions
    assert picker.text() == "Ask first"
    chat.in_loop(lambda: picker.profile_chosen.emit("trusted"))
    assert picker.text() == "Trusted"
    assert chat.world.permissions.profile == "trusted"
    chat.in_loop(lambda: picker.rule_removed.emit("r1"))
    assert chat.world.permissions.rules == []
    chat.world.permissions = chat.world.permissions.model_copy(update={"profile": "ask"})
    chat.change(Change.PERMISSIONS, session)
    assert picker.text() == "Ask first"


def test_permissions_that_change_twice_at_once_are_asked_for_once(chat: Chat) -> None:
    session = chat.start()
    change = chat.world.change(Change.PERMISSIONS, session)
    chat.world.calls.clear()
    chat.in_loop(lambda: chat.presenter.on_change(change), lambda: chat.presenter.on_change(change))
    assert chat.world.calls.count("permissions") == 1


def test_the_keyboard_goes_back_to_the_message_with_a_decision(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    chat.in_loop(chat.presenter.focus_request)
    chat.world.gate = asyncio.Event()
    press(chat, "request-allow")
    card = chat.pane.requests.card("a1")
    assert card is not None
    assert not card.isEnabled(), "the decision is on its way"
    chat.in_loop(chat.world.gate.set)
    assert chat.pane.requests.requests == []
    assert chat.pane.composer.field.hasFocus()


def test_a_refused_decision_gives_the_keyboard_back(chat: Chat) -> None:
    session = chat.start()
    ask(chat, session)
    chat.in_loop(chat.presenter.focus_request)
    chat.world.refusal = "The disk is full."
    press(chat, "request-allow")
    assert chat.pane.requests.findChild(QPushButton, "request-allow").hasFocus()


def test_a_decision_by_somebody_else_leaves_the_keyboard_where_it_is(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    ask(chat, session)
    chat.pane.transcript.setFocus()
    session.actions.clear()
    session.status = "idle"
    chat.change(Change.SESSION_STATE, session)
    assert chat.pane.requests.requests == []
    assert chat.pane.transcript.hasFocus()
