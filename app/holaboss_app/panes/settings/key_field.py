"""The API key of one provider: entering it, and where it is kept. A stored key is never shown again."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from holaboss_app.panes.settings.parts import Field, IconLabel, Notice, column, push_button, row, text_label
from holaboss_app.theme.flow import FlowLayout
from holaboss_app.theme.focus import set_waiting
from holaboss_client.config import KeyState, ProviderView

KeyPlace = KeyState | Literal["session"]
"""Where a key is; `session` is a key that only this run of the program knows."""


class KeyEntry(Enum):
    """What the keychain allows for a key that is entered now."""

    KEYCHAIN = "keychain"
    SESSION = "session"


class KeyStep(Enum):
    """What was being done with a key when it failed, and is done once more by Try again."""

    SAVE = "save"
    KEEP = "keep"
    REMOVE = "remove"
    MIGRATE = "migrate"
    READ = "read"


class KeyField(QWidget):
    """Either an input with a save button, or one line that says where the key is, with what can be done."""

    save_requested = Signal(str)
    keep_requested = Signal(str)
    """Use the key for this session only."""
    remove_requested = Signal()
    migrate_requested = Signal()
    retry_requested = Signal()
    """Read the key from the keychain again."""

    def __init__(self) -> None:
        super().__init__()
        self._place: KeyPlace = "none"
        self._entry = KeyEntry.KEYCHAIN
        self._replacing = False
        self._connected = False
        self._optional = False
        self._key_url = ""
        self._failed = KeyStep.SAVE
        self.input = QLineEdit()
        self.input.setEchoMode(QLineEdit.EchoMode.Password)
        self.field = Field(self.tr("API key"), self.input, name="api-key")
        self._kept = self._build_kept()
        self._build_entry()
        self.problem = self._build_problem()
        layout = column(self, spacing=6)
        layout.addWidget(self.field)
        layout.addWidget(self._kept)
        layout.addWidget(self.problem)
        self.input.textChanged.connect(self._typed)
        self.input.returnPressed.connect(self._save)
        self._arrange()

    def _build_entry(self) -> None:
        self.link = push_button(self.tr("Get a key…"), "get-key", kind="link")
        self.link.clicked.connect(self._open_key_page)
        self.field.head.addWidget(self.link)
        self.save = push_button("", "save-key")
        self.save.clicked.connect(self._save)
        self.cancel = push_button(self.tr("Cancel"), "cancel-key", kind="ghost")
        self.cancel.clicked.connect(self._cancel)
        buttons = row()
        buttons.addWidget(self.save)
        buttons.addWidget(self.cancel)
        buttons.addStretch(1)
        self.field.rows.addLayout(buttons)

    def _build_kept(self) -> QWidget:
        kept = QWidget()
        layout = column(kept, spacing=4)
        layout.addWidget(text_label(self.tr("API key"), wrap=False))
        self._kept_icon = IconLabel("key", "success")
        self.kept_label = text_label()
        self.kept_label.setObjectName("key-state")
        self.migrate = push_button(self.tr("Move to keychain"), "migrate-key")
        self.retry = push_button(self.tr("Read again"), "retry-key")
        self.replace = push_button(self.tr("Replace"), "replace-key")
        self.remove = push_button(self.tr("Remove"), "remove-key", kind="danger")
        line, buttons = row(), FlowLayout()
        line.addWidget(self._kept_icon)
        line.addWidget(self.kept_label, 1)
        for button in (self.migrate, self.retry, self.replace, self.remove):
            buttons.addWidget(button)
        layout.addLayout(line)
        layout.addLayout(buttons)
        self.migrate.clicked.connect(self.migrate_requested)
        self.retry.clicked.connect(self.retry_requested)
        self.replace.clicked.connect(self._replace)
        self.remove.clicked.connect(self.remove_requested)
        return kept

    def _build_problem(self) -> Notice:
        notice = Notice()
        notice.setObjectName("key-problem")
        keep = push_button(self.tr("Use for this session only"), "keep-key-for-session")
        self.keep = notice.add_button(keep)
        self.keep.clicked.connect(lambda: self.keep_requested.emit(self.key))
        self.again = notice.add_button(push_button(self.tr("Try again"), "key-again", kind="ghost"))
        self.again.clicked.connect(self._try_again)
        notice.hide()
        return notice

    @property
    def key(self) -> str:
        """What is typed in and not stored yet."""
        return self.input.text().strip()

    def show_view(self, view: ProviderView, place: KeyPlace, entry: KeyEntry) -> None:
        """Take over where the key is. What is being typed stays."""
        self._entry = entry
        self._connected = view.connected
        self._key_url = view.key_url or ""
        if place != self._place:
            # A key that is being typed stays in sight, whatever happens to the stored one.
            self._replacing = bool(self.key)
            if not self.key:
                self.problem.say("")  # it was about the place where the key is no more
        self._place = place
        self._optional = not view.key_required
        self._arrange()

    def stored(self) -> None:
        """The typed key has reached its place: forget it here."""
        self.input.clear()
        self._replacing = False
        self.problem.say("")
        self._arrange()

    def failed(self, step: KeyStep, sentence: str) -> None:
        """Say why, and offer `step` again. A typed key stays and can be used for this session instead."""
        self._failed = step
        can_keep = step is KeyStep.SAVE and bool(self.key)
        self.keep.setVisible(can_keep)
        self.problem.say(f"{sentence} {self._cost()}".strip() if can_keep else sentence)

    def take_back(self, key: str, sentence: str) -> None:
        """A key that was typed elsewhere could not be stored: it is here now, with the reason."""
        self._replacing = self._place != "none"
        self.input.setText(key)
        self.failed(KeyStep.SAVE, sentence)
        self.input.setFocus()

    def ask(self, sentence: str) -> None:
        """Point out that a key is missing and put the caret there."""
        self.field.show_error(sentence)
        self.input.setFocus()

    def set_running(self, running: bool) -> None:
        """While a key is on its way its buttons wait."""
        buttons = (self.save, self.migrate, self.retry, self.replace, self.remove, self.keep, self.again)
        for button in buttons:
            set_waiting(button, running)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape gives up replacing the key; otherwise it is the page's."""
        if event.key() == Qt.Key.Key_Escape and self._replacing:
            self._cancel()
        else:
            super().keyPressEvent(event)

    def _arrange(self) -> None:
        entering = self._place == "none" or self._replacing
        self.field.setVisible(entering)
        self._kept.setVisible(not entering)
        self.link.setVisible(bool(self._key_url))
        self.cancel.setVisible(self._replacing)
        self.save.setVisible(bool(self.key) and (self._connected or self._replacing))
        session = self._entry is KeyEntry.SESSION
        self.save.setText(self.tr("Use for this session") if session else self.tr("Save in keychain"))
        self.input.setPlaceholderText(self.tr("Not needed on this computer") if self._optional else "")
        self.field.show_hint(self._hint())
        self.kept_label.setText(self._kept_words())
        good = self._place in {"keychain", "environment"}
        self._kept_icon.show_icon("key" if good else "alert", "success" if good else "warning")
        self.migrate.setVisible(self._place == "literal" and not session)
        self.retry.setVisible(self._place == "keychain_missing")
        self.replace.setVisible(self._place != "environment")
        self.remove.setVisible(self._place in {"keychain", "keychain_missing", "session", "literal"})

    def _kept_words(self) -> str:
        words = _sentences(self)[self._place]
        if self._place == "literal" and self._entry is KeyEntry.SESSION:
            return self.tr("{words}. It can move to a keychain once one runs.").format(words=words)
        return words

    def _hint(self) -> str:
        where = self.tr("Goes into the keychain of this computer, never into a file.")
        if self._entry is KeyEntry.SESSION:
            where = self.tr("There is no usable keychain: the key is forgotten when Holaboss quits.")
        return f"{where} {self._cost()}".strip()

    def _cost(self) -> str:
        """What else happens when a key is entered: the runtime then takes none from its file any more."""
        if self._place != "literal":
            return ""
        return self.tr("The key in runtime-config.json is deleted when this one is used.")

    def _typed(self) -> None:
        self.field.show_error(None)
        self.problem.say("")
        self._arrange()

    def _save(self) -> None:
        if not self.key or not (self._connected or self._replacing):
            return
        keep = self._entry is KeyEntry.SESSION
        (self.keep_requested if keep else self.save_requested).emit(self.key)

    def _try_again(self) -> None:
        match self._failed:
            case KeyStep.SAVE:
                self._save()
            case KeyStep.KEEP:
                self.keep_requested.emit(self.key)
            case KeyStep.REMOVE:
                self.remove_requested.emit()
            case KeyStep.MIGRATE:
                self.migrate_requested.emit()
            case KeyStep.READ:
                self.retry_requested.emit()

    def _replace(self) -> None:
        self._replacing = True
        self.problem.say("")
        self._arrange()
        self.input.setFocus()

    def _cancel(self) -> None:
        self.stored()
        self.replace.setFocus()

    def _open_key_page(self) -> None:
        QDesktopServices.openUrl(self._key_url)


def _sentences(widget: QWidget) -> dict[str, str]:
    return {
        "none": "",
        "keychain": widget.tr("Saved in the keychain"),
        "session": widget.tr("Kept for this session only"),
        "keychain_missing": widget.tr("The keychain did not give the key out"),
        "environment": widget.tr("Taken from the environment of the runtime"),
        "literal": widget.tr("Written in plain text in runtime-config.json"),
    }
