"""The model picker: groups, default, search, free text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QListWidget, QPushButton, QWidget

from holaboss_app.panes.chat.model_picker import ModelPicker, ModelPopup
from tests.app.chat.fake_runtime import catalogue

Show = Callable[..., None]


class Picker:
    def __init__(self, parent: QWidget) -> None:
        self.button = ModelPicker(parent)
        self.button.set_catalogue(catalogue())
        self.button.show()
        self.changes: list[str | None] = []
        self.button.model_changed.connect(lambda: self.changes.append(self.button.model))

    def open(self) -> None:
        self.button.click()

    @property
    def popup(self) -> ModelPopup:
        return self.button.parentWidget().findChild(ModelPopup)

    @property
    def search(self) -> QLineEdit:
        return self.popup.findChild(QLineEdit)

    @property
    def rows(self) -> list[str]:
        found = self.popup.findChild(QListWidget)
        return [found.item(row).text() for row in range(found.count())]


@pytest.fixture
def picker(show: Show) -> Picker:
    parent = QWidget()
    show(parent, 400, 300)
    return Picker(parent)


def test_models_are_grouped_and_the_default_comes_first(picker: Picker) -> None:
    picker.open()
    assert picker.rows == [
        "Default (gpt-5)",
        "OpenAI",
        "gpt-5",
        "gpt-5-mini",
        "Demo",
        "Demo model (offline, scripted)",
    ]
    assert "gpt-5" in picker.button.text()
    assert picker.button.model is None


def test_keys_alone_choose(picker: Picker) -> None:
    picker.open()
    QTest.keyClick(picker.search, Qt.Key.Key_Down)
    QTest.keyClick(picker.search, Qt.Key.Key_Down)
    QTest.keyClick(picker.search, Qt.Key.Key_Down)
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.changes == ["demo/scripted"]
    assert picker.button.accessibleName() == "Model: Demo model (offline, scripted)"
    assert not picker.popup.isVisible()


def test_searching_narrows_and_free_text_is_taken(picker: Picker) -> None:
    picker.open()
    QTest.keyClicks(picker.search, "mini")
    assert picker.rows == ["OpenAI", "gpt-5-mini", "Use “mini”"]
    picker.search.clear()
    QTest.keyClicks(picker.search, "openai_direct/gpt-6")
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.changes == ["openai_direct/gpt-6"]


def test_the_default_can_be_chosen_again(picker: Picker) -> None:
    picker.button.set_model("demo/scripted")
    picker.open()
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert picker.changes == [None]


def test_the_current_model_is_ticked_and_said(picker: Picker) -> None:
    picker.button.set_model("openai_direct/gpt-5-mini")
    picker.open()
    found = picker.popup.findChild(QListWidget)
    spoken = [found.item(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(found.count())]
    assert [text for text in spoken if text] == ["gpt-5-mini, selected"]


def test_the_demo_model_is_called_what_it_is_also_as_the_default(picker: Picker) -> None:
    said: list[str] = []
    picker.button.effective_changed.connect(said.append)
    demo = {"default_model": "demo/scripted", "default_provider": "demo"}
    picker.button.set_catalogue(catalogue().model_copy(update=demo))
    assert picker.button.accessibleName() == "Model: Demo model (offline, scripted)"
    assert picker.button.model is None
    picker.open()
    assert picker.rows[0] == "Default (demo model)"
    picker.button.set_model("openai_direct/gpt-5")
    assert said == ["demo/scripted", "openai_direct/gpt-5"]


def test_the_list_stays_inside_a_narrow_window(picker: Picker) -> None:
    window = picker.button.window()
    window.resize(260, 420)
    picker.button.move(120, 380)
    picker.open()
    assert window.geometry().contains(picker.popup.geometry())


def test_the_way_to_the_settings(picker: Picker) -> None:
    asked: list[str] = []
    picker.button.settings_requested.connect(asked.append)
    picker.open()
    next(b for b in picker.popup.findChildren(QPushButton) if "Edit" in b.text()).click()
    assert asked == ["models"]
