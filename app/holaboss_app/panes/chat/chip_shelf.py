"""The files that will go with the message, above the text of the composer; many of them scroll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from holaboss_app.panes.chat.file_chips import GAP, HEIGHT, ChipFlow, Face
from holaboss_app.theme.style import scaled, theme_notifier

_MOST_ROWS = 3


class ChipShelf(QScrollArea):
    """As high as its rows, up to three and a bit."""

    opened = Signal(str)
    removed = Signal(str)
    emptied = Signal()
    """The last file was taken away by somebody who has the keyboard here."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.behind: QWidget | None = None
        """After which widget Tab comes here."""
        self.setObjectName("files-to-send")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._flow = ChipFlow(self)
        self.setWidget(self._flow)
        for part in (self._flow, self.viewport()):
            part.setAutoFillBackground(False)
        self._flow.opened.connect(self.opened)
        self._flow.removed.connect(self._remove)
        theme_notifier().theme_changed.connect(self._refit)
        self.hide()

    @property
    def faces(self) -> list[Face]:
        return self._flow.faces

    def show_faces(self, faces: Sequence[Face], pictures: Mapping[str, QPixmap]) -> None:
        if self._flow.show_faces(faces, pictures) and self.behind is not None:
            self._flow.follow(self.behind)
        self.setVisible(bool(faces))
        self._refit()

    def show_picture(self, key: str, picture: QPixmap) -> None:
        self._flow.show_picture(key, picture)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._refit()

    def _refit(self) -> None:
        width = self.viewport().width()
        height = self._flow.fit(width)
        self._flow.resize(width, height)
        most = scaled(HEIGHT + GAP) * _MOST_ROWS + scaled(HEIGHT) // 2
        if (wanted := min(height, most)) != self.height():
            self.setFixedHeight(wanted)

    def _remove(self, key: str) -> None:
        place = next((at for at, face in enumerate(self.faces) if face.key == key), 0)
        had_keyboard = self.isAncestorOf(self.focusWidget() or self)
        self.removed.emit(key)
        if had_keyboard and not self._flow.focus_next_to(place):
            self.emptied.emit()
