"""A button whose words give way where there is no room for them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStyle, QStyleOptionButton, QWidget

_SLACK = 4
"""Rounding of text widths must not cost a letter."""
_GAP = 4
"""What Qt leaves between an icon and the text."""


class ElidedButton(QPushButton):
    """Told by `set_label` what it says; it shows as much of that as fits, down to its icon or an ellipsis."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = ""
        self._mode = Qt.TextElideMode.ElideRight

    @property
    def label(self) -> str:
        return self._label

    def set_label(self, text: str, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        self._label, self._mode = text, mode
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)  # it can be narrower
        self._elide()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return self._around(self._label) if self._label else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        if not self._label:
            return super().minimumSizeHint()
        return self._around("" if not self.icon().isNull() else "…")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._elide()

    def _around(self, text: str) -> QSize:
        """How large a button with `text` is. Qt's own answer makes room for text where there is none."""
        icon = 0 if self.icon().isNull() else self.iconSize().width() + _GAP
        words = self.fontMetrics().horizontalAdvance(text) + _SLACK if text else 0
        option = QStyleOptionButton()
        self.initStyleOption(option)
        height = max(self.fontMetrics().height(), self.iconSize().height() if icon else 0)
        content = QSize(words + icon, height)
        kind = QStyle.ContentsType.CT_PushButton
        return self.style().sizeFromContents(kind, option, content, self)

    def _elide(self) -> None:
        if self._label:
            room = self.width() - self._around("").width()
            self.setText(self.fontMetrics().elidedText(self._label, self._mode, max(0, room)))
