"""Where requests stand: above the composer, the oldest first, in no more than half of the pane.

They are not part of the transcript, which stays a view over what has happened. What was decided is seen there.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from holaboss_app.core.requests import Request
from holaboss_app.panes.chat.approval_card import ApprovalCard, asked_for
from holaboss_app.panes.chat.question_card import QuestionCard
from holaboss_app.panes.chat.request_card import RequestCard
from holaboss_app.theme.style import scaled
from holaboss_client.agents import DecideAction

_GAP = 8
_LEAST = 120


class RequestDock(QScrollArea):
    decided = Signal(str, object)
    """The id of a request and a `DecideAction`."""
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("requests")
        self.setAccessibleName(self.tr("Waits for you"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._cards: dict[str, RequestCard] = {}
        self._inside = QWidget(self)
        self._inside.setProperty("clear", True)
        self._inside.installEventFilter(self)
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(_GAP)
        self.setWidget(self._inside)
        self._most, self._height = scaled(400), 0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def requests(self) -> list[str]:
        """The ids of what is shown, in order."""
        return list(self._cards)

    def limit(self, height: int) -> None:
        """How tall it may become, in pixels."""
        self._most = max(scaled(_LEAST), height)
        self._fit()

    def show_requests(self, requests: list[Request]) -> None:
        """Show exactly these. A card somebody works on stays as it is."""
        wanted = {request.id for request in requests}
        for gone in [id_ for id_ in self._cards if id_ not in wanted]:
            self._remove(self._cards.pop(gone))
        fresh = [request for request in requests if request.id not in self._cards]
        for request in fresh:
            self._cards[request.id] = self._make(request)
        for place, request in enumerate(requests, 1):
            card = self._cards[request.id]
            self._column.insertWidget(place - 1, card)
            card.count(place, len(requests))
        self._cards = {request.id: self._cards[request.id] for request in requests}
        self.setVisible(bool(requests))
        self._fit()
        if fresh:
            words = fresh[0].question if fresh[0].kind == "question" else asked_for(fresh[0])
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def card(self, request_id: str) -> RequestCard | None:
        return self._cards.get(request_id)

    def focus_first(self) -> None:
        """Give the keyboard to the oldest request; nothing happens without one."""
        for card in self._cards.values():
            self.ensureWidgetVisible(card)
            card.focus_first()
            return

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _make(self, request: Request) -> RequestCard:
        make = QuestionCard if request.kind == "question" else ApprovalCard
        card = make(self._inside, request)

        def decided(decision: DecideAction) -> None:
            self.decided.emit(request.id, decision)

        card.decided.connect(decided)
        card.left.connect(self.left)
        return card

    def _remove(self, card: RequestCard) -> None:
        had_keyboard = card.has_keyboard
        card.hide()
        card.deleteLater()
        if had_keyboard:
            self.left.emit()

    def _fit(self) -> None:
        """As tall as the cards are at this width, up to the limit."""
        layout = self._column
        wanted = layout.heightForWidth(self.width()) if layout.hasHeightForWidth() else 0
        height = min(self._most, max(wanted, layout.minimumSize().height()))
        if height != self._height:
            self._height = height
            self.updateGeometry()
