"""The chat over a runtime server of its own and a model on loopback: what the runtime in memory must not get wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.file_chips import Chip
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.workspaces import CreateWorkspace
from tests.app.chat.stage import Chat, until
from tests.support.scripted_provider import Answer, ScriptedProvider, pause_after, say
from tests.support.server import RuntimeProcess

KEY = "sk-of-this-test"
PROVIDER = "mine"


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY) as running:
        yield running


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[RuntimeProcess]:
    with RuntimeProcess(tmp_path / "root", keys={PROVIDER: KEY}) as running:
        yield running


def queued(chat: Chat) -> list[str]:
    """What waits in the runtime, not only here."""
    conversation = chat.presenter._conversation
    return [item.text for item in conversation.queued] if conversation is not None else []


async def follow(client: RuntimeClient, chat: Chat) -> None:
    """The change feed, as the shell hands it on."""
    async with aclosing(client.changes()) as changes:
        async for event in changes:
            if event is not None:
                chat.presenter.on_change(event)


class Talk:
    """A conversation in a new workspace; `async with` attaches and lets go again."""

    def __init__(self, chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider) -> None:
        self._chat, self._client, self._provider = chat, runtime.client(), provider

    async def __aenter__(self) -> Talk:
        client, presenter = self._client, self._chat.presenter
        body = PutProvider(
            name="My models",
            kind="openai_compatible",
            base_url=f"{self._provider.url}/v1",
            models=["scripted"],
        )
        presenter.set_catalogue(await client.put_provider(PROVIDER, body))
        workspace = await client.create_workspace(CreateWorkspace(name="one"))
        self._feed = asyncio.create_task(follow(client, self._chat))
        presenter.attach(client)
        await presenter.show_workspace(workspace)
        self._chat.pane.composer.picker.set_model(f"{PROVIDER}/scripted")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._feed.cancel()
        await asyncio.wait({self._feed})
        await self._chat.presenter.close()
        await self._client.aclose()

    def write(self, text: str) -> None:
        self._chat.pane.composer.text = text
        self._chat.pane.composer.field.submitted.emit()


def test_what_waits_behind_a_stopped_answer_can_be_let_go_on(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider
) -> None:
    held = pause_after(2, say("A long answer that somebody stops."))
    assert held.gate is not None
    gate = held.gate
    provider.enqueue(held, say("The second answer."))

    async def stop_and_resume() -> None:
        async with Talk(chat, runtime, provider) as talk:
            talk.write("First")
            await gate.wait_async()
            await until(lambda: chat.presenter._sending.busy, "the first answer has begun")
            talk.write("Second")
            await until(lambda: queued(chat) == ["Second"], "the runtime has the second message")
            chat.pane.composer.stop_requested.emit()
            # What became of the answer and what becomes of the queue are told by two streams.
            await until(
                lambda: chat.banner("held") and chat.turns[0][2] is Status.PAUSED, "the offer to go on"
            )
            assert chat.waiting == ["Second"]
            assert not chat.pane.composer._busy
            chat.pane.banners.acted.emit("held")
            await until(lambda: chat.turns[-1][1:] == ("The second answer.", Status.COMPLETED), "an answer")
            await until(lambda: not chat.banner("held"), "nothing is held any more")
            assert chat.waiting == []
        gate.release()

    chat.qloop.run(stop_and_resume())


def test_another_attempt_is_announced_with_its_reason(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider
) -> None:
    provider.enqueue(Answer(status=503, message="Overloaded, come back later."), say("Now I can."))
    said: list[str] = []
    view = chat.pane.transcript
    changed = view.turn_changed

    def draw_each(input_id: str) -> None:
        """Events that arrive together on a busy machine are drawn once; here each is."""
        changed(input_id)
        view.flush()

    view.turn_changed = draw_each  # type: ignore[method-assign]

    def take_note() -> None:
        widgets = view.viewport().findChildren(TurnWidget)
        said.extend(widget._activity.accessibleName() for widget in widgets if widget.isVisible())

    view.flushed.connect(take_note)

    async def try_again() -> None:
        async with Talk(chat, runtime, provider) as talk:
            talk.write("Hello")
            await until(lambda: chat.turns and chat.turns[-1][2] is Status.COMPLETED, "an answer")
            assert chat.turns[-1][1] == "Now I can."

    chat.qloop.run(try_again())
    (waiting,) = {text for text in said if text.startswith("Trying again")}
    assert "in 2 s" in waiting or "in 3 s" in waiting
    assert "attempt 2 of 4" in waiting
    assert waiting.endswith("Overloaded, come back later.")


def test_files_reach_the_model_and_come_back_with_history(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider, tmp_path: Path
) -> None:
    notes, photo = tmp_path / "notes.txt", tmp_path / "photo.png"
    notes.write_text("the word is marzipan")
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("#2277cc"))
    assert image.save(str(photo))
    provider.enqueue(say("I have read it."))

    def cards() -> list[Chip]:
        turns = chat.pane.transcript.viewport().findChildren(TurnWidget)
        found = [chip for turn in turns if turn.isVisible() for chip in turn._attached.findChildren(Chip)]
        return [chip for chip in found if chip.isVisible()]

    async def send_files() -> None:
        async with Talk(chat, runtime, provider) as talk:
            offered = [str(notes), str(photo)]
            chat.pane.files_offered.emit(offered)
            ready = [("notes.txt", "ready"), ("photo.png", "ready")]
            await until(
                lambda: [(f.name, f.state) for f in chat.pane.composer.files.faces] == ready,
                "both are staged",
            )
            talk.write("What is the word?")
            await until(lambda: chat.turns and chat.turns[-1][2] is Status.COMPLETED, "an answer")
            assert chat.turns[-1][:2] == ("What is the word?", "I have read it.")
            assert "marzipan" in str(provider.requests[-1].body)
            workspace = chat.presenter._workspace
            chat.presenter._thumbnails._kept.clear()
            await chat.presenter.show_workspace(None)
            await chat.presenter.show_workspace(workspace)
            await until(lambda: len(cards()) == 2, "history shows both")
            assert [chip.face.name for chip in cards()] == ["notes.txt", "photo.png"]
            await until(lambda: cards()[1]._picture is not None, "the picture is fetched again")
            assert cards()[1].grab().toImage().pixelColor(20, 22) == QColor("#2277cc")

    chat.qloop.run(send_files())


def test_what_is_taken_out_of_a_draft_leaves_the_disk_and_what_was_sent_stays(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("notes")
    provider.enqueue(say("I have read it."))

    async def change_ones_mind() -> None:
        async with Talk(chat, runtime, provider) as talk:
            workspace, shelf = chat.presenter._workspace, chat.pane.composer.files
            assert workspace is not None
            staging = Path(workspace.workspace_path) / ".holaboss" / "input-attachments"
            chat.pane.files_offered.emit([str(notes)])
            await until(lambda: [face.state for face in shelf.faces] == ["ready"], "it is staged")
            assert len(list(staging.iterdir())) == 1
            shelf.removed.emit(shelf.faces[0].key)
            await until(lambda: list(staging.iterdir()) == [], "it is gone from the disk")

            chat.pane.files_offered.emit([str(notes)])
            await until(lambda: [face.state for face in shelf.faces] == ["ready"], "it is staged again")
            talk.write("Read it")
            await until(lambda: chat.turns and chat.turns[-1][2] is Status.COMPLETED, "an answer")
            conversation = chat.presenter._conversation
            assert conversation is not None
            sent = conversation.transcript.state(0)
            assert sent is not None
            chat.presenter._attaching.throw_away(workspace.id, sent.attachments)
            await until(lambda: chat.drafts.discarded() == [], "the runtime has answered")
            assert len(list(staging.iterdir())) == 1, "a message names it"

    chat.qloop.run(change_ones_mind())
