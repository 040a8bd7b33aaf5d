"""A picture of the workspace in a tab: fitted to the room there is, never enlarged, never edited."""

from __future__ import annotations

import base64

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from holaboss_app.core.attachments import readable_size
from holaboss_app.theme.style import scaled
from holaboss_client.workspaces import FileContent

MAX_PIXELS = 40_000_000
"""160 MB in memory; a larger picture is for a program that is made for them."""


def decoded(content: FileContent) -> QImage:
    """The picture in a file, null when there is none or it is too large to be shown. Takes time: not for the loop."""
    buffer = QBuffer()
    buffer.setData(QByteArray(base64.b64decode(content.content)))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    return reader.read() if size.isValid() and size.width() * size.height() <= MAX_PIXELS else QImage()


class PictureView(QWidget):
    """`left` says that somebody wants back to the tree."""

    left = Signal()

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.sha256 = ""
        self.setObjectName("picture")
        self._canvas = _Canvas(self)
        self._facts = QLabel(self)
        self._facts.setProperty("role", "small")
        self._facts.setTextFormat(Qt.TextFormat.PlainText)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 10)
        column.setSpacing(6)
        column.addWidget(self._canvas, 1)
        column.addWidget(self._facts)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def load(self, image: QImage, content: FileContent) -> None:
        """Show `image`, which was decoded from `content`."""
        self.sha256 = content.sha256
        facts = self.tr("%1 × %2 pixels, %3").replace("%1", str(image.width()))
        facts = facts.replace("%2", str(image.height())).replace("%3", readable_size(content.size))
        self._facts.setText(facts)
        self._canvas.show_image(image)
        self.setAccessibleName(f"{self.path.rpartition('/')[2]}, {facts}")

    def gone(self) -> None:
        """The file is not there any more; what was seen last stays."""
        self._facts.setText(self.tr("This file is not there any more."))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class _Canvas(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._image = QImage()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_image(self, image: QImage) -> None:
        self._image = image
        self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(scaled(60), scaled(60))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        room, size = self.size(), self._image.size()
        if size.width() > room.width() or size.height() > room.height():
            size = size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        place = QRect(
            (room.width() - size.width()) // 2,
            (room.height() - size.height()) // 2,
            size.width(),
            size.height(),
        )
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, self._image)
        painter.end()
