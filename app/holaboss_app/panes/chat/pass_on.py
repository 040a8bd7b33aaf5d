"""What a text inside the transcript keeps of wheel and keys; everything else scrolls the transcript."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea

_OWN_KEYS = (QKeySequence.StandardKey.Copy, QKeySequence.StandardKey.SelectAll)


def keeps_wheel(text: QAbstractScrollArea, event: QWheelEvent) -> bool:
    """A turn sideways, where there is something to see."""
    delta = event.angleDelta()
    sideways = abs(delta.x()) > abs(delta.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier
    return bool(sideways and text.horizontalScrollBar().maximum())


def keeps_key(event: QKeyEvent) -> bool:
    """Those for selecting and copying."""
    return any(event.matches(key) for key in _OWN_KEYS)
