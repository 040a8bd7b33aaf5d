"""What a turn did to files, under its answer: how many, which ones, and taking it back or putting it back."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QMenu, QWidget

from holaboss_app.panes.chat.popup import corner
from holaboss_app.theme.drop_button import DropButton
from holaboss_app.theme.icons import icon
from holaboss_app.theme.menus import rounded
from holaboss_client.undo import ChangedFile, TurnChanges

_LISTED = 12


class ChangesButton(DropButton):
    moved = Signal(bool)
    """Take back (False) or put back (True) what the turn did."""
    file_requested = Signal(str)
    """One of the files is to be shown, by its path."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("changes")
        self._changes: TurnChanges | None = None
        self.clicked.connect(self._open)
        self.hide()

    def show_changes(self, changes: TurnChanges | None) -> None:
        self._changes = changes
        self.setVisible(changes is not None)
        if changes is not None:
            self.setText(summary(changes))
            self.setAccessibleName(summary(changes))

    def _open(self) -> None:
        changes = self._changes
        if changes is None:
            return
        menu = rounded(QMenu(self))
        for file in changes.files[:_LISTED]:
            entry = menu.addAction(icon("file", "text_muted"), file_words(file).replace("&", "&&"))
            entry.setEnabled(file.change != "deleted" or changes.state == "undone")
            entry.triggered.connect(partial(self.file_requested.emit, file.path))
        if (more := changes.file_count - _LISTED) > 0:
            menu.addAction(self.tr("and %n more", "", more)).setEnabled(False)
        menu.addSeparator()
        if changes.state != "undone":
            undo = menu.addAction(icon("refresh", "text_muted"), self.tr("Undo these changes"))
            undo.triggered.connect(lambda: self.moved.emit(False))
        if changes.state != "applied":
            redo = menu.addAction(icon("refresh", "text_muted"), self.tr("Put the changes back"))
            redo.triggered.connect(lambda: self.moved.emit(True))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(corner(self, menu.sizeHint(), above=True))


def summary(changes: TurnChanges) -> str:
    """How much a turn changed, on one line."""
    t = QCoreApplication.translate
    count = changes.file_count
    files = t("Changes", "1 file") if count == 1 else t("Changes", "%1 files").replace("%1", str(count))
    if changes.state == "undone":
        return t("Changes", "%1, taken back").replace("%1", files)
    lines = f"+{changes.added} −{changes.removed}" if changes.added or changes.removed else ""
    return "  ".join(part for part in (files, lines) if part)


def file_words(file: ChangedFile) -> str:
    t = QCoreApplication.translate
    how = {
        "created": t("Changes", "new"),
        "changed": t("Changes", "changed"),
        "deleted": t("Changes", "deleted"),
    }[file.change]
    if file.problem is not None:
        how = t("Changes", "%1, cannot be taken back").replace("%1", how)
    lines = f"  +{file.added} −{file.removed}" if file.added is not None and file.removed is not None else ""
    return f"{file.path}  ({how}){lines}"
