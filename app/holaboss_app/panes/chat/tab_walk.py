"""Tab in the conversation: through the turns as they stand, whatever order their widgets were made or used again in.

What gets the keyboard is brought into sight; widgets that are only kept ready beside it are never where Tab begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_app.theme.style import scaled

_AIR = 24


class Walked(Enum):
    WITHIN = 1
    BEFORE = 2
    """It was on the first thing there is, and goes back."""
    BEYOND = 3
    """It was on the last thing there is."""
    NOWHERE = 4
    """There is nothing here for the keyboard."""


class TabWalk:
    def __init__(self, area: QAbstractScrollArea, turns: Callable[[], Iterable[TurnWidget]]) -> None:
        self._area = area
        self._turns = turns

    def enter(self, *, forward: bool) -> Walked:
        """To the first thing in sight, or to the last."""
        room = self._area.viewport().rect()
        seen = [stop for stop in self._stops() if room.contains(self._top_left(stop))]
        if not seen:
            return Walked.NOWHERE
        self._focus(seen[0 if forward else -1])
        return Walked.WITHIN

    def step(self, focus: QWidget | None, *, forward: bool) -> Walked:
        """From `focus`, which is in the conversation or the conversation itself, to the next thing or to the one
        before."""
        stops = self._stops()
        if focus not in stops:
            return self.enter(forward=True) if forward else Walked.NOWHERE
        place = stops.index(focus) + (1 if forward else -1)
        if place < 0:
            return Walked.BEFORE
        if place == len(stops):
            return Walked.BEYOND
        self._focus(stops[place])
        return Walked.WITHIN

    def _stops(self) -> list[QWidget]:
        turns = sorted(self._turns(), key=lambda turn: turn.y())
        return [stop for turn in turns for stop in turn.stops()]

    def _top_left(self, stop: QWidget) -> QPoint:
        return stop.mapTo(self._area.viewport(), QPoint(0, 0))

    def _focus(self, stop: QWidget) -> None:
        top, room, air = self._top_left(stop).y(), self._area.viewport().height(), scaled(_AIR)
        bar = self._area.verticalScrollBar()
        if top < air:
            bar.setValue(bar.value() + top - air)
        elif (below := top + stop.height() - room + air) > 0:
            bar.setValue(bar.value() + below)
        stop.setFocus(Qt.FocusReason.TabFocusReason)
