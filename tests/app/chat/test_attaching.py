"""Files of a message: chosen, dropped and pasted, brought to the runtime, kept with the draft, sent, shown, refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel

from holaboss_app.core.attachments import MOST_FILES, PATHS_MIME
from holaboss_app.panes.chat.drop_target import DropTarget
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.panes.chat.file_chips import Chip
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.presenter import ChatPresenter
from holaboss_app.panes.chat.queue_rail import QueueRow
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_app.services.drafts import Drafts
from holaboss_client.attachments import MessageAttachment
from holaboss_client.config import ModelFacts
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, catalogue, workspace
from tests.app.chat.stage import Chat
from tests.app.conftest import QLoop

Show = Callable[..., None]
COPY = Qt.DropAction.CopyAction
KEYS, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("one\n" * 600)
    return path


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    assert picture().save(str(path))
    return path


def picture(colour: str = "#2277cc") -> QImage:
    image = QImage(300, 200, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    return image


def chips(chat: Chat) -> list[tuple[str, str, str]]:
    """Name, second line and state of the cards above the message."""
    return [(face.name, face.detail, face.state) for face in chat.pane.composer.files.faces]


def sent_files(chat: Chat) -> list[list[str]]:
    return [[item["name"] for item in request.attachments] for request in chat.world.requests]


def bubbles(chat: Chat) -> list[list[str]]:
    """The names of the files in each bubble on screen."""
    turns = [w for w in chat.pane.transcript.viewport().findChildren(TurnWidget) if w.isVisible()]
    return [[face.name for face in w._attached.faces] for w in sorted(turns, key=lambda w: w.y())]


def hint(chat: Chat) -> str:
    note = chat.pane.composer.findChild(QLabel, "files-note")
    said = [label.full_text for label in chat.pane.composer.findChildren(ElidedLabel)]
    return " ".join([note.text() if note.isVisible() else "", *said])


def offer(chat: Chat, *paths: Path) -> None:
    chat.in_loop(lambda: chat.pane.files_offered.emit([str(path) for path in paths]))
    settle(chat)


def settle(chat: Chat) -> None:
    """Files are read in a thread: wait until nothing is on its way."""
    chat.run(lambda: not chat.presenter._tasks._tasks, "nothing is on its way")


def dragged(data: QMimeData, pane: ChatPane) -> tuple[QDragEnterEvent, QDropEvent]:
    enter = QDragEnterEvent(QPoint(200, 200), COPY, data, LEFT, KEYS)
    drop = QDropEvent(QPointF(200, 200), COPY, data, LEFT, KEYS)
    return enter, drop


def test_chosen_files_are_brought_to_the_runtime_and_sent(chat: Chat, notes: Path, photo: Path) -> None:
    session = chat.start()
    chat.in_loop(lambda: chat.pane.findChild(QAbstractButton, "attach-files").click())
    dialog = chat.pane.findChild(QFileDialog, "choose-files")
    chat.in_loop(lambda: dialog.filesSelected.emit([str(notes), str(photo)]), dialog.reject)
    chat.run(lambda: [state for _, _, state in chips(chat)] == ["ready", "ready"], "both are there")
    assert chips(chat)[0] == ("notes.txt", "2 KB", "ready")
    assert list(chat.world.files.values()) == [notes.read_bytes(), photo.read_bytes()]
    chat.write("Look at these")
    assert sent_files(chat) == [["notes.txt", "photo.png"]]
    assert [item["kind"] for item in chat.world.requests[0].attachments] == ["file", "image"]
    assert chips(chat) == []
    assert bubbles(chat) == [["notes.txt", "photo.png"]]
    chat.world.claim(session)
    chat.world.say(session, "Fine.")
    chat.world.finish(session)
    chat.rest()
    assert bubbles(chat) == [["notes.txt", "photo.png"]]


def test_history_shows_the_same_files_as_the_live_turn(chat: Chat, photo: Path) -> None:
    session = chat.start()
    offer(chat, photo)
    chat.write("Look")
    chat.world.claim(session)
    chat.world.finish(session)
    chat.rest()
    live = [w._attached.faces for w in chat.pane.transcript.viewport().findChildren(TurnWidget)]
    chat.wait_for(chat.presenter.show_workspace(workspace("two")))
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    chat.run(lambda: bubbles(chat) == [["photo.png"]], "history is here")
    later = [w._attached.faces for w in chat.pane.transcript.viewport().findChildren(TurnWidget)]
    assert [faces for faces in later if faces] == [faces for faces in live if faces]


def test_files_alone_are_a_message(chat: Chat, notes: Path) -> None:
    chat.start()
    send = chat.pane.findChild(QAbstractButton, "send")
    assert not send.isEnabled()
    offer(chat, notes)
    assert send.isEnabled()
    chat.in_loop(send.click)
    assert [(r.text, len(r.attachments)) for r in chat.world.requests] == [("", 1)]
    assert bubbles(chat) == [["notes.txt"]]


def test_files_that_are_dropped_on_the_pane_are_attached(chat: Chat, notes: Path) -> None:
    chat.start()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(notes))])
    enter, drop = dragged(data, chat.pane)
    target = chat.pane.findChild(DropTarget)
    QApplication.sendEvent(chat.pane.composer.field.viewport(), enter)
    assert enter.isAccepted()
    assert target.isVisible()
    assert target.geometry() == chat.pane.rect()
    chat.in_loop(lambda: QApplication.sendEvent(chat.pane, drop))
    settle(chat)
    assert not target.isVisible()
    assert [name for name, _, _ in chips(chat)] == ["notes.txt"]
    assert chat.pane.composer.text == "", "the path is not written into the message"


def test_text_that_is_dragged_over_the_pane_is_no_file(chat: Chat) -> None:
    chat.start()
    data = QMimeData()
    data.setText("some words")
    enter, _ = dragged(data, chat.pane)
    QApplication.sendEvent(chat.pane, enter)
    assert not chat.pane.findChild(DropTarget).isVisible()


def test_rows_of_the_file_tree_are_named_and_not_copied(chat: Chat) -> None:
    chat.start()
    data = QMimeData()
    data.setData(PATHS_MIME, b"notes/today.md\nnotes/")
    enter, drop = dragged(data, chat.pane)
    chat.in_loop(
        lambda: QApplication.sendEvent(chat.pane, enter), lambda: QApplication.sendEvent(chat.pane, drop)
    )
    assert [(face.name, face.kind) for face in chat.pane.composer.files.faces] == [
        ("today.md", "file"),
        ("notes", "folder"),
    ]
    assert chat.world.files == {}
    chat.write("Read them")
    paths = [item["workspace_path"] for item in chat.world.requests[0].attachments]
    assert paths == ["notes/today.md", "notes"]


def test_a_file_of_the_workspace_is_not_copied_either(chat: Chat, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "plan.md").write_text("plan")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    chat.wait_for(
        chat.presenter.show_workspace(workspace("one").model_copy(update={"workspace_path": str(root)}))
    )
    offer(chat, root / "docs" / "plan.md", root / ".git" / "config")
    chat.run(lambda: len(chips(chat)) == 2, "both are listed")
    settle(chat)
    chat.write("Look")
    paths = [item["workspace_path"] for item in chat.world.requests[0].attachments]
    assert paths[0] == "docs/plan.md"
    assert paths[1].startswith(".holaboss/input-attachments/"), "its own state is only ever copied"


def test_a_picture_on_the_clipboard_is_pasted_as_a_file(chat: Chat) -> None:
    chat.start()
    QGuiApplication.clipboard().setImage(picture())
    chat.in_loop(chat.pane.composer.field.paste)
    settle(chat)
    assert [(name, state) for name, _, state in chips(chat)] == [("Pasted picture.png", "ready")]
    (content,) = chat.world.files.values()
    again = QImage.fromData(content)
    assert (again.width(), again.height()) == (300, 200)
    assert again.pixelColor(10, 10) == QColor("#2277cc")
    QGuiApplication.clipboard().clear()


def test_copied_files_are_attached_and_copied_cells_stay_text(chat: Chat, notes: Path) -> None:
    chat.start()
    field = chat.pane.composer.field
    copied, cells = QMimeData(), QMimeData()
    copied.setUrls([QUrl.fromLocalFile(str(notes))])
    copied.setText(str(notes))
    cells.setText("a\tb")
    cells.setImageData(picture())
    chat.in_loop(lambda: field.insertFromMimeData(copied))
    settle(chat)
    assert [name for name, _, _ in chips(chat)] == ["notes.txt"]
    assert field.toPlainText() == ""
    chat.in_loop(lambda: field.insertFromMimeData(cells))
    assert field.toPlainText() == "a\tb"
    assert len(chips(chat)) == 1


def test_what_cannot_be_attached_is_said_at_once(chat: Chat, tmp_path: Path, notes: Path) -> None:
    chat.start()
    large = tmp_path / "film.mp4"
    with large.open("wb") as file:
        file.truncate(60 << 20)
    offer(chat, large)
    chat.run(lambda: chat.banner("notice"), "it is said")
    assert chat.banner("notice") == "film.mp4 is 60 MB. A file can be attached up to 50 MB."
    assert chips(chat) == []
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in (
        (tmp_path, "is a folder. Attach its files, or move it into the workspace first."),
        (tmp_path / "nothing", "nothing: No such file or directory."),
        (pipe, "pipe is no ordinary file."),
    ):
        offer(chat, path)
        chat.run(lambda words=words: words in chat.banner("notice"), words)
    offer(chat, tmp_path, notes)
    chat.run(lambda: [name for name, _, _ in chips(chat)] == ["notes.txt"], "the rest is attached")
    assert "stage film.mp4" not in chat.world.calls


def test_a_file_that_the_runtime_refuses_blocks_the_message_until_it_is_removed(
    chat: Chat, notes: Path
) -> None:
    chat.start()
    chat.world.full = "The attachments of this workspace fill 1 GiB."
    offer(chat, notes)
    chat.run(lambda: chips(chat)[0][2] == "failed", "it is refused")
    assert chips(chat)[0][1] == "The attachments of this workspace fill 1 GiB."
    chat.pane.composer.text = "Look"
    assert not chat.pane.findChild(QAbstractButton, "send").isEnabled()
    assert "Remove the file that could not be attached." in hint(chat)
    chip = chat.pane.composer.files.findChildren(Chip)[0]
    chip.setFocus()
    QTest.keyClick(chip, Qt.Key.Key_Delete)
    assert chips(chat) == []
    assert chat.pane.findChild(QAbstractButton, "send").isEnabled()
    assert chat.pane.composer.field.hasFocus(), "the keyboard goes back to the message"


def test_a_model_that_takes_no_pictures_blocks_with_a_sentence(chat: Chat, photo: Path) -> None:
    chat.start()
    known = catalogue()
    facts = {"gpt-5": facts_of(takes_images=True), "gpt-5-mini": facts_of(takes_images=False)}
    providers = [p.model_copy(update={"model_facts": facts}) for p in known.providers]
    chat.in_loop(lambda: chat.presenter.set_catalogue(known.model_copy(update={"providers": providers})))
    offer(chat, photo)
    picker, send = chat.pane.composer.picker, chat.pane.findChild(QAbstractButton, "send")
    picker._choose("openai_direct/gpt-5-mini")
    assert not send.isEnabled()
    assert "gpt-5-mini cannot look at pictures. Choose another model, or remove them." in hint(chat)
    chat.pane.composer.field.submitted.emit()
    assert chat.world.requests == []
    picker._choose("openai_direct/gpt-5")
    assert send.isEnabled()
    assert hint(chat).strip() == ""


def facts_of(*, takes_images: bool) -> ModelFacts:
    return ModelFacts(context_window=1_000, max_output=100, takes_images=takes_images)


def test_a_refused_message_comes_back_with_its_files(chat: Chat, photo: Path) -> None:
    chat.start()
    offer(chat, photo)
    chat.world.refusal = "scripted cannot look at pictures. Choose a model that can."
    chat.write("Look")
    assert chat.pane.composer.text == "Look"
    assert [name for name, _, _ in chips(chat)] == ["photo.png"]
    assert "cannot look at pictures" in chat.banner("notice")
    assert chat.turns == []
    chat.world.refusal = None
    chat.in_loop(chat.pane.composer.field.submitted.emit)
    assert sent_files(chat) == [["photo.png"]]


def test_a_refused_message_of_a_session_that_was_left_is_a_draft_there(chat: Chat, photo: Path) -> None:
    chat.start()
    offer(chat, photo)
    chat.world.gate = asyncio.Event()
    chat.write("Look")
    showing = chat.presenter.show_workspace(workspace("two"))
    chat.world.refusal = "No."
    gate, chat.world.gate = chat.world.gate, None

    async def leave_and_refuse() -> None:
        task = asyncio.ensure_future(showing)
        await asyncio.sleep(0)
        gate.set()
        await task

    chat.wait_for(leave_and_refuse())
    chat.world.refusal = None
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    chat.rest()
    assert chat.pane.composer.text == "Look"
    assert [name for name, _, _ in chips(chat)] == ["photo.png"]


def test_files_stay_with_the_draft_of_their_session(chat: Chat, show: Show, notes: Path) -> None:
    chat.start()
    offer(chat, notes)
    chat.wait_for(chat.presenter.show_workspace(workspace("two")))
    assert chips(chat) == []
    chat.wait_for(chat.presenter.show_workspace(workspace("one")))
    assert [name for name, _, _ in chips(chat)] == ["notes.txt"]
    chat.qloop.run(chat.presenter.close())
    pane = ChatPane()
    show(pane, 800, 700)
    later = Chat(chat.qloop, pane)
    later.world, later.drafts = chat.world, chat.drafts
    later.presenter = ChatPresenter(pane, chat.drafts, later.errors.append)
    later.start()
    assert chips(later) == [("notes.txt", "2 KB", "ready")]
    later.write("Look")
    assert sent_files(later) == [["notes.txt"]]
    assert chat.drafts.kept["w-one/main-w-one"] == []
    chat.qloop.run(later.presenter.close())


def test_a_message_that_was_never_delivered_is_a_draft_with_files_again(chat: Chat, notes: Path) -> None:
    chat.start()
    offer(chat, notes)
    chat.world.away = True
    chat.write("Look")
    assert chips(chat) == []
    chat.qloop.run(chat.presenter.close())
    assert chat.drafts.drafts["w-one/main-w-one"] == "Look"
    assert [file.name for file in chat.drafts.kept["w-one/main-w-one"]] == ["notes.txt"]


def test_while_the_runtime_is_away_files_wait_in_words(chat: Chat, notes: Path) -> None:
    chat.start()
    chat.in_loop(lambda: chat.presenter.detach("It has stopped."))
    offer(chat, notes)
    chat.run(lambda: len(chips(chat)) == 1, "it is listed")
    assert chips(chat) == [("notes.txt", "waits for the runtime", "busy")]
    assert "The files wait for the runtime." in hint(chat)
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(chat.world)))
    settle(chat)
    assert chips(chat) == [("notes.txt", "2 KB", "ready")]


def test_a_connection_that_breaks_while_a_file_is_brought_loses_nothing(chat: Chat, notes: Path) -> None:
    chat.start()
    chat.world.away = True
    chat.in_loop(lambda: chat.pane.files_offered.emit([str(notes)]))
    chat.run(lambda: "stage notes.txt" in chat.world.calls, "it was tried")
    chat.rest()
    assert [state for _, _, state in chips(chat)] == ["busy"]
    chat.world.away = False
    chat.in_loop(
        lambda: chat.presenter.detach("gone"), lambda: chat.presenter.attach(FakeRuntime(chat.world))
    )
    settle(chat)
    assert [state for _, _, state in chips(chat)] == ["ready"]


def test_a_message_takes_so_many_files_and_no_more(chat: Chat) -> None:
    chat.start()
    paths = [f"data/{number}.csv" for number in range(MOST_FILES + 3)]
    chat.in_loop(lambda: chat.pane.paths_offered.emit(paths), lambda: chat.pane.paths_offered.emit(paths[:2]))
    assert len(chips(chat)) == MOST_FILES
    assert f"up to {MOST_FILES} files" in chat.banner("notice")
    shelf = chat.pane.composer.files
    assert shelf.height() < 200, "many files scroll"
    assert shelf.verticalScrollBar().maximum() > 0


def test_the_same_file_of_the_workspace_is_attached_once(chat: Chat) -> None:
    chat.start()
    for _ in range(2):
        chat.in_loop(lambda: chat.pane.paths_offered.emit(["a.md", "b.md"]))
    assert [name for name, _, _ in chips(chat)] == ["a.md", "b.md"]


def test_a_message_that_waits_says_which_files_it_brings(chat: Chat, notes: Path) -> None:
    session = chat.start()
    chat.write("First")
    chat.world.claim(session)
    chat.rest()
    offer(chat, notes)
    chat.in_loop(chat.pane.composer.field.submitted.emit)
    chat.change(Change.QUEUE, session)
    (row,) = [row for row in chat.pane.rail.findChildren(QueueRow) if row.isVisibleTo(chat.pane.rail)]
    assert row._message.full_text == "notes.txt"
    assert row._clip.isVisibleTo(row)
    assert row._clip.toolTip() == "notes.txt"


def test_trying_again_sends_the_files_again(chat: Chat, notes: Path) -> None:
    session = chat.start()
    offer(chat, notes)
    chat.write("Look")
    chat.world.claim(session)
    chat.world.fail(session, "bad_request", "No.")
    chat.rest()
    chat.in_loop(lambda: chat.pane.transcript.retry_requested.emit("input-1"))
    assert sent_files(chat) == [["notes.txt"], ["notes.txt"]]


def test_a_picture_is_seen_in_the_card_and_in_the_bubble(chat: Chat, photo: Path) -> None:
    chat.start()
    offer(chat, photo)
    card = chat.pane.composer.files.findChildren(Chip)[0]
    assert card._picture is not None
    assert card.grab().toImage().pixelColor(20, 22) == QColor("#2277cc")
    chat.write("Look")
    turn = next(w for w in chat.pane.transcript.viewport().findChildren(TurnWidget) if w.isVisible())
    shown = turn._attached.findChildren(Chip)[0]
    assert shown._picture is not None
    assert shown.grab().toImage().pixelColor(20, 22) == QColor("#2277cc")


def test_pictures_of_history_are_asked_for_once_and_garbage_is_none(chat: Chat) -> None:
    session = chat.start()
    chat.world.files["bad.png"] = b"\x89PNG no picture at all"
    chat.in_loop(lambda: chat.pane.paths_offered.emit(["bad.png", "gone.png"]))
    chat.run(lambda: "file gone.png" in chat.world.calls, "both were asked for")
    chat.write("Look")
    chat.world.claim(session)
    chat.world.finish(session)
    chat.rest()
    chat.rest()
    assert chat.world.calls.count("file bad.png") == 1
    assert chat.world.calls.count("file gone.png") == 1


def test_a_click_on_a_file_asks_for_it_to_be_shown(chat: Chat, notes: Path) -> None:
    chat.start()
    offer(chat, notes)
    card = chat.pane.composer.files.findChildren(Chip)[0]
    QTest.mouseClick(card, Qt.MouseButton.LeftButton)
    chat.write("Look")
    turn = next(w for w in chat.pane.transcript.viewport().findChildren(TurnWidget) if w.isVisible())
    shown = turn._attached.findChildren(Chip)[0]
    shown.setFocus()
    QTest.keyClick(shown, Qt.Key.Key_Return)
    assert chat.opened == list(chat.world.files) * 2


def test_the_file_of_drafts_keeps_what_goes_with_them(qloop: QLoop, tmp_path: Path) -> None:
    file = MessageAttachment(workspace_path="a/notes.txt", name="notes.txt", size=4)

    async def keep() -> None:
        drafts = Drafts(tmp_path / "drafts.json", tmp_path / "pasted")
        drafts.save_files("w/s", [file], [])
        drafts.save_files("w/t", [file], [])
        drafts.save_files("w/t", [], [])
        await drafts.close()

    qloop.run(keep())
    later = Drafts(tmp_path / "drafts.json", tmp_path / "pasted")
    assert later.files("w/s") == [file]
    assert later.files("w/t") == []
