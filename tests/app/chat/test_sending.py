"""Messages on their way: shown, answered, waiting, stopped, refused, repeated, and never lost or said twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QLabel, QPushButton

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.outcome import Footer
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, catalogue, workspace
from tests.app.chat.stage import Chat

Show = Callable[..., None]


def test_a_message_is_shown_at_once_and_answered_live(chat: Chat) -> None:
    session = chat.start()
    chat.world.gate = asyncio.Event()
    chat.write("Hello")
    assert chat.turns == [("Hello", "", Status.WAITING)]
    assert chat.pane.composer.text == ""
    chat.in_loop(chat.world.gate.set)
    assert [request.text for request in chat.world.requests] == ["Hello"]
    chat.world.claim(session)
    chat.world.say(session, "Good ")
    chat.rest()
    assert chat.turns == [("Hello", "Good ", Status.RUNNING)]
    assert chat.busy == [True]
    chat.world.say(session, "day.")
    chat.world.finish(session)
    chat.rest()
    assert chat.turns == [("Hello", "Good day.", Status.COMPLETED)]
    assert chat.busy == [True, False]


def test_events_that_come_before_the_reply_find_their_message(chat: Chat) -> None:
    session = chat.start()
    runtime = chat.presenter._client
    assert isinstance(runtime, FakeRuntime)
    answer = runtime.queue

    async def queue_and_run_at_once(body):  # noqa: ANN001, ANN202
        reply = await answer(body)
        chat.world.claim(session)
        chat.world.say(session, "Quick.")
        chat.world.finish(session)
        for _ in range(20):
            await asyncio.sleep(0)
        seen.append([text for text, _, _ in chat.turns])
        return reply

    seen: list[list[str]] = []

    runtime.queue = queue_and_run_at_once  # type: ignore[method-assign]
    chat.write("Hello")
    assert seen == [["Hello"]], "never twice on screen"
    assert chat.turns == [("Hello", "Quick.", Status.COMPLETED)]


def test_a_turn_in_progress_is_joined_in_the_middle(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.claim(session)
    chat.world.say(session, "So far ")
    chat.rest()
    chat.wait_for(chat.presenter.show_workspace(workspace("two")))
    chat.world.say(session, "and on ")
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    chat.rest()
    chat.world.say(session, "and done.")
    chat.rest()
    assert chat.turns == [("Hello", "So far and on and done.", Status.RUNNING)]
    assert chat.presenter._sending.busy


def test_messages_written_meanwhile_wait_and_can_be_changed(chat: Chat) -> None:
    session = chat.start()
    chat.write("First")
    chat.world.claim(session)
    chat.rest()
    chat.write("Second")
    chat.write("Third")
    assert chat.waiting == ["Second", "Third"]
    assert len(chat.turns) == 1
    second, third = (item.input_id for item in session.queued)
    chat.in_loop(lambda: chat.pane.rail.edited.emit(second, "Second, better"))
    chat.in_loop(lambda: chat.pane.rail.removed.emit(third))
    chat.change(Change.QUEUE, session)
    assert chat.waiting == ["Second, better"]
    chat.world.finish(session)
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["First", "Second, better"]
    assert chat.waiting == []


def test_stopping_and_going_on(chat: Chat) -> None:
    session = chat.start()
    chat.write("First")
    chat.world.claim(session)
    chat.world.say(session, "Half an ans")
    chat.rest()
    chat.write("Second")
    chat.in_loop(chat.pane.composer.stop_requested.emit)
    assert "pause" in chat.world.calls
    assert not chat.pane.findChild(QPushButton, "stop").isEnabled()
    chat.world.finish(session, "paused")
    chat.rest()
    chat.change(Change.SESSION_STATE, session)
    assert chat.turns[0] == ("First", "Half an ans", Status.PAUSED)
    assert chat.world.state(session).effective_state == "QUEUED", "that something waits is not that it runs"
    assert chat.banner("held")
    chat.press("held")
    assert "resume" in chat.world.calls
    assert not chat.banner("held")


def test_a_runtime_that_goes_away_takes_nothing_with_it(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.claim(session)
    chat.world.say(session, "So far")
    chat.rest()
    chat.in_loop(lambda: chat.presenter.detach("The runtime is restarting."))
    assert chat.turns == [("Hello", "So far", Status.RUNNING)]
    assert chat.banner("runtime") == "What you send now goes out as soon as the runtime is back."
    assert chat.banner("held") == chat.banner("key") == ""
    assert chat.pane.composer.field.isEnabled()
    chat.write("Are you there?")
    assert chat.waiting == ["Are you there?"]
    last_seen = chat.world.event_id
    # What recovery makes of the turn that was cut off.
    chat.world.fail(session, "interrupted", "The answer was cut off.")
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert not chat.banner("runtime")
    assert f"stream after {last_seen}" in chat.world.calls, "it goes on where it stopped"
    assert chat.turns[0] == ("Hello", "So far", Status.FAILED)
    assert [request.text for request in chat.world.requests] == ["Hello", "Are you there?"]
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["Hello", "Are you there?"]
    assert chat.waiting == []


def test_a_send_that_reached_nobody_goes_out_later(chat: Chat) -> None:
    session = chat.start()
    chat.world.away = True
    chat.write("Hello")
    assert chat.turns == [("Hello", "", Status.WAITING)]
    assert chat.world.requests == []
    chat.in_loop(lambda: chat.presenter.detach("Gone."))
    chat.world.away = False
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert len(session.queued) == 1
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["Hello"]


def test_a_send_whose_answer_was_lost_is_not_said_twice(chat: Chat) -> None:
    session = chat.start()
    chat.world.lose_replies = True
    chat.write("Hello")
    chat.in_loop(lambda: chat.presenter.detach("Gone."))
    chat.world.lose_replies = False
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert len(chat.world.requests) == 2
    assert len(session.queued) == 1
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["Hello"]
    assert chat.waiting == []


def test_a_refused_message_returns_to_the_composer(chat: Chat) -> None:
    chat.start()
    chat.world.refusal = "The workspace is being deleted."
    chat.write("Hello")
    assert chat.turns == []
    assert chat.page == "EmptyState"
    assert chat.pane.composer.text == "Hello"
    assert "being deleted" in chat.banner("notice")
    chat.world.refusal = None
    chat.press("notice")
    assert not chat.banner("notice")


def test_a_failed_answer_can_be_tried_again(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.claim(session)
    chat.world.fail(session, "bad_key", "OpenAI refused the key.")
    chat.rest()
    chat.run(lambda: any(b.text() == "Try again" for b in visible_buttons(chat.pane)), "the card")
    sources = [label.text() for label in chat.pane.transcript.findChildren(QLabel) if label.isVisible()]
    assert "OpenAI  ·  gpt-5" in sources, "a provider is called by its name"
    card = {button.text(): button for button in visible_buttons(chat.pane)}
    chat.in_loop(card["Open model settings"].click)
    assert chat.settings == ["models/openai_direct"]
    chat.in_loop(card["Try again"].click)
    assert [request.text for request in chat.world.requests] == ["Hello", "Hello"]
    assert [text for text, _, _ in chat.turns] == ["Hello", "Hello"]


@pytest.mark.parametrize("code", ["interrupted", "host_lost"])
def test_an_answer_that_was_cut_off_can_be_continued(chat: Chat, code: str) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.claim(session)
    chat.world.say(session, "So far")
    chat.world.fail(session, code, "The runtime stopped and cut this run off.")
    chat.rest()
    chat.run(lambda: any(b.text() == "Continue" for b in visible_buttons(chat.pane)), "the card")
    chat.in_loop(next(b for b in visible_buttons(chat.pane) if b.text() == "Continue").click)
    assert [request.text for request in chat.world.requests] == ["Hello", "continue"]


def visible_buttons(pane: ChatPane) -> list[QPushButton]:
    return [button for button in pane.transcript.findChildren(QPushButton) if button.isVisible()]


def test_a_missing_key_is_named_and_the_message_waits(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.miss_key(session, "openai_direct")
    chat.change(Change.QUEUE, session)
    chat.change(Change.SESSION_STATE, session)
    assert "OpenAI needs a key" in chat.banner("key")
    assert chat.waiting == ["Hello"]
    chat.press("key")
    assert chat.settings == ["models/openai_direct"]
    chat.world.claim(session)
    chat.rest()
    chat.change(Change.SESSION_STATE, session)
    assert not chat.banner("key")
    assert chat.waiting == []
    assert chat.turns == [("Hello", "", Status.RUNNING)]


def test_names_of_providers_reach_cards_that_are_there_already(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    chat.world.claim(session)
    chat.world.fail(session, "bad_key", "Refused.")
    chat.run(lambda: visible_buttons(chat.pane), "the card")
    known = catalogue()
    renamed = [item.model_copy(update={"name": f"My {item.name}"}) for item in known.providers]
    chat.in_loop(lambda: chat.presenter.set_catalogue(known.model_copy(update={"providers": renamed})))
    assert any(label.text() == "My OpenAI  ·  gpt-5" for label in chat.pane.transcript.findChildren(QLabel))


def test_the_footer_says_demo_and_not_the_name_of_the_script(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    chat.run(lambda: any("demo" in label.text() for label in footers(chat.pane)), "the footer")
    assert not any("scripted" in label.text() for label in footers(chat.pane))


def footers(pane: ChatPane) -> list[QLabel]:
    found = [footer for footer in pane.transcript.findChildren(Footer) if footer.isVisible()]
    return [label for footer in found for label in footer.findChildren(QLabel)]


def test_what_others_queue_in_the_same_session_is_shown(chat: Chat) -> None:
    session = chat.start()
    other = FakeRuntime(chat.world)
    from holaboss_client.sessions import QueueRequest

    chat.wait_for(
        other.queue(QueueRequest(workspace_id="w-one", session_id="main-w-one", text="From elsewhere " * 9))
    )
    chat.world.claim(session)
    chat.world.say(session, "Answer")
    chat.world.finish(session)
    chat.rest()
    assert chat.turns == [("From elsewhere " * 9, "Answer", Status.COMPLETED)]


def test_reasons_why_nothing_can_be_sent(chat: Chat) -> None:
    chat.start()
    chat.in_loop(lambda: chat.presenter.set_catalogue(catalogue(connected=False)))
    connect = chat.pane.findChild(QPushButton, "connect-model")
    assert connect.isVisible()
    connect.click()
    assert chat.settings == ["models"]
    chat.write("Hello")
    assert chat.world.requests == []
    chat.in_loop(lambda: chat.presenter.set_catalogue(catalogue()))
    assert not connect.isVisible()
    chat.wait_for(chat.presenter.show_workspace(workspace("two", folder_state="missing")))
    hints = " ".join(label.full_text for label in chat.pane.composer.findChildren(ElidedLabel))
    assert "folder of this workspace is missing" in hints


def test_the_last_message_comes_back_with_arrow_up(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello there")
    chat.in_loop(chat.pane.composer.recall_requested.emit)
    assert chat.pane.composer.text == "Hello there"
