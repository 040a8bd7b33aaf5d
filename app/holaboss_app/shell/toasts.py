"""Short messages in the lower left corner: what went wrong or what the runtime wants to be known. They go
by themselves."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from holaboss_app.shell.look import IconButton, label, row
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled

SHOWN_MS = 8_000
MOST = 3
WIDTH, GAP, MARGIN = 340, 8, 16


class Toasts(QObject):
    """Stacks toasts over `window`. The same text is not shown twice at once."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._shown: list[Toast] = []
        window.installEventFilter(self)

    def show(self, text: str, *, level: str = "danger") -> None:
        """`level` is a colour token: `danger`, `warning`, `info` or `success`."""
        if any(toast.text == text for toast in self._shown):
            return
        if len(self._shown) == MOST:
            self._close(self._shown[0])
        toast = Toast(text, level, self._window)
        toast.closed = lambda: self._close(toast)
        self._shown.append(toast)
        toast.show()
        toast.raise_()
        self._arrange()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(toast, text))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._arrange()
        return False

    def _close(self, toast: Toast) -> None:
        if toast in self._shown:
            self._shown.remove(toast)
            toast.hide()
            toast.deleteLater()
            self._arrange()

    def _arrange(self) -> None:
        bottom = self._window.height() - MARGIN
        for toast in reversed(self._shown):
            # A path does not break: narrower than its longest word, a toast would lose that word's end, and its
            # last line, because its height is that of the wider text.
            wanted = max(scaled(WIDTH), toast.minimumSizeHint().width())
            toast.setFixedWidth(min(wanted, self._window.width() - 2 * MARGIN))
            height = toast.heightForWidth(toast.width())
            toast.resize(toast.width(), height)
            toast.move(scaled(56) + MARGIN, bottom - height)
            bottom -= height + GAP


class Toast(QFrame):
    """One message. Waits while the pointer is over it."""

    def __init__(self, text: str, level: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self.setProperty("surface", "card")
        self.text = text
        self.closed = self.hide
        mark = QLabel()
        name = "check" if level == "success" else "info" if level == "info" else "alert"
        mark.setPixmap(icon(name, level).pixmap(QSize(scaled(18), scaled(18)), self.devicePixelRatioF()))
        layout = row(self, spacing=10)
        layout.setContentsMargins(12, 10, 8, 10)
        layout.addWidget(mark, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(label(text, wrap=True, selectable=True), 1)
        close = IconButton("toast-close", "x", self.tr("Close"), lambda: self.closed())
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignVCenter)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(lambda: self.closed())
        self._timer.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Enter:
            self._timer.stop()
        elif event.type() == QEvent.Type.Leave:
            self._timer.start()
        return super().event(event)
