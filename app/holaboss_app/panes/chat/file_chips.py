"""Files as small cards: what goes with a message, what came with one, and what a turn made.

A card says what it is told and knows neither disk nor runtime. Cards wrap into rows; `ChipFlow.fit` answers how high
that is, so that a turn and the composer lay them out the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from holaboss_app.core.attachments import readable_size
from holaboss_app.core.visible import spelt_out
from holaboss_app.theme import tokens as t
from holaboss_app.theme.icons import icon, icon_pixmap
from holaboss_app.theme.style import current_tokens, scaled, ui_font
from holaboss_client.attachments import MessageAttachment

HEIGHT, THUMBNAIL, GAP = 44, 32, 6
"""Of a card, of its picture and between cards, in pixels at 100 %."""
_WIDEST, _PAD, _CROSS = 280, 6, 22


@dataclass(frozen=True, slots=True)
class Face:
    """What a card shows. `detail` is the quiet second line; `key` names the card in signals."""

    key: str
    name: str
    detail: str
    kind: str = "file"
    state: Literal["ready", "busy", "failed"] = "ready"
    removable: bool = False


def face_of(file: MessageAttachment) -> Face:
    """A file of a message or of a turn; its key is its path."""
    detail = readable_size(file.size) if file.size else file.workspace_path.rpartition("/")[0]
    return Face(file.workspace_path, file.name, "" if detail.startswith(".holaboss") else detail, file.kind)


class Chip(QAbstractButton):
    opened = Signal(str)
    removed = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.face = Face("", "", "")
        self._picture: QPixmap | None = None
        self._cross = QToolButton(self)
        self._cross.setObjectName("remove-file")
        self._cross.setIcon(icon("x", "text_muted"))
        self._cross.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the keyboard has the Delete key for this
        self._cross.clicked.connect(self._remove)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(self._open)

    def show_face(self, face: Face, picture: QPixmap | None) -> None:
        self.face, self._picture = face, picture
        words = (spelt_out(face.name, ""), face.detail)
        self.setAccessibleName(", ".join(word for word in words if word))
        self.setToolTip("\n".join(word for word in words if word))
        self.setAccessibleDescription(self.tr("Delete removes it") if face.removable else "")
        self._cross.setVisible(face.removable)
        name = self.tr("Remove %s").replace("%s", words[0])
        self._cross.setAccessibleName(name)
        self._cross.setToolTip(name)
        self.update()

    def show_picture(self, picture: QPixmap) -> None:
        self._picture = picture
        self.update()

    def wanted(self, widest: int) -> QSize:
        """How large it would like to be."""
        metrics, small = QFontMetrics(ui_font(t.UI_POINTS)), QFontMetrics(ui_font(t.SMALL_POINTS))
        text = max(metrics.horizontalAdvance(self._name), small.horizontalAdvance(self.face.detail)) + 2
        width = self._text_left() + text + scaled(_PAD + 4) + self._cross_room()
        return QSize(min(width, scaled(_WIDEST), widest), scaled(HEIGHT))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.face.removable and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._remove()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, failed = current_tokens(), self.face.state == "failed"
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        self._paint_frame(painter)
        self._paint_picture(painter)
        left, right = self._text_left(), self.width() - self._cross_room() - scaled(_PAD)
        upper, lower = self.rect().adjusted(0, scaled(5), 0, 0), self.rect().adjusted(0, 0, 0, -scaled(5))
        muted = tokens.danger if failed else tokens.text_muted
        flags = Qt.AlignmentFlag
        single = not self.face.detail
        at = flags.AlignVCenter if single else flags.AlignTop
        self._paint_line(painter, upper if not single else self.rect(), (left, right), t.UI_POINTS, at)
        if not single:
            painter.setPen(QColor(muted))
            painter.setFont(ui_font(t.SMALL_POINTS))
            shown = painter.fontMetrics().elidedText(
                self.face.detail, Qt.TextElideMode.ElideRight, right - left
            )
            painter.drawText(QRect(left, lower.top(), right - left, lower.height()), flags.AlignBottom, shown)
        painter.end()

    def resizeEvent(self, event: object) -> None:
        side = scaled(_CROSS)
        self._cross.setIconSize(QSize(scaled(12), scaled(12)))
        self._cross.setGeometry(self.width() - side - scaled(4), (self.height() - side) // 2, side, side)

    @property
    def _name(self) -> str:
        return spelt_out(" ".join(self.face.name.split()), "")

    def _paint_frame(self, painter: QPainter) -> None:
        tokens, focused = current_tokens(), self.hasFocus()
        edge = tokens.danger if self.face.state == "failed" else tokens.border
        painter.setPen(QPen(QColor(tokens.accent), 2) if focused else QPen(QColor(edge), 1))
        painter.setBrush(QColor(tokens.hover if self.underMouse() else tokens.pane))
        inset = 1.0 if focused else 0.5
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), t.RADIUS, t.RADIUS
        )

    def _paint_picture(self, painter: QPainter) -> None:
        tokens, side = current_tokens(), scaled(THUMBNAIL)
        place = QRectF(scaled(_PAD), (self.height() - side) / 2, side, side)
        shape = QPainterPath()
        shape.addRoundedRect(place, t.RADIUS_SMALL, t.RADIUS_SMALL)
        painter.fillPath(shape, QColor(tokens.sunken))
        if self._picture is not None and not self._picture.isNull():
            painter.save()
            painter.setClipPath(shape)
            painter.drawPixmap(place, self._picture, QRectF(self._picture.rect()))
            painter.restore()
            return
        glyph = scaled(16)
        name, token = _glyph(self.face)
        drawn = icon_pixmap(name, glyph, token=token, ratio=self.devicePixelRatioF())
        painter.drawPixmap(
            round(place.center().x() - glyph / 2), round(place.center().y() - glyph / 2), drawn
        )

    def _paint_line(
        self, painter: QPainter, row: QRect, span: tuple[int, int], points: float, at: Qt.AlignmentFlag
    ) -> None:
        painter.setFont(ui_font(points))
        painter.setPen(QColor(current_tokens().text))
        width = span[1] - span[0]
        shown = painter.fontMetrics().elidedText(self._name, Qt.TextElideMode.ElideMiddle, width)
        painter.drawText(QRect(span[0], row.top(), width, row.height()), at, shown)

    def _text_left(self) -> int:
        return scaled(_PAD + THUMBNAIL + 8)

    def _cross_room(self) -> int:
        return scaled(_CROSS + 2) if self.face.removable else 0

    def _open(self) -> None:
        self.opened.emit(self.face.key)

    def _remove(self) -> None:
        self.removed.emit(self.face.key)


class ChipFlow(QWidget):
    """Cards in rows, left to right."""

    opened = Signal(str)
    removed = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._chips: list[Chip] = []
        self._count = 0
        self.hide()

    @property
    def faces(self) -> list[Face]:
        return [chip.face for chip in self._chips[: self._count]]

    def show_faces(self, faces: Sequence[Face], pictures: Mapping[str, QPixmap]) -> bool:
        """Show exactly these; true when they were others before. `pictures` are by key."""
        if list(faces) == self.faces:
            return False
        while len(self._chips) < len(faces):
            chip = Chip(self)
            chip.opened.connect(self.opened)
            chip.removed.connect(self.removed)
            self._chips.append(chip)
        self._count = len(faces)
        for chip, face in zip(self._chips, faces, strict=False):
            chip.show_face(face, pictures.get(face.key))
        for place, chip in enumerate(self._chips):
            chip.setVisible(place < self._count)
        self.setVisible(bool(faces))
        return True

    def show_picture(self, key: str, picture: QPixmap) -> None:
        for chip in self._chips[: self._count]:
            if chip.face.key == key:
                chip.show_picture(picture)

    def natural_width(self, widest: int) -> int:
        """The width of all cards in one row, or `widest`."""
        widths = [chip.wanted(widest).width() for chip in self._chips[: self._count]]
        return min(widest, sum(widths) + scaled(GAP) * max(0, len(widths) - 1))

    def fit(self, width: int) -> int:
        """Put the cards into rows for `width`; the height in pixels."""
        x = y = bottom = 0
        for chip in self._chips[: self._count]:
            size = chip.wanted(width)
            if x and x + size.width() > width:
                x, y = 0, bottom + scaled(GAP)
            chip.setGeometry(x, y, size.width(), size.height())
            x, bottom = x + size.width() + scaled(GAP), y + size.height()
        return bottom

    def follow(self, before: QWidget) -> None:
        """Let Tab reach the cards, one after the other, behind another widget."""
        for chip in self._chips[: self._count]:
            QWidget.setTabOrder(before, chip)
            before = chip

    def focus_next_to(self, place: int) -> bool:
        """Give the keyboard to the card that took the place of one that went; false without cards."""
        if not self._count:
            return False
        self._chips[min(place, self._count - 1)].setFocus()
        return True


def _glyph(face: Face) -> tuple[str, str]:
    if face.state == "failed":
        return "alert", "danger"
    if face.state == "busy":
        return "clock", "text_muted"
    return {"image": "image", "folder": "folder"}.get(face.kind, "file"), "text_muted"
