"""Line icons by name, drawn in a token colour at whatever size and pixel ratio is asked for.

An icon follows the theme by itself: it looks its colour up when it is painted, so nobody has to set it again.
The drawings are `resources/icons/<name>.svg`, 24 × 24, with `currentColor` as their only colour.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from holaboss_app.theme.resources import resource_path
from holaboss_app.theme.style import current_tokens


@lru_cache(maxsize=256)
def icon(name: str, token: str = "text") -> QIcon:
    """The icon `name` in the colour of the field `token` of `Tokens`.

    Raises:
        FileNotFoundError: there is no such icon.
    """
    return QIcon(_TokenIconEngine(_drawing(name), token))


def app_icon() -> QIcon:
    """The product's own icon, the same in every theme."""
    return QIcon(str(resource_path("app-icon.svg")))


def icon_pixmap(name: str, size: int, *, token: str = "text", ratio: float = 1.0) -> QPixmap:
    """`icon(name, token)` as a pixmap of `size` logical pixels, for a label."""
    return icon(name, token).pixmap(QSize(size, size), ratio)


@lru_cache(maxsize=128)
def _drawing(name: str) -> str:
    return resource_path("icons", f"{name}.svg").read_text("utf-8")


@lru_cache(maxsize=512)
def _render(drawing: str, colour: str, width: int, height: int) -> QPixmap:
    pixmap = QPixmap(width, height)
    if pixmap.isNull():  # a layout that is not finished asks for an icon without a size
        return pixmap
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer = QSvgRenderer(QByteArray(drawing.replace("currentColor", colour).encode()))
    renderer.setAspectRatioMode(Qt.AspectRatioMode.KeepAspectRatio)
    renderer.render(painter, QRectF(0, 0, width, height))
    painter.end()
    return pixmap


class _TokenIconEngine(QIconEngine):
    """Paints one drawing in the colour that its token has at that moment."""

    def __init__(self, drawing: str, token: str) -> None:
        super().__init__()
        self._drawing = drawing
        self._token = token

    def _colour(self, mode: QIcon.Mode) -> str:
        tokens = current_tokens()
        return tokens.border_strong if mode == QIcon.Mode.Disabled else str(getattr(tokens, self._token))

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatio()
        size = rect.size() * ratio
        painter.drawPixmap(rect, _render(self._drawing, self._colour(mode), size.width(), size.height()))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return _render(self._drawing, self._colour(mode), size.width(), size.height())

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        # Qt asks in physical pixels; the ratio tells it how large the result is meant to look.
        pixmap = QPixmap(_render(self._drawing, self._colour(mode), size.width(), size.height()))
        pixmap.setDevicePixelRatio(scale)
        return pixmap

    def clone(self) -> QIconEngine:
        return _TokenIconEngine(self._drawing, self._token)
