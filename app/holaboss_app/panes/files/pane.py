"""The file pane: the tree above, the open files below in tabs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.panes.files.cards import Card, icon_button
from holaboss_app.panes.files.editor import FileEditor
from holaboss_app.panes.files.picture import PictureView
from holaboss_app.panes.files.tree_model import FileTreeModel
from holaboss_app.theme.style import scaled, theme_notifier
from holaboss_client.workspaces import FileEntry


class _Tree(QTreeView):
    """Keeps the selected row in view while the first open file takes half of the place."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        row = self.visualRect(self.currentIndex())
        was_in_view = row.isValid() and 0 <= row.top() < event.oldSize().height()
        super().resizeEvent(event)
        if was_in_view:
            self.scrollTo(self.currentIndex())


class FilesPane(QWidget):
    """`entry_activated` carries a `FileEntry` that is no folder, `close_requested` the path of a tab.

    `returned` says that the window got the focus back: files may have changed meanwhile.
    """

    entry_activated = Signal(FileEntry)
    close_requested = Signal(str)
    refresh_requested = Signal()
    returned = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("files-pane")
        self.model = FileTreeModel(self)
        self.tree = self._build_tree()
        self.tabs = self._build_tabs()
        self.problem = Card("files-problem")
        self.problem.add_dismissal("close-files-problem")
        self._empty = QLabel()
        self._empty.setObjectName("files-empty")
        self._empty.setProperty("role", "muted")
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setMargin(16)
        self._top = QStackedWidget()
        self._top.addWidget(self.tree)
        self._top.addWidget(self._empty)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setObjectName("files-splitter")
        self.splitter.addWidget(self._top)
        self.splitter.addWidget(self.tabs)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setSizes([300, 500])
        self._arrange()
        theme_notifier().theme_changed.connect(self._dress)
        self._dress()

    def _arrange(self) -> None:
        title = QLabel(self.tr("Files"))
        title.setProperty("role", "heading")
        self.refresh = icon_button("refresh", "refresh-files", self.tr("Read the files again"))
        self.refresh.clicked.connect(self.refresh_requested)
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 8, 0)
        head.addWidget(title, 1)
        head.addWidget(self.refresh)
        notice = QHBoxLayout()
        notice.setContentsMargins(8, 0, 8, 0)
        notice.addWidget(self.problem)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addLayout(notice)
        layout.addWidget(self.splitter, 1)

    def _build_tree(self) -> QTreeView:
        tree = _Tree()
        tree.setObjectName("file-tree")
        tree.setAccessibleName(self.tr("Files of the workspace"))
        tree.setModel(self.model)
        tree.setHeaderHidden(True)
        tree.setUniformRowHeights(True)
        tree.setExpandsOnDoubleClick(False)
        tree.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        tree.setContentsMargins(4, 0, 4, 0)
        tree.setDragEnabled(True)
        tree.setDragDropMode(QTreeView.DragDropMode.DragOnly)
        tree.clicked.connect(self._clicked)
        tree.activated.connect(self._activated)
        return tree

    def _build_tabs(self) -> QTabWidget:
        tabs = QTabWidget()
        tabs.setObjectName("open-files")
        tabs.setDocumentMode(True)
        tabs.setElideMode(Qt.TextElideMode.ElideMiddle)
        tabs.tabBar().setDrawBase(False)
        for part in (tabs, tabs.tabBar()):
            part.setAccessibleName(self.tr("Open files"))
        tabs.hide()
        return tabs

    # What the presenter tells

    def say(self, sentence: str) -> None:
        """Why something could not be shown; an empty sentence takes it back."""
        self.problem.say(sentence)

    def show_empty(self, sentence: str) -> None:
        """Words instead of the tree; an empty sentence shows the tree."""
        self._empty.setText(sentence)
        self._top.setCurrentIndex(1 if sentence else 0)

    def add_editor(self, editor: FileEditor) -> None:
        self._add_tab(editor, editor.document.path)
        editor.left.connect(self.tree.setFocus)
        editor.dirty_changed.connect(lambda: self._mark(editor))
        self._mark(editor)

    def add_picture(self, view: PictureView) -> None:
        self._add_tab(view, view.path)
        view.left.connect(self.tree.setFocus)

    def show_tab(self, view: FileEditor | PictureView) -> None:
        """Bring an open file to the front, with the keyboard in it."""
        self.tabs.setCurrentWidget(view)
        (view.area if isinstance(view, FileEditor) else view).setFocus()

    def reveal(self, index: QModelIndex) -> None:
        """Open the folders above a row, select it and bring it into view."""
        above = index.parent()
        while above.isValid():
            self.tree.expand(above)
            above = above.parent()
        self.tree.setCurrentIndex(index)
        self.tree.scrollTo(index)

    def remove_tab(self, view: FileEditor | PictureView) -> None:
        self.tabs.removeTab(self.tabs.indexOf(view))
        view.deleteLater()
        self.tabs.setVisible(self.tabs.count() > 0)

    # Inside

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.returned.emit()

    def _add_tab(self, view: QWidget, path: str) -> None:
        name = path.rpartition("/")[2]
        index = self.tabs.addTab(view, name)
        self.tabs.setTabToolTip(index, path)
        close = icon_button("x", "close-file", self.tr("Close {name}").format(name=name))
        close.setMinimumSize(18, 18)
        close.clicked.connect(lambda: self.close_requested.emit(path))
        self.tabs.tabBar().setTabButton(index, QTabBar.ButtonPosition.RightSide, close)
        self.tabs.show()

    def _mark(self, editor: FileEditor) -> None:
        """A dot before the name of what is not saved."""
        index = self.tabs.indexOf(editor)
        if index >= 0:
            name = editor.document.path.rpartition("/")[2]
            self.tabs.setTabText(index, f"● {name}" if editor.dirty else name)

    def _clicked(self, index: QModelIndex) -> None:
        """One click opens and closes a folder; a file takes a double click or Enter, so that looking is free."""
        if self.model.entry(index).kind == "folder":
            self.tree.setExpanded(index, not self.tree.isExpanded(index))

    def _activated(self, index: QModelIndex) -> None:
        entry = self.model.entry(index)
        if entry.kind != "folder":
            self.entry_activated.emit(entry)

    def _dress(self) -> None:
        self.tree.setIndentation(scaled(16))
        self.tree.setIconSize(QSize(scaled(16), scaled(16)))
