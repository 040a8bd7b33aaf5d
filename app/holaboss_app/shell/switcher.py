"""The workspace switcher: a button with the open workspace's name, and a popover to find, make, rename,
delete."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QMenu, QWidget

from holaboss_app.core.shortcuts import Action, keys
from holaboss_app.shell.look import IconButton, button, label, row, tip
from holaboss_app.shell.popover import Popover
from holaboss_app.theme.drop_button import DropButton
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.menus import rounded
from holaboss_app.theme.style import scaled, theme_notifier

if TYPE_CHECKING:
    from holaboss_client.workspaces import Workspace

ID_ROLE = Qt.ItemDataRole.UserRole
MOST_ROWS = 8


class WorkspaceSwitcher(DropButton):
    """Emits what the person asks for; shows what it is given."""

    open_requested = Signal(str)
    create_requested = Signal()
    rename_requested = Signal(str)
    delete_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("workspace-switcher")
        self.setIcon(icon("folder", "text_muted"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._items: list[Workspace] = []
        self._current: Workspace | None = None
        self.clicked.connect(self.open_popover)
        theme_notifier().theme_changed.connect(self._fit)
        self._fit()
        self.show_workspaces([], None)

    def show_workspaces(self, items: list[Workspace], current: Workspace | None) -> None:
        self._items, self._current = items, current
        name = current.name if current is not None else self.tr("No workspace")
        missing = current is not None and current.folder_state == "missing"
        self.setIcon(icon("folder-missing" if missing else "folder", "danger" if missing else "text_muted"))
        elided = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, scaled(280))
        self.setText(elided)
        hint = self.tr("Switch workspace ({keys})").format(keys=keys(Action.SWITCH_WORKSPACE))
        self.setToolTip(hint if elided == name else tip(name, hint))
        self.setAccessibleName(self.tr("Workspace: {name}").format(name=name))

    def _fit(self) -> None:
        self.setIconSize(QSize(scaled(16), scaled(16)))

    def open_popover(self) -> None:
        popover = WorkspacePopover(self._items, self._current, self)
        popover.opened.connect(self.open_requested)
        popover.created.connect(self.create_requested)
        popover.renamed.connect(self.rename_requested)
        popover.deleted.connect(self.delete_requested)
        popover.move(self.mapToGlobal(QPoint(0, self.height() + 4)))
        popover.show()


class WorkspacePopover(Popover):
    """Type to filter, arrows and Enter to open, F2 to rename, Delete to delete, Escape to leave."""

    opened = Signal(str)
    created = Signal()
    renamed = Signal(str)
    deleted = Signal(str)

    def __init__(self, items: list[Workspace], current: Workspace | None, parent: QWidget) -> None:
        super().__init__(parent, "workspace-popover", 320)
        self._items, self._current = items, current
        self._search = QLineEdit()
        self._search.setObjectName("workspace-search")
        self._search.setPlaceholderText(self.tr("Find a workspace"))
        self._search.setAccessibleName(self.tr("Find a workspace"))
        self._search.textChanged.connect(self._fill)
        self._search.returnPressed.connect(self._open_current)
        self._search.installEventFilter(self)
        self._list = QListWidget()
        self._list.setObjectName("workspace-list")
        self._list.setProperty("ring", "true")
        self._list.setAccessibleName(self.tr("Workspaces"))
        self._list.itemActivated.connect(self._open_item)
        self._list.itemClicked.connect(self._open_item)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._nothing = label("", "muted")
        self._nothing.setContentsMargins(8, 8, 8, 8)
        create = button(
            self.tr("New workspace…"),
            "workspace-new",
            partial(self._leave, self.created),
            kind="ghost",
            icon_name="plus",
        )
        for widget in (self._search, self._nothing, self._list, create):
            self.content.addWidget(widget)
        self._fill()
        self._search.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrow keys in the search field move through the list."""
        if watched is self._search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None and self._list.count():
                self._list.setCurrentRow((self._list.currentRow() + step) % self._list.count())
                return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        signal = {Qt.Key.Key_F2: self.renamed, Qt.Key.Key_Delete: self.deleted}.get(Qt.Key(event.key()))
        item = self._list.currentItem()
        if signal is not None and self._list.hasFocus() and self._list.currentRow() >= 0:
            self._leave(signal, str(item.data(ID_ROLE)))
            return
        super().keyPressEvent(event)

    def _fill(self) -> None:
        wanted = self._search.text().strip().casefold()
        shown = [item for item in self._items if wanted in item.name.casefold()]
        self._list.clear()
        for workspace in shown:
            self._add(workspace)
        nothing = self.tr("No workspace matches.") if self._items else self.tr("There is no workspace yet.")
        self._nothing.setText(nothing)
        self._nothing.setVisible(not shown)
        self._list.setVisible(bool(shown))
        self._list.setFixedHeight(self._row_height() * min(len(shown), MOST_ROWS) + 4)
        ids = [workspace.id for workspace in shown]
        self._list.setCurrentRow(
            ids.index(self._current.id) if self._current and self._current.id in ids else 0
        )
        self.adjustSize()

    def _add(self, workspace: Workspace) -> None:
        item = QListWidgetItem(self._list)
        item.setData(ID_ROLE, workspace.id)
        item.setSizeHint(QSize(0, self._row_height()))
        missing = workspace.folder_state == "missing"
        spoken = self.tr("{name}, folder missing").format(name=workspace.name) if missing else workspace.name
        item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
        self._list.setItemWidget(item, self._row(workspace, missing=missing))

    def _row(self, workspace: Workspace, *, missing: bool) -> QWidget:
        line = QWidget()
        layout = row(line, spacing=8)
        layout.setContentsMargins(8, 0, 2, 0)
        mark = label("")
        name = "check" if self._current is not None and workspace.id == self._current.id else "folder"
        token = "accent" if name == "check" else "text_muted"
        if missing:
            name, token = "folder-missing", "danger"
        mark.setPixmap(icon_pixmap(name, scaled(16), token=token, ratio=self.devicePixelRatioF()))
        layout.addWidget(mark)
        text = label("")
        room = scaled(110 if missing else 210)
        text.setText(text.fontMetrics().elidedText(workspace.name, Qt.TextElideMode.ElideRight, room))
        if text.text() != workspace.name:
            line.setToolTip(tip(workspace.name))
        layout.addWidget(text, 1)
        if missing:
            where = self.tr("Its folder is missing: {path}").format(path=workspace.workspace_path)
            line.setToolTip(tip(workspace.name, where))
            layout.addWidget(label(self.tr("folder missing"), "danger"))
        more = IconButton(
            f"workspace-more-{workspace.id}",
            "more",
            self.tr("Rename or delete {name}").format(name=workspace.name),
            partial(self._show_menu, workspace.id, line),
        )
        layout.addWidget(more)
        return line

    def _show_menu(self, workspace_id: str, line: QWidget) -> None:
        menu = rounded(QMenu(self))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(icon("pencil"), self.tr("Rename…"), partial(self._leave, self.renamed, workspace_id))
        menu.addAction(icon("trash"), self.tr("Delete…"), partial(self._leave, self.deleted, workspace_id))
        menu.popup(line.mapToGlobal(QPoint(line.width() - 40, line.height())))

    def _row_height(self) -> int:
        return scaled(34)

    def _open_current(self) -> None:
        if self._list.currentRow() >= 0:
            self._open_item(self._list.currentItem())

    def _open_item(self, item: QListWidgetItem) -> None:
        self._leave(self.opened, str(item.data(ID_ROLE)))

    def _leave(self, signal: SignalInstance, *values: str) -> None:
        self.close()
        signal.emit(*values)
