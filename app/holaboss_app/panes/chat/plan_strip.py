"""The agent's plan above the composer: one line while it is folded, all tasks with their marks when it is open."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core.plan import Plan, Task
from holaboss_app.panes.chat.elided import ElidedLabel
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.style import scaled, theme_notifier

_TALLEST = 220
_DRAWINGS = {
    "completed": ("check", "success"),
    "in_progress": ("chevron-right", "accent"),
    "blocked": ("clock", "warning"),
    "abandoned": ("minus", "text_muted"),
    "pending": ("minus", "border_strong"),
}


class PlanStrip(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("plan")
        self.setProperty("surface", "sunken")
        self._plan: Plan | None = None
        self._toggle = QToolButton(self)
        self._toggle.setObjectName("plan-toggle")
        self._toggle.setCheckable(True)
        self._toggle.toggled.connect(self._fold)
        self._count = QLabel(self)
        self._count.setProperty("role", "strong")
        self._current = ElidedLabel(self)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._toggle)
        head.addWidget(self._count)
        head.addWidget(self._current, 1)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 3, 12, 3)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self._area)
        theme_notifier().theme_changed.connect(self._draw)
        self.hide()

    def show_plan(self, plan: Plan | None) -> None:
        """Show this plan, or nothing."""
        if plan == self._plan:
            return
        self._plan = plan
        self._draw()
        self.setVisible(plan is not None)

    def _draw(self) -> None:
        plan = self._plan
        if plan is None:
            return
        counted = self.tr("%1 of %2").replace("%1", str(plan.done)).replace("%2", str(len(plan.tasks)))
        self._count.setText(counted)
        current = plan.current
        self._current.set_text(current.content if current is not None else self.tr("All done"))
        words = self.tr("Plan, %1").replace("%1", f"{counted}, {self._current.text()}")
        self._toggle.setAccessibleName(words)
        self._toggle.setToolTip(self.tr("Show the plan"))
        self._list(plan)
        self._fold(self._toggle.isChecked())

    def _list(self, plan: Plan) -> None:
        inside = QWidget()
        inside.setProperty("clear", True)
        grid = QGridLayout(inside)
        grid.setContentsMargins(6, 2, 4, 8)
        grid.setHorizontalSpacing(9)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for phase in plan.phases:
            if phase.name:
                grid.addWidget(_label(phase.name, "small"), grid.rowCount(), 0, 1, 2)
            for task in phase.tasks:
                row = grid.rowCount()
                grid.addWidget(self._mark(task), row, 0, Qt.AlignmentFlag.AlignVCenter)
                grid.addWidget(self._task(task), row, 1)
        self._area.setWidget(inside)
        height = inside.sizeHint().height()
        self._area.setFixedHeight(min(height, scaled(_TALLEST)))

    def _mark(self, task: Task) -> QLabel:
        drawing, token = _DRAWINGS.get(task.status, _DRAWINGS["pending"])
        mark = QLabel()
        mark.setPixmap(icon_pixmap(drawing, scaled(14), token=token, ratio=self.devicePixelRatioF()))
        mark.setAccessibleName(self._state(task.status))
        return mark

    def _task(self, task: Task) -> QLabel:
        text = (
            f"{task.content} ({task.details})" if task.details and task.status == "blocked" else task.content
        )
        label = _label(text, "muted" if task.status in ("completed", "abandoned", "pending") else "strong")
        label.setAccessibleName(f"{self._state(task.status)}: {text}")
        return label

    def _state(self, status: str) -> str:
        words = {
            "completed": self.tr("done"),
            "in_progress": self.tr("in progress"),
            "blocked": self.tr("waits"),
            "abandoned": self.tr("given up"),
        }
        return words.get(status, self.tr("to do"))

    def _fold(self, opened: bool) -> None:
        self._area.setVisible(opened)
        self._toggle.setIcon(icon("chevron-down" if opened else "chevron-right", "text_muted"))
        self._toggle.setIconSize(QSize(scaled(14), scaled(14)))


def _label(text: str, role: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("role", role)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
