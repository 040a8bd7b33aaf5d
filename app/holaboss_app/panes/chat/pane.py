"""The chat pane: header, conversation (or what stands in for it), banners, waiting messages and composer.

A view without a will: the presenter tells it what to show and listens to the signals of its parts.
"""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QMessageBox, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from holaboss_app.panes.chat.banners import Banners
from holaboss_app.panes.chat.composer import Composer
from holaboss_app.panes.chat.plan_strip import PlanStrip
from holaboss_app.panes.chat.queue_rail import QueueRail
from holaboss_app.panes.chat.request_dock import RequestDock
from holaboss_app.panes.chat.session_header import SessionHeader
from holaboss_app.panes.chat.states import EmptyState, NoWorkspace, Skeleton, Trouble
from holaboss_app.panes.chat.transcript_view import TranscriptView
from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import scaled, theme_notifier

_MARGIN = 24
_LEAST_HEIGHT = 80


class ChatPane(QWidget):
    link_confirmed = Signal(QUrl)

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
        self.setFocusProxy(self.composer)
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
