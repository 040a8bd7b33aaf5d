"""Where the keyboard is: the order in which Tab walks, and where it stays while something is on its way.

It looks at layouts only and knows no screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLayout, QScrollArea, QWidget

_WAITS_WITH_FOCUS: Final = "waits_with_focus"


def follow_layout(*roots: QWidget) -> None:
    """Let Tab walk through `roots` as they are laid out. Qt walks in the order in which widgets were made, so
    that whatever is filled in later would come last."""
    stops = [stop for root in roots for stop in _stops(root)]
    for before, after in pairwise(stops):
        QWidget.setTabOrder(before, after)


def set_waiting(button: QAbstractButton, waiting: bool) -> None:
    """Disable a button while its work is on its way, and give it the keyboard back.

    A disabled button hands the keyboard to the next one, where the same key would do something else.
    """
    if waiting and button.hasFocus():
        button.setProperty(_WAITS_WITH_FOCUS, True)
        button.clearFocus()
    button.setEnabled(not waiting)
    if not waiting and button.property(_WAITS_WITH_FOCUS):
        button.setProperty(_WAITS_WITH_FOCUS, False)
        if QApplication.focusWidget() is None:
            button.setFocus(Qt.FocusReason.OtherFocusReason)


def _stops(widget: QWidget) -> Iterator[QWidget]:
    """The widgets on which Tab stops, from the first to the last line."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
        yield widget
    content = widget.widget() if isinstance(widget, QScrollArea) else None
    if content is not None:
        yield from _stops(content)
    elif (layout := widget.layout()) is not None:
        yield from _stops_of(layout)


def _stops_of(layout: QLayout) -> Iterator[QWidget]:
    for index in range(layout.count()):
        item = layout.itemAt(index)
        if item is None:
            continue
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield from _stops(widget)
        elif inner is not None:
            yield from _stops_of(inner)
