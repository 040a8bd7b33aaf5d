"""Adding a provider that is not in the catalogue: any server that speaks one of the four protocols."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit

from holaboss_app.panes.settings.form import (
    KIND_NAMES,
    LONGEST_NAME,
    ProviderDraft,
    check_base_url,
    check_models,
    check_name,
    free_provider_id,
    preview_url,
)
from holaboss_app.panes.settings.models_editor import ModelsEditor
from holaboss_app.panes.settings.outcome import Outcome
from holaboss_app.panes.settings.parts import Field, Notice, Picker, column, push_button, text_label
from holaboss_app.panes.settings.text import shortened
from holaboss_app.theme.flow import FlowLayout
from holaboss_app.theme.focus import set_waiting
from holaboss_client.config import ProviderKind, ProviderTest


@dataclass(frozen=True, slots=True)
class NewProvider:
    """A provider that someone filled in and that passed the checks. `key` may be empty."""

    provider_id: str
    name: str
    kind: ProviderKind
    draft: ProviderDraft
    key: str


class CustomProviderForm(QFrame):
    """Emits `add_requested` with a `NewProvider` once everything in it is valid, and `test_requested` with one that
    has at least an address: what it answers with fills the list of models."""

    add_requested = Signal(NewProvider)
    test_requested = Signal(NewProvider)
    cancelled = Signal()
    opened = Signal()

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
        for widget in (self.models, self.outcome, self.problem):
            layout.addWidget(widget)
        layout.addLayout(self._build_buttons())

    def _build_inputs(self) -> None:
        self.name = QLineEdit()
        self.name.setMaxLength(LONGEST_NAME)
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
        self.models.discovery_requested.connect(self._try)
        self.outcome = Outcome()
        self._tried: NewProvider | None = None
        self.name.textEdited.connect(self._show_id)
        self.base_url.textEdited.connect(self._preview)
        self.kind.chosen.connect(self._preview)
        self.key.textEdited.connect(self._forget_outcome)

    def _build_buttons(self) -> FlowLayout:
        self.add = push_button(self.tr("Add and connect"), "add-custom", kind="primary")
        self.add.clicked.connect(self._submit)
        cancel = push_button(self.tr("Cancel"), "cancel-custom", kind="ghost")
        cancel.clicked.connect(self.cancelled)
        self.test = push_button(self.tr("Test connection"), "test-custom")
        self.test.clicked.connect(self._try)
        buttons = FlowLayout()
        for button in (self.add, self.test, cancel):
            buttons.addWidget(button)
        return buttons

    def start(self, taken: Collection[str]) -> None:
        """Show an empty form; `taken` holds the ids that are in use."""
        self._taken = frozenset(taken)
        for line in (self.name, self.base_url, self.key):
            line.clear()
        self.models.text.clear()
        self.models.offer([])
        for field in (self._name_field, self._address, self._key_field, self.models.field):
            field.show_error(None)
        self._show_id("")
        self._preview()
        self.fail("")
        self.show()
        self.name.setFocus()
        self.opened.emit()

    def set_busy(self, busy: bool) -> None:
        set_waiting(self.add, busy)

    def set_testing(self, new: NewProvider) -> None:
        """`new` is being tried."""
        self._tried = new
        set_waiting(self.test, True)
        self.outcome.show_asking()

    def show_test(self, new: NewProvider, result: ProviderTest) -> None:
        """What came of trying `new`; dropped when another address or key is filled in by now."""
        if self._tried is new:
            self._forget_outcome()
            self.outcome.show_result(result)
            self.models.offer(result.models)

    def test_failed(self, new: NewProvider, sentence: str) -> None:
        if self._tried is new:
            self._forget_outcome()
            self.outcome.show_failure(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape leaves the form, not the page."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def fail(self, sentence: str) -> None:
        self.problem.say(sentence)

    def _kind(self) -> ProviderKind:
        return self.kind.currentData()

    def _show_id(self, name: str) -> None:
        self._name_field.show_error(None)
        words = self.tr("Its models are called {id}/…").format(id=free_provider_id(name, self._taken))
        self._name_field.show_hint(words if name.strip() else "")

    def _preview(self) -> None:
        self._address.show_error(None)
        self._forget_outcome()
        url = preview_url(self._kind(), self.base_url.text())
        self._address.show_hint(self.tr("Requests go to {url}").format(url=shortened(url)) if url else "")

    def _forget_outcome(self) -> None:
        """It was about something else."""
        self._tried = None
        set_waiting(self.test, False)
        self.outcome.clear()

    def _filled(self) -> NewProvider:
        draft = ProviderDraft(self.base_url.text().strip(), self.models.models)
        name = self.name.text().strip()
        wanted = free_provider_id(name, self._taken)
        return NewProvider(wanted, name, self._kind(), draft, self.key.text().strip())

    def _try(self) -> None:
        error = check_base_url(self.base_url.text())
        self._address.show_error(error)
        if error:
            self.base_url.setFocus()
        else:
            self.test_requested.emit(self._filled())

    def _submit(self) -> None:
        new = self._filled()
        draft = new.draft
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
        self.add_requested.emit(new)

    def _no_model(self, draft: ProviderDraft) -> str | None:
        return None if draft.models else self.tr("Write at least one model id, or find them and tick one.")
