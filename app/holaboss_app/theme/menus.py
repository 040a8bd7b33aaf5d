"""Menus with the round corners of everything else. A menu that nobody passes here keeps its square ones."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

Menu = TypeVar("Menu", bound=QMenu)


def rounded(menu: Menu) -> Menu:
    """`menu` itself. Call it before the menu is shown for the first time."""
    # The window behind a menu is a rectangle: only when it is invisible can the corners be seen to be round.
    menu.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    menu.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    menu.setWindowFlag(Qt.WindowType.NoDropShadowWindowHint)
    menu.setProperty("round", "true")
    return menu
