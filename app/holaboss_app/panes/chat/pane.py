"""The chat pane: header, conversation (or what stands in for it), banners, waiting messages and composer.

A view without a will: the presenter tells it what to show and listens to the signals of its parts.
"""

from __future__ import annotations

from PySide6.QtCore import QDir, Qt, QUrl, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QMessageBox,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core.shortcuts import Action, keys
from holaboss_app.panes.chat.banners import Banners
from holaboss_app.panes.chat.composer import Composer
from holaboss_app.panes.chat.drop_target import DropTarget
from holaboss_app.panes.chat.message_field import brings_files, local_files, workspace_paths
from holaboss_app.panes.chat.plan_strip import PlanStrip
from holaboss_app.panes.chat.queue_rail import QueueRail
from holaboss_app.panes.chat.request_dock import RequestDock
from holaboss_app.panes.chat.session_header import SessionHeader
from holaboss_app.panes.chat.states import EmptyState, NoWorkspace, Skeleton, Trouble
from holaboss_app.panes.chat.transcript_view import TranscriptView
from holaboss_app.theme import tokens as t
from holaboss_app.theme.focus import follow_layout
from holaboss_app.theme.style import scaled, theme_notifier

_MARGIN = 24
_LEAST_HEIGHT = 24


class ChatPane(QWidget):
    link_confirmed = Signal(QUrl)
    files_offered = Signal(list)
    """Names of files of this computer that were chosen, dropped or pasted."""
    paths_offered = Signal(list)
    """Paths in the workspace that were dragged here from the file tree."""
    picture_offered = Signal(QImage)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chat-pane")
        # Made first, so that it is where the keyboard goes when the pane appears.
        self.composer = Composer(self)
        self.header = SessionHeader(self)
        self.transcript = TranscriptView(self)
        self.empty = EmptyState(self)
        self.trouble = Trouble(self)
        self._skeleton = Skeleton(self)
        self._no_workspace = NoWorkspace(self)
        self.banners = Banners(self)
        self.rail = QueueRail(self)
        self.plan = PlanStrip(self)
        self.requests = RequestDock(self)
        self._stack = QStackedWidget(self)
        for page in (self._no_workspace, self._skeleton, self.transcript, self.empty, self.trouble):
            self._stack.addWidget(page)
        # What stands below may need the room: the tallest of the pages must not decide how much of it there is.
        self._stack.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self._stack.setMinimumHeight(_LEAST_HEIGHT)
        self._line = QFrame(self)
        self._line.setProperty("surface", "divider")
        self._line.setFixedHeight(1)
        self._bottom = QWidget(self)
        low = QVBoxLayout(self._bottom)
        low.setSpacing(8)
        for widget in (self.banners, self.plan, self.requests, self.rail, self.composer):
            low.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._line)
        column.addWidget(self._stack, 1)
        column.addWidget(self._bottom)
        self._drop_target = DropTarget(self)
        self._folder = ""
        self.setAcceptDrops(True)
        self.setFocusProxy(self.composer)
        self.composer.attach_requested.connect(self._choose_files)
        self.composer.field.files_pasted.connect(self.files_offered)
        self.composer.field.picture_pasted.connect(self.picture_offered)
        attach = QShortcut(QKeySequence(keys(Action.ATTACH)), self)
        attach.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        attach.activated.connect(self._choose_files)
        follow_layout(self.header, self.transcript, self._bottom)
        self.transcript.left.connect(self.composer.field.setFocus)
        self.transcript.link_activated.connect(self._ask_about_link)
        self.composer.picker.effective_changed.connect(self.empty.set_model)
        theme_notifier().theme_changed.connect(self._align)
        self._align()

    def show_nothing(self) -> None:
        """No workspace is chosen."""
        self._show(self._no_workspace, composer=False)

    def show_loading(self) -> None:
        self._show(self._skeleton)

    def show_empty(self, workspace: str) -> None:
        self.empty.describe(workspace)
        self._show(self.empty)

    def show_conversation(self) -> None:
        self._show(self.transcript)

    def show_trouble(self, reason: str) -> None:
        self.trouble.describe(reason)
        self._show(self.trouble)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._align()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Whoever comes into the conversation from outside begins with what is in sight."""
        moved = super().focusNextPrevChild(forward)
        focus = self.window().focusWidget()
        if focus is not None and self.transcript.isAncestorOf(focus):  # pyright: ignore[reportUnnecessaryComparison]
            self.transcript.enter(forward=forward)
        return moved

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._bottom.isVisibleTo(self) and brings_files(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self._drop_target.cover()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop_target.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop_target.hide()
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if paths := workspace_paths(event.mimeData()):
            self.paths_offered.emit(paths)
        elif files := local_files(event.mimeData()):
            self.files_offered.emit(files)
        self.composer.field.setFocus()

    def _choose_files(self) -> None:
        if not self._bottom.isVisibleTo(self):
            return
        dialog = QFileDialog(self, self.tr("Attach files"), self._folder or QDir.homePath())
        dialog.setObjectName("choose-files")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.files_offered.emit)
        dialog.directoryEntered.connect(self._remember_folder)
        dialog.finished.connect(self.composer.field.setFocus)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _remember_folder(self, folder: str) -> None:
        self._folder = folder

    def _show(self, page: QWidget, *, composer: bool = True) -> None:
        self._stack.setCurrentWidget(page)
        self._bottom.setVisible(composer)
        self.header.setVisible(composer)
        self._line.setVisible(composer)

    def _align(self) -> None:
        """The composer is as wide as the column of text above it, and straight below it."""
        side = max(scaled(_MARGIN), (self.width() - scaled(t.MEASURE)) // 2)
        # The frame of the composer stands a little outside the text, so that texts are aligned and not
        # frames.
        side = max(12, side - 12)
        layout = self._bottom.layout()
        if layout is not None:
            layout.setContentsMargins(side, 6, side, 14)
        self.requests.limit(self.height() // 2)

    def _ask_about_link(self, url: QUrl) -> None:
        """Say where a link really goes before anything is opened."""
        box = QMessageBox(self)
        box.setObjectName("confirm-link")
        box.setWindowTitle(self.tr("Open a link"))
        where = url.host() or url.path()
        box.setText(self.tr("Open %s in your browser?").replace("%s", where))
        box.setInformativeText(url.toDisplayString())
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.accepted.connect(lambda: self.link_confirmed.emit(url))
        box.finished.connect(box.deleteLater)
        box.open()
