"""What the window shows while there is no runtime: that it is being prepared, or why it is not there and
what helps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QScrollArea,
    QStackedLayout,
    QWidget,
)

from holaboss_app.shell.look import button, column, frame, label, row
from holaboss_app.theme.icons import app_icon, icon
from holaboss_app.theme.style import mono_font, scaled, theme_notifier
from holaboss_app.theme.tokens import SMALL_POINTS

SLOW_AFTER_MS = 10_000
CARD_WIDTH, NOTE_WIDTH = 640, 440


@dataclass(frozen=True, slots=True)
class Failure:
    """`details` are technical lines, for the fold and the clipboard; `folder_action` names the way to
    `folder`."""

    title: str
    reason: str
    details: str = ""
    folder_action: str = ""
    folder: Path | None = None


class BootPage(QWidget):
    """Either preparing or failed; both have a way out."""

    restart_requested = Signal()
    open_log_requested = Signal()
    open_folder_requested = Signal(Path)
    quit_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("boot-page")
        self._folder: Path | None = None
        self._faces = QStackedLayout(self)
        self._elapsed = QElapsedTimer()
        self._ticks = QTimer(self, interval=1_000)
        self._ticks.timeout.connect(self._tick)
        self._faces.addWidget(self._build_preparing())
        self._faces.addWidget(self._build_failure())
        theme_notifier().theme_changed.connect(self._redress)
        self._redress()
        self.show_preparing()

    def show_preparing(self, note: str = "") -> None:
        """`note` is a sentence about a start that takes another try."""
        self._note.setText(note)
        self._note.setVisible(bool(note))
        if self._faces.currentIndex() != 0 or not self._elapsed.isValid():
            self._slow.hide()
            self._elapsed.start()
            self._ticks.start()
        self._faces.setCurrentIndex(0)

    def show_failure(self, failure: Failure) -> None:
        self._ticks.stop()
        self._elapsed.invalidate()
        self._title.setText(failure.title)
        self._reason.setText(failure.reason)
        self._details.setPlainText(failure.details)
        self._folder = failure.folder
        self._folder_button.setText(failure.folder_action)
        self._folder_button.setAccessibleName(failure.folder_action)
        self._folder_button.setVisible(failure.folder is not None)
        self._details_button.setVisible(bool(failure.details))
        self._details.hide()
        self._faces.setCurrentIndex(1)
        self._restart.setFocus()

    def settle(self) -> None:
        """The runtime is there: nothing more to count."""
        self._ticks.stop()
        self._elapsed.invalidate()

    def _build_preparing(self) -> QWidget:
        page = QWidget()
        self._logo = QLabel()
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(180)
        self._bar.setAccessibleName(self.tr("Starting"))
        self._note = label("", "muted", wrap=True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._waited = label("", "small")
        self._slow = QWidget()
        actions = row(self._slow, spacing=8)
        actions.addWidget(self._waited)
        actions.addWidget(button(self.tr("Open log"), "boot-open-log", self.open_log_requested.emit))
        actions.addWidget(button(self.tr("Quit"), "boot-quit", self.quit_requested.emit))
        layout = column(page, margins=24, spacing=16)
        layout.addStretch(1)
        centred: list[QWidget] = [self._logo, label(self.tr("Starting Holaboss"), "heading"), self._bar]
        for widget in centred:
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addLayout(_centred(self._note))
        layout.addWidget(self._slow, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)
        return page

    def _build_failure(self) -> QWidget:
        page = QWidget()
        card = frame("card")
        card.setObjectName("boot-failure")
        card.setMaximumWidth(scaled(CARD_WIDTH))
        inside = column(card, margins=24, spacing=12)
        self._mark = QLabel()
        self._title = label("", "title", wrap=True)
        self._reason = label("", wrap=True, selectable=True)
        self._reason.setObjectName("boot-reason")
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setAccessibleName(self.tr("Technical details"))
        self._details.setMinimumHeight(140)
        self._restart = button(
            self.tr("Start again"), "boot-restart", self.restart_requested.emit, kind="primary"
        )
        self._details_button = button(self.tr("Details"), "boot-details", self._toggle_details, kind="link")
        actions = row(spacing=8)
        actions.addWidget(self._restart)
        self._folder_button = button(self.tr("Open folder"), "boot-folder", self._open_folder)
        actions.addWidget(self._folder_button)
        actions.addStretch(1)
        actions.addWidget(
            button(self.tr("Quit"), "boot-failure-quit", self.quit_requested.emit, kind="ghost")
        )
        for widget in (self._mark, self._title, self._reason):
            inside.addWidget(widget)
        inside.addLayout(actions)
        more = row(spacing=12)
        for link in (
            self._details_button,
            button(self.tr("Copy details"), "boot-copy", self._copy, kind="link"),
            button(self.tr("Open log"), "boot-failure-log", self.open_log_requested.emit, kind="link"),
        ):
            more.addWidget(link)
        more.addStretch(1)
        inside.addLayout(more)
        inside.addWidget(self._details)
        layout = column(page, margins=24)
        layout.addStretch(1)
        layout.addLayout(_centred(card))
        layout.addStretch(1)
        self._card = card
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page.setProperty("clear", True)
        scroll.setWidget(page)
        return scroll

    def _tick(self) -> None:
        if not self._elapsed.isValid() or self._elapsed.elapsed() < SLOW_AFTER_MS:
            return
        seconds = self._elapsed.elapsed() // 1000
        self._waited.setText(self.tr("Still starting after {seconds} s").format(seconds=seconds))
        self._slow.show()

    def _open_folder(self) -> None:
        if self._folder is not None:
            self.open_folder_requested.emit(self._folder)

    def _toggle_details(self) -> None:
        self._details.setVisible(self._details.isHidden())

    def _copy(self) -> None:
        parts = (self._title.text(), self._reason.text(), self._details.toPlainText())
        QGuiApplication.clipboard().setText("\n\n".join(part for part in parts if part))

    def _redress(self) -> None:
        self._logo.setPixmap(app_icon().pixmap(QSize(scaled(56), scaled(56)), self.devicePixelRatioF()))
        size = QSize(scaled(28), scaled(28))
        self._mark.setPixmap(icon("alert", "danger").pixmap(size, self.devicePixelRatioF()))
        self._card.setMaximumWidth(scaled(CARD_WIDTH))
        self._note.setMaximumWidth(scaled(NOTE_WIDTH))
        self._details.setFont(mono_font(SMALL_POINTS))


def _centred(widget: QWidget) -> QHBoxLayout:
    """Stretches instead of an alignment: only so does it get the height that its wrapped lines need."""
    line = row()
    line.addStretch(1)
    line.addWidget(widget, 100)
    line.addStretch(1)
    return line
