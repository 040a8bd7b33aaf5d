"""The dot in the rail that says how the runtime is, and the popover behind it."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolButton, QWidget

from holaboss_app.services.runtime_supervisor import RuntimeState, Stage
from holaboss_app.shell.look import button, label, row
from holaboss_app.shell.popover import Popover
from holaboss_app.theme.style import current_tokens, scaled

_TOKENS = {
    Stage.HEALTHY: "success",
    Stage.STARTING: "warning",
    Stage.DEGRADED: "warning",
    Stage.BACKOFF: "warning",
    Stage.CRASHED: "warning",
    Stage.GAVE_UP: "danger",
    Stage.STOPPING: "text_muted",
    Stage.STOPPED: "text_muted",
}


def title_of(stage: Stage) -> str:
    """What a person calls this stage."""
    titles = {
        Stage.HEALTHY: QCoreApplication.translate("RuntimeStatus", "The runtime is running"),
        Stage.STARTING: QCoreApplication.translate("RuntimeStatus", "The runtime is starting"),
        Stage.DEGRADED: QCoreApplication.translate("RuntimeStatus", "The runtime does not answer"),
        Stage.BACKOFF: QCoreApplication.translate("RuntimeStatus", "The runtime is being restarted"),
        Stage.CRASHED: QCoreApplication.translate("RuntimeStatus", "The runtime is being restarted"),
        Stage.GAVE_UP: QCoreApplication.translate("RuntimeStatus", "The runtime could not be started"),
        Stage.STOPPING: QCoreApplication.translate("RuntimeStatus", "The runtime is stopping"),
        Stage.STOPPED: QCoreApplication.translate("RuntimeStatus", "The runtime is stopped"),
    }
    return titles[stage]


class RuntimeDot(QToolButton):
    """Colour, tool tip and accessible name say the same."""

    restart_requested = Signal()
    open_log_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runtime-status")
        self.setProperty("kind", "rail")
        self.setFixedSize(scaled(36), scaled(36))
        self._state = RuntimeState(Stage.STOPPED)
        self.clicked.connect(self._open)
        self.show_state(self._state)

    def show_state(self, state: RuntimeState) -> None:
        self._state = state
        self.setProperty("stage", str(state.stage))
        self.setToolTip(title_of(state.stage))
        self.setAccessibleName(title_of(state.stage))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(str(getattr(current_tokens(), _TOKENS[self._state.stage]))))
        size = scaled(9)
        painter.drawEllipse((self.width() - size) // 2, (self.height() - size) // 2, size, size)
        painter.end()

    def _open(self) -> None:
        popover = RuntimePopover(self._state, self)
        popover.restarted.connect(self.restart_requested)
        popover.log_opened.connect(self.open_log_requested)
        popover.adjustSize()
        popover.move(self.mapToGlobal(QPoint(self.width() + 8, self.height() - popover.height())))
        popover.show()


class RuntimePopover(Popover):
    """A title, one sentence, technical facts, and the two things one can do."""

    restarted = Signal()
    log_opened = Signal()

    def __init__(self, state: RuntimeState, parent: QWidget) -> None:
        super().__init__(parent, "runtime-popover", 300, margins=14, spacing=8)
        layout = self.content
        layout.addWidget(label(title_of(state.stage), "heading", wrap=True))
        told = self.tr("It does the work behind this window, on this computer only.")
        layout.addWidget(label(state.reason or told, "muted", wrap=True))
        if (connection := state.connection) is not None:
            facts = self.tr("Version {version}, process {pid}, {url}").format(
                version=connection.version, pid=connection.pid, url=connection.url
            )
            layout.addWidget(label(facts, "small", wrap=True, selectable=True))
        actions = row(spacing=8)
        actions.addWidget(button(self.tr("Restart"), "runtime-restart", self._restart))
        actions.addWidget(button(self.tr("Open log"), "runtime-open-log", self._open_log, kind="ghost"))
        actions.addStretch(1)
        layout.addLayout(actions)

    def _restart(self) -> None:
        self.close()
        self.restarted.emit()

    def _open_log(self) -> None:
        self.close()
        self.log_opened.emit()
