"""A provider that is not in the catalogue: tried before it is stored, its id, a keychain that refuses its key."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from holaboss_app.panes.settings.custom_provider import CustomProviderForm
from holaboss_app.panes.settings.form import LONGEST_ID, check_name, free_provider_id, provider_id
from tests.app.settings.conftest import Desk
from tests.app.settings.fake_runtime import MARKER_KEY


def open_form(desk: Desk) -> CustomProviderForm:
    desk.open()
    desk.do(desk.page.models.add.click)
    form = desk.page.models.custom
    form.name.setText("Our Lab")
    form.base_url.setText("https://llm.lab.example/v1")
    form.key.setText(MARKER_KEY)
    return form


def test_models_are_found_before_anything_is_stored(desk: Desk) -> None:
    form = open_form(desk)
    desk.runtime.test_result |= {"models": ["large", "small"]}
    desk.do(form.models.discover.click)
    assert desk.runtime.bodies("POST", "/our_lab/test") == [
        {"kind": "openai_compatible", "base_url": "https://llm.lab.example/v1", "api_key": MARKER_KEY}
    ]
    assert desk.runtime.bodies("PUT", "") == []
    assert form.outcome.label.text() == "The provider answers. (41 ms)"
    form.models.list.item(1).setCheckState(form.models.list.item(1).checkState().Checked)
    desk.do(form.add.click)
    assert desk.runtime.bodies("PUT", "/providers/our_lab")[0]["models"] == ["small"]


def test_an_address_is_needed_to_try(desk: Desk) -> None:
    form = open_form(desk)
    form.base_url.clear()
    desk.do(form.test.click)
    assert desk.runtime.bodies("POST", "/test") == []
    assert "Enter the address" in form._address.message.text()


def test_an_answer_about_another_key_is_dropped(desk: Desk) -> None:
    form = open_form(desk)
    desk.runtime.test_result |= {"models": ["large"]}
    desk.runtime.on_call = lambda: QTest.keyClicks(form.key, "x")
    desk.do(form.test.click)
    assert not form.outcome.isVisible()
    assert form.models.list.count() == 0
    assert form.test.isEnabled()


def test_a_runtime_that_is_away_is_said_in_the_form(desk: Desk) -> None:
    form = open_form(desk)
    desk.runtime.down = True
    desk.do(form.test.click)
    assert "does not answer" in form.outcome.label.text()


def test_a_key_that_the_keychain_refuses_is_at_its_card_and_can_be_used_for_the_session(desk: Desk) -> None:
    form = open_form(desk)
    form.models.text.setPlainText("large")
    desk.store.error = OSError("locked")
    desk.do(form.add.click)
    QApplication.processEvents()
    card = desk.card("our_lab")
    key = card.form.key
    assert not form.isVisible()
    assert (card.expanded, key.input.text(), key.keep.isVisible()) == (True, MARKER_KEY, True)
    assert "locked" in key.problem.label.text()
    assert desk.runtime.secrets == {}
    desk.do(key.keep.click)
    assert desk.runtime.secrets == {"our_lab": MARKER_KEY}
    assert desk.store.passwords == {}
    assert key.kept_label.text() == "Kept for this session only"


@pytest.mark.parametrize(
    ("name", "taken", "wanted"),
    [
        ("My Büro!", (), "my_buro"),
        ("研究室", (), "custom"),
        ("研究室", ("custom", "custom_2"), "custom_3"),
        ("x" * 100, (), "x" * LONGEST_ID),
    ],
)
def test_every_name_gives_an_id_that_the_runtime_takes(
    name: str, taken: tuple[str, ...], wanted: str
) -> None:
    assert free_provider_id(name, taken) == wanted
    assert check_name(name, {*taken, provider_id("研究室")}) is None


def test_a_name_without_any_letter_is_refused() -> None:
    assert check_name("!!!", ()) == "Use at least one letter or digit in the name."
