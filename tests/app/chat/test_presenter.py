"""Workspaces, sessions, drafts and settings of the chat: what is shown where, and that nothing is mixed up or lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QUrl
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.session_header import SessionEntry, SessionPopup, SessionRow
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, catalogue, workspace
from tests.app.chat.stage import Chat

Show = Callable[..., None]


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


def test_only_the_demo_model_is_asked_to_show_itself(chat: Chat) -> None:
    def starters() -> list[str]:
        return [b.text() for b in chat.pane.empty.findChildren(QPushButton) if b.isVisible()]

    chat.start()
    assert len(starters()) == 3
    assert not any("Markdown" in text for text in starters())
    chat.in_loop(lambda: chat.pane.composer.picker.set_model("demo/scripted"))
    assert any("Markdown" in text for text in starters())
    chat.in_loop(lambda: chat.pane.composer.picker.set_model(None))
    assert len(starters()) == 3
    demo = {"default_model": "demo/scripted", "default_provider": "demo"}
    chat.in_loop(lambda: chat.presenter.set_catalogue(catalogue().model_copy(update=demo)))
    assert len(starters()) == 4


def test_the_list_of_sessions_stays_inside_the_window(chat: Chat) -> None:
    chat.start()
    chat.pane.resize(420, 500)
    title = "Everything that was ever asked about the nightly export in one long breath"
    for count in (1, 30):
        entries = [SessionEntry(str(n), title, "BUSY", n == 0) for n in range(count)]
        chat.in_loop(lambda: chat.pane.header.describe(title, usable=True))
        chat.pane.header.open_list(entries)
        popup = chat.pane.findChild(SessionPopup)
        assert chat.pane.geometry().contains(popup.geometry())
        rows = popup.findChildren(SessionRow)
        if count == 1:
            place = QRect(rows[0].mapTo(popup, QPoint(0, 0)), rows[0].size())
            assert place.left() == place.top()
            assert place.center() == popup.rect().center(), "the same air on all sides"
        popup.close()


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


def test_the_place_where_somebody_was_reading_is_kept(chat: Chat) -> None:
    session = chat.start("one")
    for number in range(12):
        chat.converse(session, f"Question {number}", "A paragraph of an answer.\n\n" * 8)
    chat.run(lambda: chat.pane.transcript.verticalScrollBar().maximum() > 2_000, "a long conversation")
    chat.pane.transcript.verticalScrollBar().setValue(900)
    place = chat.pane.transcript.place()
    assert place is not None
    chat.wait_for(chat.presenter.show_workspace(workspace("two")))
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    assert chat.pane.transcript.place() == place


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


def test_what_is_typed_while_a_workspace_loads_stays(chat: Chat) -> None:
    chat.drafts.drafts["w-one/main-w-one"] = "older"
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))

    async def type_while_it_loads() -> None:
        loading = asyncio.ensure_future(chat.presenter.show_workspace(workspace("one")))
        await asyncio.sleep(0)
        chat.pane.composer.text = "newer"
        await loading

    chat.wait_for(type_while_it_loads())
    assert chat.pane.composer.text == "newer"


def test_a_message_that_could_not_be_sent_is_a_draft_after_the_end(chat: Chat) -> None:
    chat.start()
    chat.in_loop(lambda: chat.presenter.detach("Away."))
    chat.write("first")
    chat.write("second")
    chat.pane.composer.text = "third"
    chat.wait_for(chat.presenter.close())
    assert chat.drafts.drafts["w-one/main-w-one"] == "first\n\nsecond\n\nthird"


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


def test_a_reset_asks_for_everything_again(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    chat.world.calls.clear()
    chat.change(Change.RESET, session)
    assert {"index main-w-one", "sessions", "states"} <= set(chat.world.calls)
    assert chat.turns == [("Hello", "Fine.", Status.COMPLETED)]


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


def test_a_finished_plan_goes_with_its_turn_and_does_not_come_back(chat: Chat) -> None:
    session = chat.start()
    strip = chat.pane.plan

    def plan(status: str) -> dict[str, object]:
        task = {"id": "t", "content": "Write it", "status": status}
        return {"todo": {"phases": [{"id": "p", "name": "All", "tasks": [task]}]}}

    chat.write("Do it")
    events = chat.world.claim(session)
    for part, status in enumerate(("in_progress", "completed")):
        for event in events.tool(part, "todo", {}, "done", details=plan(status)):
            chat.world.publish(session, event)
        chat.rest()
        assert strip.isVisible(), status
    chat.world.finish(session)
    chat.rest()
    assert not strip.isVisible()
    chat.write("Something else")
    chat.world.claim(session)
    chat.world.say(session, "Well")
    chat.rest()
    assert not strip.isVisible()
