"""Where a popup goes: next to what opens it, and never out of the window."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QWidget

_DISTANCE, _MARGIN = 4, 8


def room_around(anchor: QWidget) -> QRect:
    """The part of the window of `anchor` that is on screen, without a narrow edge, in global coordinates."""
    window = anchor.window()
    inside = QRect(window.mapToGlobal(QPoint(0, 0)), window.size())
    visible = inside.intersected(anchor.screen().availableGeometry())
    return visible.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)


def corner(anchor: QWidget, size: QSize, *, above: bool = False) -> QPoint:
    """The global top-left corner of a popup of `size`, above or below `anchor`; the other side when there is
    more room."""
    room = room_around(anchor)
    place = QRect(anchor.mapToGlobal(QPoint(0, 0)), anchor.size())
    over, under = place.top() - _DISTANCE - size.height(), place.bottom() + 1 + _DISTANCE
    fits_above, fits_below = over >= room.top(), under + size.height() <= room.bottom() + 1
    y = over if (fits_above if above else fits_above and not fits_below) else under
    lowest = max(room.top(), room.bottom() + 1 - size.height())
    furthest = max(room.left(), room.right() + 1 - size.width())
    return QPoint(min(max(place.left(), room.left()), furthest), min(max(y, room.top()), lowest))
