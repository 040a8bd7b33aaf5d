"""Connecting, keys, autosave and the test button, from the widgets down to the requests and the keychain."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPushButton, QWidget

from holaboss_app.panes.settings.provider_form import SaveState
from holaboss_app.services.keychain import KeychainAbsentError, PasswordStore
from holaboss_app.theme import style
from tests.app.settings.conftest import Desk
from tests.app.settings.fake_runtime import MARKER_KEY

USER = "provider/openai_direct"


def connect_openai(desk: Desk) -> None:
    card = desk.card("openai_direct")
    card.form.key.input.setText(MARKER_KEY)
    desk.do(card.connect_button.click)


def test_connecting_puts_the_provider_then_the_key_in_keychain_and_runtime(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    assert desk.store.passwords == {USER: MARKER_KEY}
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}
    order = [path for method, path, _ in desk.runtime.calls if method == "PUT"]
    assert order == ["/runtime/providers/openai_direct", "/runtime/secrets/openai_direct"]
    card = desk.card("openai_direct")
    assert card.form.key.input.text() == ""
    assert card.form.key.kept_label.text() == "Saved in the keychain"
    assert card.state_label.text() == "Connected"
    assert card.connect_button.text() == "Disconnect"


def test_no_widget_shows_a_stored_key(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    texts = [label.text() for label in desk.page.findChildren(QLabel)]
    texts += [line.text() for line in desk.page.findChildren(QLineEdit)]
    assert not any(MARKER_KEY in text for text in texts)


def test_connecting_without_a_key_asks_for_one_and_changes_nothing(desk: Desk) -> None:
    desk.open()
    card = desk.card("openai_direct")
    desk.do(card.connect_button.click)
    assert card.expanded
    assert card.form.key.field.message.text() == "Enter an API key, then connect."
    assert desk.runtime.bodies("PUT", "/openai_direct") == []


def test_a_key_still_in_the_keychain_is_used_again(desk: Desk) -> None:
    desk.store.passwords[USER] = MARKER_KEY
    desk.open()
    desk.do(desk.card("openai_direct").connect_button.click)
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}


def test_a_server_on_this_computer_connects_without_a_key(desk: Desk) -> None:
    desk.open()
    desk.do(desk.card("ollama_direct").connect_button.click)
    assert desk.runtime.providers["ollama_direct"]["connected"]
    assert desk.card("ollama_direct").state_label.text() == "Connected"


def test_the_demo_model_connects_with_an_empty_request(desk: Desk) -> None:
    desk.open()
    desk.do(desk.card("demo").connect_button.click)
    assert desk.runtime.bodies("PUT", "/providers/demo") == [{}]


def test_edits_are_saved_after_the_pause_and_only_then(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    form = desk.card("openai_direct").form
    before = len(desk.runtime.bodies("PUT", "/providers/openai_direct"))
    timer = form.autosave
    assert timer.interval() == 800
    timer.setInterval(3_600_000)  # so that no pause of the machine can be the one that is waited for
    desk.do(lambda: form.models.text.setPlainText("large\nhuge"))
    assert timer.isActive()
    assert len(desk.runtime.bodies("PUT", "/providers/openai_direct")) == before
    desk.do(timer.timeout.emit)
    assert desk.runtime.bodies("PUT", "/providers/openai_direct")[-1]["models"] == ["large", "huge"]
    assert form.state_label.text() == "Saved"
    assert not form.dirty


def test_a_failed_save_keeps_the_draft_until_retry_works(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    form = desk.card("openai_direct").form
    desk.runtime.refuse["/providers/openai_direct"] = (422, "This model list is not good.")
    desk.do(lambda: form.models.text.setPlainText("odd"))
    desk.do(form.save_now)
    assert form.state is SaveState.FAILED
    assert form.state_label.text() == "This model list is not good."
    assert form.models.models == ("odd",)
    assert form.retry.isVisibleTo(form)
    desk.runtime.refuse.clear()
    desk.do(form.retry.click)
    assert form.state is SaveState.SAVED
    assert desk.runtime.providers["openai_direct"]["models"] == ["odd"]


def test_an_invalid_draft_is_never_sent_and_can_be_reverted(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    form = desk.card("openai_direct").form
    count = len(desk.runtime.calls)
    desk.do(lambda: form.models.text.setPlainText("one two"))
    desk.do(form.save_now)
    assert "contains a space" in form.models.field.message.text()
    assert not form.autosave.isActive()
    assert len(desk.runtime.calls) == count
    desk.do(form.revert.click)
    assert form.models.models == ("large", "small")
    assert not form.models.field.has_error


def test_what_is_being_typed_survives_a_reload(desk: Desk) -> None:
    desk.open()
    form = desk.card("openai_direct").form
    desk.do(lambda: form.models.text.setPlainText("mine"))
    form.key.input.setText("half a key")
    desk.runtime.providers["openai_direct"]["default_models"] = ["theirs"]
    desk.do(lambda: desk.presenter.attach(desk.client))
    assert form.models.models == ("mine",)
    assert form.key.input.text() == "half a key"


def test_a_save_that_met_no_runtime_is_repeated_when_it_is_back(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    form = desk.card("openai_direct").form
    desk.presenter.detach("The runtime is restarting.")
    desk.do(lambda: form.models.text.setPlainText("later"))
    desk.do(form.save_now)
    assert form.state is SaveState.FAILED
    assert desk.page.models.connection.label.text() == "The runtime is restarting."
    desk.do(lambda: desk.presenter.attach(desk.client))
    assert desk.runtime.providers["openai_direct"]["models"] == ["later"]


def test_closing_saves_what_still_waits_for_its_pause(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    form = desk.card("openai_direct").form
    desk.do(lambda: form.models.text.setPlainText("last"))
    desk.qloop.run(desk.presenter.close())
    assert desk.runtime.providers["openai_direct"]["models"] == ["last"]


def test_the_test_button_tries_the_draft_and_offers_what_was_found(desk: Desk) -> None:
    desk.runtime.test_result["models"] = ["large", "huge"]
    desk.open()
    form = desk.card("openai_direct").form
    form.base_url.setText("https://other.example/v1")
    form.key.input.setText(MARKER_KEY)
    desk.do(form.test.click)
    sent = desk.runtime.bodies("POST", "/openai_direct/test")[-1]
    assert sent == {
        "kind": "openai_compatible",
        "base_url": "https://other.example/v1",
        "api_key": MARKER_KEY,
        "model": "large",
    }
    assert form.outcome.text() == "The provider answers. (41 ms)"
    offered = [form.models.list.item(row) for row in range(2)]
    assert [item.checkState().name for item in offered] == ["Checked", "Unchecked"]
    offered[1].setCheckState(offered[0].checkState())
    assert form.models.models == ("large", "small", "huge")


def test_a_failed_test_is_told_in_words(desk: Desk) -> None:
    desk.runtime.test_result = {
        "outcome": "bad_key",
        "detail": "The provider does not accept this key.",
        "latency_ms": 9,
    }
    desk.open()
    form = desk.card("openai_direct").form
    desk.do(form.test.click)
    assert form.outcome.text() == "The provider does not accept this key. (9 ms)"
    desk.runtime.down = True
    desk.do(form.test.click)
    assert form.outcome.text().startswith("The runtime does not answer")
    assert form.test.isEnabled()


def test_a_key_is_replaced_and_removed(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    key = desk.card("openai_direct").form.key
    desk.do(key.replace.click)
    key.input.setText("another")
    desk.do(key.save.click)
    assert desk.store.passwords == {USER: "another"}
    assert desk.runtime.secrets == {"openai_direct": "another"}
    desk.do(key.remove.click)
    assert desk.store.passwords == {}
    assert desk.runtime.secrets == {}
    assert desk.card("openai_direct").state_label.text() == "Key missing"


def test_disconnecting_asks_and_forgets_the_key_unless_told_not_to(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    card = desk.card("openai_direct")
    desk.do(card.connect_button.click)
    assert desk.runtime.providers["openai_direct"]["connected"]
    desk.find(QCheckBox, "forget-key", card).setChecked(False)
    desk.do(desk.find(QPushButton, "confirm-disconnect", card).click)
    assert not desk.runtime.providers["openai_direct"]["connected"]
    assert desk.store.passwords == {USER: MARKER_KEY}
    desk.do(card.connect_button.click)
    desk.do(card.connect_button.click)
    desk.find(QCheckBox, "forget-key", card).setChecked(True)
    desk.do(desk.find(QPushButton, "confirm-disconnect", card).click)
    assert desk.store.passwords == {}


def test_enter_in_the_key_field_connects(desk: Desk) -> None:
    desk.open()
    key = desk.card("openai_direct").form.key
    key.input.setText(MARKER_KEY)
    desk.do(key.input.returnPressed.emit)
    assert desk.card("openai_direct").state_label.text() == "Connected"
    desk.do(key.replace.click)
    key.input.setText("another")
    desk.do(key.input.returnPressed.emit)
    assert desk.store.passwords == {USER: "another"}
    assert not desk.card("openai_direct").confirm_disconnect.isVisible()


def test_a_key_being_typed_stays_in_sight_when_the_stored_one_changes(desk: Desk) -> None:
    desk.open()
    connect_openai(desk)
    key = desk.card("openai_direct").form.key
    desk.do(key.replace.click)
    key.input.setText("half a")
    desk.runtime.secrets.clear()
    desk.runtime.literal["openai_direct"] = "x"
    desk.do(lambda: desk.presenter.attach(desk.client))
    assert key.input.isVisibleTo(key)
    assert key.input.text() == "half a"


def test_a_refusing_keychain_offers_the_session(desk: Desk) -> None:
    desk.open()
    desk.store.error = OSError("locked")
    connect_openai(desk)
    card = desk.card("openai_direct")
    problem = desk.find(QPushButton, "keep-key-for-session", card)
    assert problem.isVisibleTo(card)
    assert card.form.key.input.text() == MARKER_KEY
    assert desk.runtime.secrets == {}
    desk.do(problem.click)
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}
    assert desk.store.passwords == {}
    assert card.form.key.kept_label.text() == "Kept for this session only"


def test_without_a_keychain_keys_live_for_the_session_and_it_is_said(desk_without_keychain: Desk) -> None:
    desk = desk_without_keychain
    desk.open()
    assert desk.page.models.keychain.label.text() == "No keychain answers on this computer."
    connect_openai(desk)
    card = desk.card("openai_direct")
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}
    assert card.form.key.kept_label.text() == "Kept for this session only"
    desk.do(card.form.key.remove.click)
    assert desk.runtime.secrets == {}
    assert not desk.keychain.kept_for_session("openai_direct")


def test_a_key_in_the_file_moves_to_the_keychain(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"]["connected"] = True
    desk.runtime.literal["openai_direct"] = MARKER_KEY
    desk.open()
    assert desk.card("openai_direct").state_label.text() == "Key in plain text"
    assert "OpenAI" in desk.page.models.literal.label.text()
    desk.do(desk.find(QPushButton, "move-all-keys").click)
    assert desk.store.passwords == {USER: MARKER_KEY}
    assert desk.runtime.literal == {}
    assert not desk.page.models.literal.isVisibleTo(desk.page)


def test_the_file_keeps_its_key_when_the_keychain_does_not_give_it_back(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"]["connected"] = True
    desk.runtime.literal["openai_direct"] = MARKER_KEY
    desk.store.forgetful = True
    desk.open()
    desk.do(desk.card("openai_direct").form.key.migrate.click)
    assert desk.runtime.literal == {"openai_direct": MARKER_KEY}
    problem = desk.card("openai_direct").form.key.problem
    assert "left as it is" in problem.label.text()


def test_a_key_the_keychain_held_back_is_read_again(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"] |= {"connected": True, "key_state": "keychain_missing"}
    desk.open()
    key = desk.card("openai_direct").form.key
    assert desk.card("openai_direct").state_label.text() == "Key missing"
    desk.do(key.retry.click)
    assert "no key of this provider" in key.problem.label.text()
    desk.store.passwords[USER] = MARKER_KEY
    desk.do(key.retry.click)
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}


def with_literal_key(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"]["connected"] = True
    desk.runtime.literal["openai_direct"] = MARKER_KEY


def test_without_a_keychain_a_key_in_the_file_is_not_offered_to_it(desk_without_keychain: Desk) -> None:
    desk = desk_without_keychain
    with_literal_key(desk)
    desk.open()
    key = desk.card("openai_direct").form.key
    assert not key.migrate.isVisibleTo(key)
    assert "once one runs" in key.kept_label.text()
    assert not desk.find(QPushButton, "move-all-keys").isVisibleTo(desk.page)
    assert "Start a keychain" in desk.page.models.literal.label.text()


def test_a_key_that_cannot_move_offers_to_move_again_and_nothing_else(desk: Desk) -> None:
    with_literal_key(desk)
    desk.open()
    desk.store.error = OSError("locked")
    key = desk.card("openai_direct").form.key
    desk.do(key.migrate.click)
    assert key.problem.isVisibleTo(key)
    assert not key.keep.isVisibleTo(key)
    assert desk.runtime.literal == {"openai_direct": MARKER_KEY}
    desk.store.error = None
    desk.do(key.again.click)
    assert desk.store.passwords == {USER: MARKER_KEY}
    assert desk.runtime.literal == {}
    assert not key.problem.isVisibleTo(key)


def test_a_key_in_the_file_can_be_removed_even_without_a_keychain(desk_without_keychain: Desk) -> None:
    desk = desk_without_keychain
    with_literal_key(desk)
    desk.open()
    key = desk.card("openai_direct").form.key
    assert key.remove.isVisibleTo(key)
    desk.do(key.remove.click)
    assert desk.runtime.literal == {}
    assert not key.problem.isVisibleTo(key)
    assert key.field.isVisibleTo(key)


def test_it_is_said_that_another_key_takes_the_one_of_the_file_away(desk: Desk) -> None:
    with_literal_key(desk)
    desk.open()
    card = desk.card("openai_direct")
    key = card.form.key
    cost = "The key in runtime-config.json is deleted when this one is used."
    desk.do(key.replace.click)
    assert cost in key.field.message.text()
    key.input.setText("another")
    desk.store.error = OSError("locked")
    desk.do(key.save.click)
    assert key.keep.isVisibleTo(key)
    assert cost in key.problem.label.text()
    assert desk.runtime.literal == {"openai_direct": MARKER_KEY}
    desk.do(key.cancel.click)
    desk.do(card.connect_button.click)
    question = card.findChild(QWidget, "disconnect-question")
    assert any("deleted from runtime-config.json" in each.text() for each in question.findChildren(QLabel))


def test_an_older_key_that_cannot_be_read_is_a_problem_of_connecting(desk: Desk) -> None:
    desk.open()
    desk.store.error = OSError("locked")
    card = desk.card("openai_direct")
    desk.do(card.connect_button.click)
    assert "locked" in card.problem.label.text()
    assert not card.form.key.problem.isVisibleTo(card)
    desk.store.error = None
    desk.store.passwords[USER] = MARKER_KEY
    desk.do(card.connect_button.click)
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}
    assert not card.problem.isVisibleTo(card)


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.25, 2.0])
def test_eight_models_are_seen_without_scrolling(desk: Desk, qapp: QApplication, scale: float) -> None:
    style.apply(qapp, "light", scale)
    try:
        desk.open()
        card = desk.card("openai_direct")
        card.set_expanded(True)
        text = card.form.models.text
        for count in (3, 5, 8):
            desk.do(lambda count=count: text.setPlainText("\n".join(f"m{each}" for each in range(count))))
            qapp.processEvents()
            assert text.verticalScrollBar().maximum() == 0, count
    finally:
        style.apply(qapp, "light", 1.0)


def test_the_outcome_of_a_test_is_dropped_when_something_else_is_filled_in_by_now(desk: Desk) -> None:
    desk.open()
    card = desk.card("ollama_direct")
    card.set_expanded(True)
    form = card.form
    desk.runtime.test_result |= {"models": ["found"]}
    desk.runtime.on_call = lambda: QTest.keyClicks(form.base_url, "x")
    desk.do(form.test.click)
    assert (form.outcome.isVisible(), form.models.list.count()) == (False, 0)
    assert form.test.isEnabled()
    desk.runtime.on_call = lambda: None
    desk.do(form.test.click)
    assert (form.outcome.isVisible(), form.models.list.count()) == (True, 1)
    QTest.keyClicks(form.key.input, "k")
    assert not form.outcome.isVisible(), "it was about another key"


def test_an_endless_address_is_named_without_its_middle_and_fits(desk: Desk) -> None:
    desk.open()
    card = desk.card("ollama_direct")
    card.set_expanded(True)
    QTest.keyClicks(card.form.base_url, "/" + "x" * 2000 + "/end")
    hint = card.form.address.message
    words = hint.text().replace("\u200b", "")
    assert words.startswith("Requests go to http://localhost:11434/v1/xxx")
    assert words.endswith("xxx/end")
    assert len(words) < 300
    QApplication.processEvents()
    assert hint.minimumSizeHint().width() < 420, "it wraps"


def test_a_key_of_this_session_is_not_said_to_be_in_the_keychain(desk_without_keychain: Desk) -> None:
    desk = desk_without_keychain
    desk.open()
    connect_openai(desk)
    assert desk.card("openai_direct").forget_key.text() == "Also forget its key"


def test_a_keychain_that_opens_later_gives_its_keys_to_the_runtime(desk: Desk) -> None:
    desk.runtime.providers["openai_direct"] |= {"connected": True, "key_state": "keychain_missing"}
    desk.keychain._open_backend = _refuse
    desk.open()
    assert desk.page.models.keychain.isVisible()
    assert desk.card("openai_direct").state_label.text() == "Key missing"
    desk.store.passwords[USER] = MARKER_KEY
    desk.keychain._open_backend = lambda: desk.store
    desk.do(desk.page.models.look_again.click)
    assert not desk.page.models.keychain.isVisible()
    assert desk.runtime.secrets == {"openai_direct": MARKER_KEY}
    assert desk.card("openai_direct").state_label.text() == "Connected"


def test_keys_are_moved_once_however_often_it_is_asked_for(desk: Desk) -> None:
    with_literal_key(desk)
    desk.open()
    button = desk.page.models.move_all
    desk.runtime.on_call = button.click
    desk.do(button.click)
    handed = [path for _, path, _ in desk.runtime.calls if path.endswith("/hand-over")]
    assert len(handed) == 1
    assert not desk.page.models.keychain.isVisible()
    assert desk.store.passwords == {USER: MARKER_KEY}


def _refuse() -> PasswordStore:
    raise KeychainAbsentError("No keychain answers on this computer.")
