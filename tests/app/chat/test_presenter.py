"""The chat as a whole, over a runtime in memory: what is sent, seen, kept and lost (nothing) in every situation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton, QStackedWidget

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.banners import Banner
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.presenter import ChatPresenter
from holaboss_app.panes.chat.queue_rail import QueueRow
from holaboss_app.panes.chat.session_header import SessionPopup, SessionRow
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, FakeSession, World, catalogue, workspace
from tests.app.conftest import QLoop

Show = Callable[..., None]


class Drafts:
    def __init__(self) -> None:
        self.drafts: dict[str, str] = {}
        self.models: dict[str, str] = {}

    def draft(self, key: str) -> str:
        return self.drafts.get(key, "")

    def save_draft(self, key: str, text: str) -> None:
        self.drafts[key] = text

    def last_model(self, workspace_id: str) -> str | None:
        return self.models.get(workspace_id)

    def save_last_model(self, workspace_id: str, model: str) -> None:
        self.models[workspace_id] = model


class Chat:
    """The pane, its presenter and the world they look at."""

    def __init__(self, qloop: QLoop, pane: ChatPane) -> None:
        self.qloop, self.pane, self.world = qloop, pane, World()
        self.drafts = Drafts()
        self.errors: list[BaseException] = []
        self.settings: list[str] = []
        self.busy: list[bool] = []
        self.presenter = ChatPresenter(pane, self.drafts, self.errors.append)
        self.presenter.settings_requested.connect(self.settings.append)
        self.presenter.busy_changed.connect(self.busy.append)
        self.presenter.set_catalogue(catalogue())

    def run(self, condition: Callable[[], object], what: str = "") -> None:
        """Let everything go on until `condition` holds."""

        async def wait() -> None:
            for _ in range(2_000):
                if condition():
                    return
                await asyncio.sleep(0.001)
            pytest.fail(f"it never happened: {what}")

        self.qloop.run(wait())

    def rest(self) -> None:
        """Let everything that can happen now happen."""
        self.in_loop()

    def in_loop(self, *steps: Callable[[], object]) -> None:
        """Call `steps` on the running loop, and let everything happen that follows from them."""

        async def call() -> None:
            for step in steps:
                step()
            for _ in range(80):
                await asyncio.sleep(0)

        self.qloop.run(call())

    def wait_for(self, work: Coroutine[Any, Any, object]) -> None:
        async def finish() -> None:
            await work
            for _ in range(80):
                await asyncio.sleep(0)

        self.qloop.run(finish())

    def start(self, name: str = "one") -> FakeSession:
        """Attached, in a workspace, its main session open."""
        self.in_loop(lambda: self.presenter.attach(FakeRuntime(self.world)))
        self.wait_for(self.presenter.show_workspace(workspace(name)))
        return self.world.sessions[f"main-w-{name}"]

    def write(self, text: str) -> None:
        self.pane.composer.text = text
        self.in_loop(self.pane.composer.field.submitted.emit)

    def change(self, kind: Change, session: FakeSession) -> None:
        self.in_loop(lambda: self.presenter.on_change(self.world.change(kind, session)))

    def converse(self, session: FakeSession, text: str, answer: str = "Fine.") -> None:
        """One message, answered."""
        self.write(text)
        self.world.claim(session)
        self.world.say(session, answer)
        self.world.finish(session)
        self.rest()

    @property
    def page(self) -> str:
        stack = self.pane.findChild(QStackedWidget)
        return type(stack.currentWidget()).__name__

    @property
    def turns(self) -> list[tuple[str, str, Status]]:
        """What the conversation shows: message, answer, status."""
        transcript = self.pane.transcript._transcript
        states = [transcript.state(row) for row in range(len(transcript))]
        return [(s.text, s.answer, s.status) if s else ("?", "?", Status.WAITING) for s in states]

    @property
    def waiting(self) -> list[str]:
        rows = [row for row in self.pane.rail.findChildren(QueueRow) if row.isVisibleTo(self.pane.rail)]
        return [row._text for row in rows]

    def banner(self, name: str) -> str:
        found = self.pane.findChild(Banner, f"banner-{name}")
        if found is None or not found.isVisible():
            return ""
        return " ".join(label.text() for label in found.findChildren(QLabel) if label.text())

    def press(self, banner: str) -> None:
        button = self.pane.findChild(Banner, f"banner-{banner}").findChild(QPushButton)
        self.in_loop(button.click)


@pytest.fixture
def chat(qloop: QLoop, show: Show) -> Iterator[Chat]:
    pane = ChatPane()
    show(pane, 800, 700)
    chat = Chat(qloop, pane)
    yield chat
    qloop.run(chat.presenter.close())
    assert chat.errors == []


def test_before_a_workspace_is_chosen(chat: Chat) -> None:
    assert chat.page == "NoWorkspace"
    assert not chat.pane.composer.isVisible()


def test_a_new_workspace_invites(chat: Chat) -> None:
    chat.start()
    assert chat.page == "EmptyState"
    starter = next(b for b in chat.pane.empty.findChildren(QPushButton))
    chat.in_loop(starter.click)
    assert chat.world.requests[0].text == starter.text()
    assert chat.page == "TranscriptView"


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
        return reply

    runtime.queue = queue_and_run_at_once  # type: ignore[method-assign]
    chat.write("Hello")
    assert chat.turns == [("Hello", "Quick.", Status.COMPLETED)]


def test_everything_is_there_again(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "First", "One")
    chat.converse(session, "Second", "Two")
    before = chat.turns
    chat.wait_for(chat.presenter.show_workspace(None))
    assert chat.page == "NoWorkspace"
    chat.wait_for(chat.presenter.show_workspace(workspace()))
    chat.rest()
    assert chat.turns == before == [("First", "One", Status.COMPLETED), ("Second", "Two", Status.COMPLETED)]


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
    assert "restarting" in chat.banner("runtime")
    assert chat.pane.composer.field.isEnabled()
    chat.write("Are you there?")
    assert chat.waiting == ["Are you there?"]
    # What recovery makes of the turn that was cut off.
    chat.world.fail(session, "interrupted", "The answer was cut off.")
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert not chat.banner("runtime")
    assert chat.turns[0] == ("Hello", "So far", Status.FAILED)
    assert [request.text for request in chat.world.requests] == ["Hello", "Are you there?"]
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["Hello", "Are you there?"]
    assert chat.waiting == []


def test_a_send_that_got_no_answer_is_repeated_under_the_same_key(chat: Chat) -> None:
    session = chat.start()
    chat.world.away = True
    chat.write("Hello")
    assert chat.turns == [("Hello", "", Status.WAITING)]
    assert chat.world.requests == []
    chat.in_loop(lambda: chat.presenter.detach("Gone."))
    chat.world.away = False
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    # The answer to the first delivery was lost on the way: the same key must not make a second message.
    first = chat.world.requests[0]
    assert first.idempotency_key
    assert len(session.queued) == 1
    chat.world.claim(session)
    chat.rest()
    assert [text for text, _, _ in chat.turns] == ["Hello"]


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
    card = {button.text(): button for button in visible_buttons(chat.pane)}
    chat.in_loop(card["Open model settings"].click)
    assert chat.settings == ["models/openai_direct"]
    chat.in_loop(card["Try again"].click)
    assert [request.text for request in chat.world.requests] == ["Hello", "Hello"]
    assert [text for text, _, _ in chat.turns] == ["Hello", "Hello"]


def visible_buttons(pane: ChatPane) -> list[QPushButton]:
    return [button for button in pane.transcript.findChildren(QPushButton) if button.isVisible()]


def test_a_missing_key_is_named_and_the_message_waits(chat: Chat) -> None:
    session = chat.start()
    chat.write("Hello")
    session.last_error = {"code": "provider_key_missing", "provider_id": "openai_direct", "message": "…"}
    chat.change(Change.QUEUE, session)
    chat.change(Change.SESSION_STATE, session)
    assert "OpenAI needs a key" in chat.banner("key")
    assert chat.waiting == ["Hello"]
    chat.press("key")
    assert chat.settings == ["models/openai_direct"]
    session.last_error = None
    chat.world.claim(session)
    chat.rest()
    chat.change(Change.SESSION_STATE, session)
    assert not chat.banner("key")
    assert chat.waiting == []
    assert chat.turns == [("Hello", "", Status.RUNNING)]


def test_switching_quickly_ends_in_the_last_workspace(chat: Chat) -> None:
    chat.start("one")
    chat.world.session("w-two", "main-w-two")
    gate = chat.world.gate = asyncio.Event()

    async def back_and_forth() -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("two", "one", "two", "one"):
                group.create_task(chat.presenter.show_workspace(workspace(name)))
                await asyncio.sleep(0)
            gate.set()

    chat.wait_for(back_and_forth())
    chat.rest()
    assert chat.presenter._conversation is not None
    assert chat.presenter._conversation.session_id == "main-w-one"
    listening = {name: len(session.listeners) for name, session in chat.world.sessions.items()}
    assert listening == {"main-w-one": 1, "main-w-two": 0}


def test_drafts_and_models_belong_to_their_place(chat: Chat) -> None:
    chat.start("one")
    chat.pane.composer.text = "half a thought"
    chat.pane.composer.picker.set_model("demo/scripted")
    chat.in_loop(chat.pane.composer.picker.model_changed.emit)
    chat.wait_for(chat.presenter.show_workspace(workspace("two")))
    chat.rest()
    assert chat.pane.composer.text == ""
    assert chat.pane.composer.picker.model is None
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    chat.rest()
    assert chat.pane.composer.text == "half a thought"
    assert chat.pane.composer.picker.model == "demo/scripted"
    chat.write("the whole thought")
    assert chat.world.requests[-1].model == "demo/scripted"
    assert chat.drafts.drafts["w-one/main-w-one"] == ""


def test_a_draft_is_saved_soon_after_writing(chat: Chat) -> None:
    chat.start()
    chat.pane.composer.text = "unsent"
    chat.run(lambda: chat.drafts.drafts.get("w-one/main-w-one") == "unsent", "the draft")


def test_a_new_session_is_made_once_the_current_one_is_used(chat: Chat) -> None:
    session = chat.start()
    chat.in_loop(chat.presenter.new_session)
    assert "create" not in chat.world.calls
    chat.converse(session, "Hello")
    chat.in_loop(chat.presenter.new_session)
    assert chat.page == "EmptyState"
    assert chat.presenter._conversation is not None
    other = chat.world.sessions[chat.presenter._conversation.session_id]
    assert other is not session
    chat.write("In the new one")
    assert [item.text for item in other.queued] == ["In the new one"]
    chat.in_loop(lambda: chat.pane.header.session_chosen.emit(session.session.session_id))
    assert chat.turns == [("Hello", "Fine.", Status.COMPLETED)]


def test_sessions_are_listed_with_their_states(chat: Chat) -> None:
    session = chat.start()
    other = chat.world.session("w-one", "other", title="Weekly plan")
    chat.write("Hello")
    chat.world.claim(session)
    other.queued.append(session.queued[0]) if session.queued else None
    chat.rest()
    chat.in_loop(chat.pane.header.list_requested.emit)
    popup = chat.pane.findChild(SessionPopup)
    names = {row.accessibleName() for row in popup.findChildren(SessionRow)}
    assert names == {"New session, working, shown now", "Weekly plan"}
    popup.close()


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


def test_when_the_index_cannot_be_had_there_is_another_try(chat: Chat) -> None:
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    chat.world.refusal = "The database is locked."
    chat.wait_for(chat.presenter.show_workspace(workspace()))
    assert chat.page == "Trouble"
    assert any("database is locked" in label.text() for label in chat.pane.trouble.findChildren(QLabel))
    chat.world.refusal = None
    chat.in_loop(chat.pane.trouble.retry_requested.emit)
    assert chat.page == "EmptyState"


def test_a_workspace_chosen_before_the_runtime_is_there_loads_when_it_is(chat: Chat) -> None:
    chat.wait_for(chat.presenter.show_workspace(workspace()))
    chat.run(lambda: chat.page == "Skeleton", "the skeleton")
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    assert chat.page == "EmptyState"


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


def test_a_reset_asks_for_everything_again(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    chat.world.calls.clear()
    chat.change(Change.RESET, session)
    assert {"index main-w-one", "sessions", "states"} <= set(chat.world.calls)
    assert chat.turns == [("Hello", "Fine.", Status.COMPLETED)]


def test_the_last_message_comes_back_with_arrow_up(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello there")
    chat.in_loop(chat.pane.composer.recall_requested.emit)
    assert chat.pane.composer.text == "Hello there"


def test_a_link_is_opened_only_after_its_host_was_shown_and_confirmed(chat: Chat) -> None:
    chat.start()
    opened: list[str] = []
    chat.presenter.open_url_requested.connect(lambda url: opened.append(url.toString()))
    for answer, expected in (("reject", []), ("accept", ["https://example.com/path?q=1"])):
        chat.pane.transcript.link_activated.emit(QUrl("https://example.com/path?q=1"))
        box = chat.pane.findChild(QMessageBox, "confirm-link")
        assert "example.com" in box.text()
        assert opened == []
        getattr(box, answer)()
        chat.rest()
        assert opened == expected


def test_closing_leaves_no_stream_behind(chat: Chat) -> None:
    session = chat.start()
    assert len(session.listeners) == 1
    chat.wait_for(chat.presenter.close())
    assert session.listeners == []
