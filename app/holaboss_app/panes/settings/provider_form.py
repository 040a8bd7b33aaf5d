"""What a provider card shows when it is open: address, key, models, the test, the state of the autosave."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from holaboss_app.panes.settings.form import (
    ProviderDraft,
    check_base_url,
    check_models,
    is_loopback,
    preview_url,
    slashes_allowed,
)
from holaboss_app.panes.settings.key_field import KeyEntry, KeyField, KeyPlace
from holaboss_app.panes.settings.models_editor import ModelsEditor
from holaboss_app.panes.settings.outcome import Outcome
from holaboss_app.panes.settings.parts import Field, column, push_button, row, set_role, text_label
from holaboss_app.panes.settings.text import shortened
from holaboss_app.theme.focus import set_waiting
from holaboss_client.config import ProviderTest, ProviderView

AUTOSAVE_MS = 800


class SaveState(Enum):
    IDLE = "idle"
    SAVING = "saving"
    SAVED = "saved"
    FAILED = "failed"


class ProviderForm(QWidget):
    """Edits a draft. `save_requested` fires 800 ms after the last edit of a connected provider, if valid.

    A save that failed stays failed until the next edit or a retry; the draft is never thrown away.
    """

    save_requested = Signal(ProviderDraft)
    test_requested = Signal()

    def __init__(self, view: ProviderView) -> None:
        super().__init__()
        self._view = view
        self._base = ProviderDraft.of(view)
        self.base_url = QLineEdit()
        self.address = Field(self.tr("Base URL"), self.base_url, name="base-url")
        self.key = KeyField()
        self.models = ModelsEditor()
        layout = column(self, spacing=16)
        for part in (self.address, self.key, self.models):
            layout.addWidget(part)
        self._outcome = Outcome()
        self.outcome = self._outcome.label
        layout.addWidget(self._outcome)
        layout.addLayout(self._build_foot())
        self._tried: tuple[ProviderDraft, str] | None = None
        self.autosave = QTimer(self, singleShot=True, interval=AUTOSAVE_MS)
        self.autosave.timeout.connect(self.save_now)
        self.base_url.textEdited.connect(self._edited)
        self.models.edited.connect(self._edited)
        self.key.input.textEdited.connect(self._forget_outcome)
        self.models.discovery_requested.connect(self.test_requested)
        self._fill(self._base)
        self.set_state(SaveState.IDLE)

    def _build_foot(self) -> QHBoxLayout:
        self.test = push_button(self.tr("Test connection"), "test")
        self.test.clicked.connect(self.test_requested)
        self.state_label = text_label("", "small")
        self.state_label.setObjectName("save-state")
        self.retry = push_button(self.tr("Retry"), "retry-save", kind="link")
        self.retry.clicked.connect(self.save_now)
        self.revert = push_button(self.tr("Revert"), "revert", kind="link")
        self.revert.clicked.connect(self._revert)
        line = row()
        for widget in (self.test, self.state_label, self.retry, self.revert):
            line.addWidget(widget)
        return line

    # What the card and the presenter read

    @property
    def draft(self) -> ProviderDraft:
        return ProviderDraft(self.base_url.text().strip(), self.models.models)

    @property
    def dirty(self) -> bool:
        """Something typed is not stored yet (the key apart)."""
        return self.draft != self._base

    @property
    def view(self) -> ProviderView:
        return self._view

    def check(self) -> bool:
        """Show what is wrong with the draft; True when nothing is."""
        draft = self.draft
        address = check_base_url(draft.base_url)
        models = check_models(draft.models, slashes=slashes_allowed(self._view, draft.base_url))
        self.address.show_error(address)
        self.models.field.show_error(models)
        return address is None and models is None

    # What the presenter tells

    def show_view(self, view: ProviderView, place: KeyPlace, entry: KeyEntry) -> None:
        """Take over what is stored. A field with edits of its own is left alone."""
        was_dirty, was_connected = self.dirty, self._view.connected
        self._view, self._base = view, ProviderDraft.of(view)
        if not was_dirty:
            self._fill(self._base)
        elif view.connected and not was_connected:
            self.autosave.start()
        self.key.show_view(view, place, entry)
        self._preview()

    def set_state(self, state: SaveState, sentence: str = "") -> None:
        self.state = state
        words = {SaveState.SAVING: self.tr("Saving…"), SaveState.SAVED: self.tr("Saved")}
        self.state_label.setText(sentence or words.get(state, ""))
        set_role(self.state_label, "danger" if state is SaveState.FAILED else "small")
        self.retry.setVisible(state is SaveState.FAILED)
        self.revert.setVisible(state is SaveState.FAILED)

    def saved(self, draft: ProviderDraft) -> None:
        """`draft` is stored. What was typed meanwhile is still to be saved."""
        if self.draft == draft:
            self._fill(self._base)
            self.set_state(SaveState.SAVED)

    def set_testing(self) -> None:
        """What is filled in now is being tried."""
        self._tried = (self.draft, self.key.key)
        set_waiting(self.test, True)
        self._outcome.show_asking()

    def show_test(self, result: ProviderTest) -> None:
        """The outcome in words, and the models the provider lists. Dropped when something else is filled in by now."""
        if self._end_test():
            self._outcome.show_result(result)
            self.models.offer(result.models)

    def test_failed(self, sentence: str) -> None:
        if self._end_test():
            self._outcome.show_failure(sentence)

    def save_now(self) -> None:
        """Save at once instead of after the pause."""
        self.autosave.stop()
        if self._view.connected and self.dirty and self.check():
            self.save_requested.emit(self.draft)

    def needs_key(self) -> bool:
        """True when nothing can be connected without a key that is not there."""
        return self._view.key_required and not is_loopback(self.draft.base_url)

    # Inside

    def _edited(self) -> None:
        self.autosave.stop()
        self._forget_outcome()
        self.set_state(SaveState.IDLE)
        self._preview()
        if not self.check():
            self.revert.setVisible(True)
        elif self._view.connected and self.dirty:
            self.autosave.start()

    def _revert(self) -> None:
        self.autosave.stop()
        self._fill(self._base)
        self.check()
        self.set_state(SaveState.IDLE)
        self._preview()
        self.base_url.setFocus()

    def _fill(self, draft: ProviderDraft) -> None:
        if self.base_url.text() != draft.base_url:
            self.base_url.setText(draft.base_url)
        self.models.set_models(draft.models)

    def _preview(self) -> None:
        draft = self.draft
        stored = self._view.connected and draft.base_url == self._base.base_url
        first = draft.models[0] if draft.models else ""
        url = self._view.effective_url if stored else preview_url(self._view.kind, draft.base_url, first)
        self.address.show_hint(self.tr("Requests go to {url}").format(url=shortened(url)) if url else "")

    def _end_test(self) -> bool:
        """True when what was tried is still what is filled in; else nothing is left of it."""
        tried = self._tried == (self.draft, self.key.key)
        self._forget_outcome()
        return tried

    def _forget_outcome(self) -> None:
        """It was about something else."""
        self._tried = None
        set_waiting(self.test, False)
        self._outcome.clear()
