"""A sentence that needs an answer, as a tinted card inside the pane: never a dialog in front of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.theme.flow import FlowLayout
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled

_LEAST = 72
"""Of a shelf, in pixels at 100 %: enough to read, and to see that there is more."""


class Card(QFrame):
    """Hidden until it has something to say. Its buttons stand side by side where there is room."""

    said = Signal()
    """It shows another sentence now, or none."""

    def __init__(self, name: str, surface: str = "warning") -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("surface", surface)
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self._top = QHBoxLayout()
        self._top.addWidget(self.label, 1)
        self._buttons = FlowLayout(spacing=6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(8)
        layout.addLayout(self._top)
        layout.addLayout(self._buttons)
        self.hide()

    def say(self, text: str) -> None:
        """Show a sentence; an empty one hides the card."""
        self.label.setText(text)
        self.setVisible(bool(text))
        self.said.emit()

    def add_button(self, text: str, name: str, on_click: Callable[[], object], kind: str = "") -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setProperty("kind", kind)
        button.setAutoDefault(False)
        button.clicked.connect(lambda: on_click())
        self._buttons.addWidget(button)
        return button

    def add_dismissal(self, name: str) -> None:
        """A small cross, for a sentence that only tells."""
        cross = icon_button("x", name, self.tr("Dismiss"))
        cross.clicked.connect(lambda: self.say(""))
        self._top.addWidget(cross, 0, Qt.AlignmentFlag.AlignTop)


class CardShelf(QScrollArea):
    """Cards above a text: as tall as what they say, and where there is no room for that, they scroll."""

    def __init__(self, name: str, cards: Sequence[Card]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._cards = cards
        self._inside = QWidget()
        self._inside.setProperty("clear", True)
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)
        for card in cards:
            self._column.addWidget(card)
            card.said.connect(self._fit)
        self._column.addStretch(1)
        self._inside.installEventFilter(self)
        self.setWidget(self._inside)
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), max(0, self._column.heightForWidth(self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), min(self.sizeHint().height(), scaled(_LEAST)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        self.setVisible(not all(card.isHidden() for card in self._cards))
        self.updateGeometry()


def icon_button(icon_name: str, name: str, text: str) -> QToolButton:
    """A quiet button that is only an icon; `text` is its tool tip and its accessible name."""
    button = QToolButton()
    button.setObjectName(name)
    button.setIcon(icon(icon_name, "text_muted"))
    button.setToolTip(text)
    button.setAccessibleName(text)
    button.setMinimumSize(26, 26)
    return button
