"""Adding a provider that is not in the catalogue: any server that speaks one of the four protocols."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit

from holaboss_app.panes.settings.form import (
    KIND_NAMES,
    ProviderDraft,
    check_base_url,
    check_models,
    check_name,
    preview_url,
    provider_id,
)
from holaboss_app.panes.settings.models_editor import ModelsEditor
from holaboss_app.panes.settings.parts import Field, Notice, Picker, column, push_button, row, text_label
from holaboss_client.config import ProviderKind


@dataclass(frozen=True, slots=True)
class NewProvider:
    """A provider that someone filled in and that passed the checks. `key` may be empty."""

    provider_id: str
    name: str
    kind: ProviderKind
    draft: ProviderDraft
    key: str


class CustomProviderForm(QFrame):
    """Emits `add_requested` with a `NewProvider` once everything in it is valid."""

    add_requested = Signal(NewProvider)
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("custom-provider")
        self.setProperty("surface", "card")
        self.setAccessibleName(self.tr("Add a provider"))
        self._taken: frozenset[str] = frozenset()
        self._build_inputs()
        self.problem = Notice(surface="danger")
        self.problem.hide()
        layout = column(self, spacing=16, margins=16)
        layout.addWidget(text_label(self.tr("Add a provider"), "heading"))
        for widget in (self._name_field, self._kind_field, self._address, self._key_field):
            layout.addWidget(widget)
        layout.addWidget(self.models)
        layout.addWidget(self.problem)
        layout.addLayout(self._build_buttons())

    def _build_inputs(self) -> None:
        self.name = QLineEdit()
        self.name.setPlaceholderText(self.tr("For example: Our lab"))
        self._name_field = Field(self.tr("Name"), self.name, name="custom-name")
        self.kind = Picker("custom-kind", self.tr("Protocol"))
        for kind, words in KIND_NAMES.items():
            self.kind.addItem(words, kind)
        self._kind_field = Field(self.tr("Protocol"), self.kind, name="custom-kind")
        self.base_url = QLineEdit()
        self.base_url.setPlaceholderText("https://api.example.com/v1")
        self._address = Field(self.tr("Base URL"), self.base_url, name="custom-base-url")
        self.key = QLineEdit()
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        hint = self.tr("A server on this computer usually needs none.")
        self._key_field = Field(self.tr("API key"), self.key, name="custom-api-key", hint=hint)
        self.models = ModelsEditor()
        self.models.field.editor.setObjectName("custom-models")
        self.models.discover.hide()
        self.name.textEdited.connect(self._show_id)
        self.base_url.textEdited.connect(self._preview)
        self.kind.chosen.connect(self._preview)

    def _build_buttons(self) -> QHBoxLayout:
        self.add = push_button(self.tr("Add and connect"), "add-custom", kind="primary")
        self.add.clicked.connect(self._submit)
        cancel = push_button(self.tr("Cancel"), "cancel-custom", kind="ghost")
        cancel.clicked.connect(self.cancelled)
        buttons = row()
        buttons.addWidget(self.add)
        buttons.addWidget(cancel)
        buttons.addStretch(1)
        return buttons

    def start(self, taken: Collection[str]) -> None:
        """Show an empty form; `taken` holds the ids that are in use."""
        self._taken = frozenset(taken)
        for line in (self.name, self.base_url, self.key):
            line.clear()
        self.models.text.clear()
        for field in (self._name_field, self._address, self._key_field, self.models.field):
            field.show_error(None)
        self._show_id("")
        self._preview()
        self.fail("")
        self.show()
        self.name.setFocus()

    def set_busy(self, busy: bool) -> None:
        self.add.setEnabled(not busy)

    def fail(self, sentence: str) -> None:
        self.problem.say(sentence)

    def _kind(self) -> ProviderKind:
        return self.kind.currentData()

    def _show_id(self, name: str) -> None:
        self._name_field.show_error(None)
        words = self.tr("Its models are called {id}/…").format(id=provider_id(name))
        self._name_field.show_hint(words if provider_id(name) else "")

    def _preview(self) -> None:
        self._address.show_error(None)
        url = preview_url(self._kind(), self.base_url.text())
        self._address.show_hint(self.tr("Requests go to {url}").format(url=url) if url else "")

    def _submit(self) -> None:
        draft = ProviderDraft(self.base_url.text().strip(), self.models.models)
        errors = {
            self._name_field: check_name(self.name.text(), self._taken),
            self._address: check_base_url(draft.base_url),
            self.models.field: check_models(draft.models, slashes=True) or self._no_model(draft),
        }
        for field, error in errors.items():
            field.show_error(error)
        wrong = [field for field, error in errors.items() if error]
        if wrong:
            wrong[0].editor.setFocus()
            return
        name = self.name.text().strip()
        key = self.key.text().strip()
        self.add_requested.emit(NewProvider(provider_id(name), name, self._kind(), draft, key))

    def _no_model(self, draft: ProviderDraft) -> str | None:
        return None if draft.models else self.tr("Write at least one model id.")
