"""Files that the runtime does not have when the program ends, and files that are taken out of a draft again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.presenter import ChatPresenter
from holaboss_app.panes.chat.queue_rail import QueueRow
from holaboss_app.services import kept_pictures
from holaboss_app.services.drafts import Drafts
from holaboss_app.services.kept_pictures import KeptPictures
from holaboss_app.services.waiting_files import WaitingFile
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, World, workspace
from tests.app.chat.stage import Chat
from tests.app.conftest import QLoop


class Program:
    """Starts of the desktop over one profile folder and one runtime."""

    def __init__(self, qloop: QLoop, show: Callable[..., None], folder: Path) -> None:
        self._qloop, self._show, self.folder = qloop, show, folder
        self.world = World()
        self._chat: Chat | None = None

    def start(self) -> Chat:
        pane = ChatPane()
        self._show(pane, 800, 700)
        chat = self._chat = Chat(self._qloop, pane)
        chat.world = self.world
        self._drafts = Drafts(self.folder / "drafts.json", self.folder / "pasted")
        chat.presenter = ChatPresenter(pane, self._drafts, chat.errors.append)
        chat.start()
        settle(chat)
        return chat

    def quit(self) -> None:
        chat, self._chat = self._chat, None
        if chat is not None:
            self._qloop.run(chat.presenter.close())
            self._qloop.run(self._drafts.close())
            assert chat.errors == []

    @property
    def pasted(self) -> list[Path]:
        folder = self.folder / "pasted"
        return list(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def program(qloop: QLoop, show: Callable[..., None], tmp_path: Path) -> Iterator[Program]:
    program = Program(qloop, show, tmp_path / "profile")
    program.folder.mkdir()
    yield program
    program.quit()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    return path


def settle(chat: Chat) -> None:
    chat.run(lambda: not chat.presenter._tasks._tasks, "nothing is on its way")


def lose_the_runtime(chat: Chat) -> None:
    chat.in_loop(lambda: chat.presenter.detach("It has stopped."))


def offer(chat: Chat, *paths: Path) -> None:
    chat.in_loop(lambda: chat.pane.files_offered.emit([str(path) for path in paths]))
    settle(chat)


def paste(chat: Chat) -> None:
    image = QImage(30, 20, QImage.Format.Format_RGB32)
    image.fill(QColor("#2277cc"))
    chat.in_loop(lambda: chat.pane.picture_offered.emit(image))
    settle(chat)


def remove(chat: Chat, number: int = 0) -> None:
    face = chat.pane.composer.files.faces[number]
    chat.in_loop(lambda: chat.pane.composer.files.removed.emit(face.key))
    settle(chat)


def chips(chat: Chat) -> list[tuple[str, str]]:
    return [(face.name, face.state) for face in chat.pane.composer.files.faces]


def test_files_that_waited_for_the_runtime_come_back_and_are_brought(program: Program, notes: Path) -> None:
    chat = program.start()
    lose_the_runtime(chat)
    offer(chat, notes)
    program.quit()
    notes.write_text("changed since")
    later = program.start()
    assert chips(later) == [("notes.txt", "ready")]
    assert list(program.world.files.values()) == [b"changed since"]
    later.write("Look")
    program.quit()
    assert chips(program.start()) == [], "once sent they are no part of a draft"


def test_a_file_that_has_gone_is_said_once(program: Program, notes: Path) -> None:
    chat = program.start()
    lose_the_runtime(chat)
    offer(chat, notes)
    program.quit()
    notes.unlink()
    later = program.start()
    assert chips(later) == [("notes.txt", "failed")]
    assert later.banner("notice") == "notes.txt: It is not there any more."
    program.quit()
    assert chips(program.start()) == []


def test_what_has_become_of_a_file_cannot_hold_anybody_up(program: Program, notes: Path) -> None:
    chat = program.start()
    lose_the_runtime(chat)
    offer(chat, notes)
    program.quit()
    notes.unlink()
    os.mkfifo(notes)
    assert program.start().banner("notice") == "notes.txt: It is no ordinary file."


def test_a_name_that_is_no_text_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 100%.txt")
    again = WaitingFile.model_validate_json(WaitingFile.at(path, "cafe", kept=False).model_dump_json())
    assert again.path == path


def test_a_pasted_picture_waits_as_a_private_file(program: Program) -> None:
    chat = program.start()
    lose_the_runtime(chat)
    paste(chat)
    (kept,) = program.pasted
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    program.quit()
    later = program.start()
    assert chips(later) == [("Pasted picture.png", "ready")]
    (content,) = program.world.files.values()
    assert QImage.fromData(content).pixelColor(5, 5) == QColor("#2277cc")
    assert program.pasted == [], "the runtime has it"


def test_a_picture_whose_way_was_cut_off_by_the_end_is_kept_too(program: Program) -> None:
    chat = program.start()
    program.world.gate = asyncio.Event()
    image = QImage(30, 20, QImage.Format.Format_RGB32)
    image.fill(QColor("#2277cc"))
    chat.in_loop(lambda: chat.pane.picture_offered.emit(image))
    chat.run(lambda: "stage Pasted picture.png" in program.world.calls, "it is on its way")
    program.quit()
    program.world.gate = None
    assert len(program.pasted) == 1
    assert chips(program.start()) == [("Pasted picture.png", "ready")]


def test_a_picture_that_is_removed_while_it_waits_leaves_nothing(program: Program) -> None:
    chat = program.start()
    lose_the_runtime(chat)
    paste(chat)
    remove(chat)
    assert program.pasted == []


def test_there_is_a_bound_and_it_is_said(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_pictures, "MOST_BYTES", 10)
    chat = program.start()
    lose_the_runtime(chat)
    paste(chat)
    assert program.pasted == []
    assert "Pasted picture.png is lost if you quit before the runtime is back" in chat.banner("notice")
    chat.in_loop(lambda: chat.presenter.attach(FakeRuntime(program.world)))
    settle(chat)
    assert chips(chat) == [("Pasted picture.png", "ready")], "until then it is in memory"


def test_pictures_that_no_draft_names_are_swept(tmp_path: Path) -> None:
    pictures = KeptPictures(tmp_path / "pasted")
    named, orphan = pictures.keep(b"1"), pictures.keep(b"2")
    pictures.sweep({named})
    assert named.exists()
    assert not orphan.exists()
    outside = tmp_path / "mine.png"
    outside.write_bytes(b"mine")
    pictures.drop(outside)
    assert outside.exists()


def test_a_file_that_is_taken_out_is_deleted_in_the_runtime(program: Program, notes: Path) -> None:
    chat = program.start()
    offer(chat, notes)
    chat.in_loop(lambda: chat.pane.paths_offered.emit(["docs/plan.md"]))
    (path,) = program.world.files
    remove(chat)
    remove(chat)
    assert program.world.files == {}
    assert [call for call in program.world.calls if call.startswith("discard")] == [f"discard {path}"]


def test_one_that_is_taken_out_without_a_runtime_is_deleted_later(program: Program, notes: Path) -> None:
    chat = program.start()
    offer(chat, notes)
    lose_the_runtime(chat)
    remove(chat)
    assert len(program.world.files) == 1
    program.quit()
    program.start()
    assert program.world.files == {}
    program.quit()
    calls = len([call for call in program.world.calls if call.startswith("discard")])
    program.start()
    assert len([call for call in program.world.calls if call.startswith("discard")]) == calls


def test_one_that_is_taken_out_on_its_way_is_deleted_when_it_arrives(program: Program, notes: Path) -> None:
    chat = program.start()
    gate = program.world.gate = asyncio.Event()
    chat.in_loop(lambda: chat.pane.files_offered.emit([str(notes)]))
    chat.run(lambda: "stage notes.txt" in program.world.calls, "it is on its way")
    face = chat.pane.composer.files.faces[0]
    chat.in_loop(lambda: chat.pane.composer.files.removed.emit(face.key))
    program.world.gate = None
    chat.in_loop(gate.set)
    settle(chat)
    assert program.world.files == {}


@pytest.mark.parametrize("away", [True, False])
def test_the_files_of_a_message_that_is_taken_back_go_with_it(
    program: Program, notes: Path, away: bool
) -> None:
    chat = program.start()
    session = program.world.session(workspace("one").id, "main-w-one")
    chat.write("First")
    program.world.claim(session)
    chat.rest()
    offer(chat, notes)
    program.world.away = away
    chat.write("Look")
    program.world.away = False
    chat.change(Change.QUEUE, session)
    (row,) = [row for row in chat.pane.rail.findChildren(QueueRow) if row.isVisibleTo(chat.pane.rail)]
    chat.in_loop(lambda: chat.pane.rail.removed.emit(row._key))
    settle(chat)
    assert chat.waiting == []
    assert program.world.files == {}
