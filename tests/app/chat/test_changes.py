"""What a turn did to files stands under its answer, and can be taken back and put back."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMenu

from holaboss_app.panes.chat.changes_button import ChangesButton, file_words, summary
from holaboss_client.undo import ChangedFile, TurnChanges
from tests.app.chat.fake_runtime import NOW, FakeSession
from tests.app.chat.stage import Chat


def changes(session: FakeSession, input_id: str = "input-1", *paths: str) -> TurnChanges:
    files = [ChangedFile(path=path, change="changed", state="applied", added=3, removed=1) for path in paths]
    return TurnChanges(
        input_id=input_id,
        session_id=session.session.session_id,
        created_at=NOW,
        state="applied",
        files=files,
        file_count=len(files),
        added=3 * len(files),
        removed=len(files),
    )


def shown(chat: Chat) -> list[ChangesButton]:
    return [each for each in chat.pane.transcript.findChildren(ChangesButton) if each.isVisible()]


def worked(chat: Chat) -> ChangesButton:
    session = chat.start()
    chat.world.turn_changes["input-1"] = changes(session, "input-1", "a.md", "b.md")
    chat.converse(session, "Change them")
    (button,) = shown(chat)
    return button


def test_they_are_shown_under_the_answer(chat: Chat) -> None:
    button = worked(chat)
    assert button.text() == "2 files  +6 −2"
    button.click()
    menu = button.findChild(QMenu)
    words = [action.text() for action in menu.actions() if action.text()]
    assert words == ["a.md  (changed)  +3 −1", "b.md  (changed)  +3 −1", "Undo these changes"]
    menu.close()


def test_they_are_taken_back_and_put_back(chat: Chat) -> None:
    button = worked(chat)
    chat.in_loop(lambda: button.moved.emit(False))
    assert [each.text() for each in shown(chat)] == ["2 files, taken back"]
    chat.in_loop(lambda: button.moved.emit(True))
    assert [each.text() for each in shown(chat)] == ["2 files  +6 −2"]


def test_a_conflict_is_said_and_nothing_is_moved(chat: Chat) -> None:
    button = worked(chat)
    chat.world.refusal = "a.md was changed since. Nothing was undone."
    chat.in_loop(lambda: button.moved.emit(False))
    chat.world.refusal = None
    assert "Nothing was undone." in chat.banner("notice")
    assert [each.text() for each in shown(chat)] == ["2 files  +6 −2"]


def test_a_turn_that_changed_nothing_says_nothing(chat: Chat) -> None:
    session = chat.start()
    chat.converse(session, "Hello")
    assert shown(chat) == []


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (ChangedFile(path="a", change="created", state="applied"), "a  (new)"),
        (
            ChangedFile(path="a", change="deleted", state="applied", added=0, removed=2),
            "a  (deleted)  +0 −2",
        ),
        (
            ChangedFile(path="a", change="changed", state="applied", problem="too_large"),
            "a  (changed, cannot be taken back)",
        ),
    ],
)
def test_words_about_a_file(file: ChangedFile, words: str) -> None:
    assert file_words(file) == words


def test_words_about_one_file(chat: Chat) -> None:
    session = chat.start()
    assert summary(changes(session, "x", "a.md")) == "1 file  +3 −1"


def test_what_a_failed_turn_did_can_be_undone_too(chat: Chat) -> None:
    session = chat.start()
    chat.world.turn_changes["input-1"] = changes(session, "input-1", "a.md")
    chat.write("Change it")
    chat.world.claim(session)
    chat.world.fail(session, "server_error", "The model is gone.")
    chat.rest()
    (button,) = shown(chat)
    chat.in_loop(lambda: button.moved.emit(False))
    assert [each.text() for each in shown(chat)] == ["1 file, taken back"]


def test_a_file_in_the_list_is_opened(chat: Chat) -> None:
    button = worked(chat)
    button.click()
    menu = button.findChild(QMenu)
    menu.actions()[1].trigger()
    assert chat.opened == ["b.md"]
    menu.close()


def test_a_deleted_file_cannot_be_opened_until_it_is_back(chat: Chat) -> None:
    session = chat.start()
    gone = changes(session, "input-1", "a.md")
    files = [gone.files[0].model_copy(update={"change": "deleted"})]
    button = ChangesButton(chat.pane)
    for state, enabled in (("applied", False), ("undone", True)):
        button.show_changes(gone.model_copy(update={"files": files, "state": state}))
        button._open()
        menu = button.findChildren(QMenu)[-1]
        assert menu.actions()[0].isEnabled() is enabled
        menu.close()
    button.deleteLater()
