"""Small builders for labels, buttons and layouts, so that every screen of the shell is spelt the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled, theme_notifier

ICON_SIZE = 18
Box = TypeVar("Box", bound=QBoxLayout)


def label(text: str, role: str = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A label in plain text; `role` is one of the style sheet's."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setProperty("role", role)
    made.setWordWrap(wrap)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def button(
    text: str, name: str, on_click: Callable[[], object], *, kind: str = "", icon_name: str = ""
) -> QPushButton:
    made = QPushButton(text)
    made.setObjectName(name)
    made.setAccessibleName(text)
    made.setProperty("kind", kind)
    made.setAutoDefault(False)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    if icon_name:
        made.setIcon(icon(icon_name, "on_accent" if kind == "primary" else "text"))
    made.clicked.connect(lambda: on_click())
    return made


def tip(*lines: str) -> str:
    """A tool tip of plain text: Qt would read what looks like markup as markup, and never break a long line."""
    return "".join(f"<p>{line.translate(_MARKUP)}</p>" for line in lines)


_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""The module for this in the library brings every name of HTML with it: 0.7 MB."""


class IconButton(QToolButton):
    """A quiet button that is only an icon, which grows with the text. `text` is its tool tip and accessible
    name."""

    def __init__(self, name: str, icon_name: str, text: str, on_click: Callable[[], object]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setIcon(icon(icon_name, "text_muted"))
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(lambda: on_click())
        theme_notifier().theme_changed.connect(self.fit)
        self.fit()

    def fit(self) -> None:
        """Take the size of the text scale of now."""
        self.setIconSize(QSize(scaled(ICON_SIZE), scaled(ICON_SIZE)))


def frame(surface: str) -> QFrame:
    made = QFrame()
    made.setProperty("surface", surface)
    return made


def column(parent: QWidget | None = None, *, margins: int = 0, spacing: int = 8) -> QVBoxLayout:
    return _plain(QVBoxLayout(parent) if parent is not None else QVBoxLayout(), margins, spacing)


def row(parent: QWidget | None = None, *, margins: int = 0, spacing: int = 8) -> QHBoxLayout:
    return _plain(QHBoxLayout(parent) if parent is not None else QHBoxLayout(), margins, spacing)


def _plain(layout: Box, margins: int, spacing: int) -> Box:
    layout.setContentsMargins(margins, margins, margins, margins)
    layout.setSpacing(spacing)
    return layout
