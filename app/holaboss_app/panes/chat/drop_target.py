"""What lies over the chat while files are dragged onto it: where they will go, in words."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, ui_font

_VEIL = 0.9


class DropTarget(QWidget):
    """Hidden until something is dragged. It takes no events: the pane below it does."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pane = parent
        self.setObjectName("drop-target")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def cover(self) -> None:
        """Lie over the whole pane."""
        self.setGeometry(self._pane.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(tokens.pane)
        veil.setAlphaF(_VEIL)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(QColor(tokens.accent), 2, Qt.PenStyle.DashLine))
        inset = scaled(14)
        frame = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(frame, t.RADIUS_LARGE, t.RADIUS_LARGE)
        side = scaled(28)
        middle = self.rect().center()
        sign = icon_pixmap("attach", side, token="accent", ratio=self.devicePixelRatioF())
        painter.drawPixmap(middle.x() - side // 2, middle.y() - side - scaled(4), sign)
        painter.setPen(QColor(tokens.text))
        painter.setFont(ui_font(t.PROSE_POINTS))
        words = self.rect().adjusted(inset, middle.y() + scaled(8), -inset, 0)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        painter.drawText(
            words, int(flags | Qt.TextFlag.TextWordWrap), self.tr("Drop files here to attach them")
        )
        painter.end()
