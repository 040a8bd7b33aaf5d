"""The Appearance section: light or dark, and how large the text is."""

from __future__ import annotations

from typing import Final, Literal

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QSizePolicy, QWidget

from holaboss_app.panes.settings.parts import Field, Picker, column, row, text_label
from holaboss_app.theme.style import current_tokens, scale, scaled, theme_notifier
from holaboss_app.theme.tokens import DARK, LIGHT, Tokens

Theme = Literal["system", "light", "dark"]
SCALES: Final = (80, 90, 100, 110, 125, 150, 175, 200)
"""Text sizes in percent."""


PICTURE = 84
"""Height of the picture of a tile with the room around it, at 100 % text."""


class ThemeTile(QAbstractButton):
    """A small picture of a window in one theme, with its name beneath."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._theme: Theme = theme
        self.setObjectName(f"theme-{theme}")
        self.setText(title)
        self.setAccessibleName(title)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme_notifier().theme_changed.connect(self._resize)
        self._resize()

    def sizeHint(self) -> QSize:
        return QSize(scaled(132), scaled(PICTURE + 28))

    def minimumSizeHint(self) -> QSize:
        return QSize(76, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        picture = QRectF(3, 3, self.width() - 6, scaled(PICTURE) - 6)
        outline = QPainterPath()
        outline.addRoundedRect(picture, 8, 8)
        painter.save()
        painter.setClipPath(outline)
        _draw_window(painter, picture, DARK if self._theme == "dark" else LIGHT)
        if self._theme == "system":
            painter.setClipRect(
                picture.adjusted(picture.width() / 2, 0, 0, 0), Qt.ClipOperation.IntersectClip
            )
            _draw_window(painter, picture, DARK)
        painter.restore()
        tokens = current_tokens()
        strong = self.isChecked() or self.hasFocus()
        painter.setPen(QPen(QColor(tokens.accent if strong else tokens.border_strong), 2 if strong else 1))
        painter.drawPath(outline)
        self._draw_title(painter, tokens)

    def _draw_title(self, painter: QPainter, tokens: Tokens) -> None:
        font = self.font()
        font.setBold(self.isChecked())
        painter.setFont(font)
        painter.setPen(QColor(tokens.text if self.isChecked() else tokens.text_muted))
        painter.drawText(
            QRectF(0, scaled(PICTURE), self.width(), self.height() - scaled(PICTURE)),
            Qt.AlignmentFlag.AlignCenter,
            self.text(),
        )

    def _resize(self) -> None:
        self.setMaximumSize(self.sizeHint())
        self.setMinimumHeight(self.sizeHint().height())
        self.updateGeometry()


class AppearanceSection(QWidget):
    """Emits what was chosen; it shows the result once the application has really changed."""

    theme_chosen = Signal(str)
    scale_chosen = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        layout = column(self, spacing=12)
        layout.addWidget(self._build_theme())
        layout.addWidget(self._build_scale())
        layout.addStretch(1)
        theme_notifier().theme_changed.connect(self.show_scale)
        self.show_scale()

    def _build_theme(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        self.tiles: dict[str, ThemeTile] = {
            "system": ThemeTile("system", self.tr("System")),
            "light": ThemeTile("light", self.tr("Light")),
            "dark": ThemeTile("dark", self.tr("Dark")),
        }
        self._group = QButtonGroup(self)
        line = row(spacing=12)
        for theme, tile in self.tiles.items():
            self._group.addButton(tile)
            line.addWidget(tile, 1)
            tile.clicked.connect(lambda _checked=False, theme=theme: self.theme_chosen.emit(theme))
        line.addStretch(0)
        layout = column(card, spacing=12, margins=16)
        layout.addWidget(text_label(self.tr("Theme"), "heading"))
        layout.addLayout(line)
        return card

    def _build_scale(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        self.scale = Picker("text-scale", self.tr("Text size"))
        self.scale.chosen.connect(lambda: self.scale_chosen.emit(self.scale.currentData() / 100))
        field = Field(self.tr("Text size"), self.scale, name="text-scale")
        self.scale.setMaximumWidth(scaled(240))
        field.show_hint(self.tr("Everything in the window grows with it."))
        column(card, spacing=12, margins=16).addWidget(field)
        return card

    def show_theme(self, theme: str) -> None:
        self.tiles[theme].setChecked(True)

    def show_scale(self) -> None:
        """Select the text size the application has now, also one that the zoom shortcuts made."""
        percent = round(scale() * 100)
        self.scale.clear()
        for choice in sorted({*SCALES, percent}):
            self.scale.addItem(f"{choice} %", choice)
        self.scale.setCurrentIndex(self.scale.findData(percent))


def _draw_window(painter: QPainter, area: QRectF, tokens: Tokens) -> None:
    """A window with a rail, a pane, an answer and a message."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.save()
    painter.translate(area.topLeft())
    painter.scale(scale(), scale())
    width, height = area.width() / scale(), area.height() / scale()
    for colour, left, top, across, down, radius in (
        (tokens.window, 0, 0, width, height, 0),
        (tokens.pane, 18, 8, width - 26, height - 16, 5),
        (tokens.accent, 6, 12, 6, 6, 2),
        (tokens.border_strong, 6, 24, 6, 6, 2),
        (tokens.bubble, width * 0.55, 16, width * 0.35, 12, 5),
        (tokens.text, 26, 36, width * 0.45, 4, 2),
        (tokens.text_muted, 26, 45, width * 0.55, 4, 2),
        (tokens.text_muted, 26, 54, width * 0.3, 4, 2),
    ):
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(left, top, across, down), radius, radius)
    painter.restore()
