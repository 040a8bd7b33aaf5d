"""The settings page: a list of sections on the left, the chosen one on the right. Not a dialog."""

from __future__ import annotations

import platform
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from holaboss_app.panes.settings.appearance_section import AppearanceSection
from holaboss_app.panes.settings.connections_section import ConnectionsSection
from holaboss_app.panes.settings.facts_section import AboutSection, PrivacySection
from holaboss_app.panes.settings.models_section import ModelsSection
from holaboss_app.panes.settings.parts import column, reveal, row, text_label
from holaboss_app.theme.focus import follow_layout
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled, theme_notifier
from holaboss_app.theme.tokens import MEASURE
from holaboss_client import PRODUCT_VERSION

SECTIONS: Final = ("models", "connections", "appearance", "privacy", "about")
NEW: Final = "+"
"""`models/+`: no provider has such an id."""

NARROW: Final = 620
"""Below this width, at 100 % text, the list shows icons only."""


class SettingsPage(QWidget):
    """`opened` is emitted each time the page comes into view, `closed` when the person goes back."""

    opened = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settings-page")
        self.models = ModelsSection()
        self.connections = ConnectionsSection()
        self.appearance = AppearanceSection()
        self.privacy = PrivacySection()
        self.about = AboutSection(PRODUCT_VERSION, _libraries())
        self._stack = QStackedWidget(self)
        self._revealed: QWidget | None = None
        self._build_list()
        body = row(spacing=0)
        listing = row()
        listing.setContentsMargins(8, 8, 8, 8)
        listing.addWidget(self._list)
        body.addLayout(listing)
        body.addWidget(_divider())
        body.addWidget(self._stack, 1)
        layout = column(self, spacing=0)
        layout.addLayout(self._build_head())
        layout.addLayout(body, 1)
        self.models.custom.opened.connect(self._show_custom)
        theme_notifier().theme_changed.connect(self._fit)
        self._list.setCurrentRow(0)
        self._fit()

    def _build_head(self) -> QHBoxLayout:
        self._back = back = QToolButton()
        back.setObjectName("close-settings")
        back.setIcon(icon("chevron-left"))
        back.setAccessibleName(self.tr("Back to the workspace"))
        back.setToolTip(self.tr("Back to the workspace (Esc)"))
        back.clicked.connect(self.closed)
        head = row(spacing=8)
        head.setContentsMargins(12, 12, 16, 12)
        head.addWidget(back)
        head.addWidget(text_label(self.tr("Settings"), "title", wrap=False))
        head.addStretch(1)
        return head

    def _build_list(self) -> None:
        self._list = QListWidget()
        self._list.setObjectName("settings-sections")
        self._list.setAccessibleName(self.tr("Sections of the settings"))
        self._list.setProperty("ring", "true")
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._areas: list[QScrollArea] = []
        self._titles = [
            self.tr("Model Providers"),
            self.tr("Connections"),
            self.tr("Appearance"),
            self.tr("Data & privacy"),
            self.tr("About"),
        ]
        icons = ("sparkle", "server", "palette", "shield", "info")
        sections = (self.models, self.connections, self.appearance, self.privacy, self.about)
        for title, icon_name, section in zip(self._titles, icons, sections, strict=True):
            item = QListWidgetItem(icon(icon_name), title)
            item.setToolTip(title)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, title)
            self._list.addItem(item)
            self._areas.append(_scrolling(title, section, self._stack))
            self._stack.addWidget(self._areas[-1])
        self._list.currentRowChanged.connect(self._stack.setCurrentIndex)

    @property
    def section(self) -> str:
        return SECTIONS[self._stack.currentIndex()]

    def show_section(self, path: str) -> bool:
        """`models`, `connections`, `appearance`, `privacy`, `about`; `models/<provider id>` opens that card, and
        `models/+` the form of a new provider.

        False when there is no such card, or not yet.
        """
        name, _, detail = path.partition("/")
        self._list.setCurrentRow(SECTIONS.index(name) if name in SECTIONS else 0)
        if not detail:
            return True
        if detail == NEW and self.models.cards:
            self.models.start_custom()
            return True
        card = self.models.reveal(detail)
        if card is None:
            return False
        self._show_whole(card, card.first_input)
        return True

    def keep_in_sight(self) -> None:
        """Something came above what the page was opened for: stay with that, while the keyboard is in it."""
        focused, part = QApplication.focusWidget(), self._revealed
        if part is not None and focused is not None and part.isAncestorOf(focused):
            reveal(part)

    def _show_custom(self) -> None:
        self._show_whole(self.models.custom, self.models.custom.name)

    def _show_whole(self, part: QWidget, caret: QWidget) -> None:
        """Scroll to `part` and put the caret into it; it has its final place only after the next layout."""

        def show() -> None:
            caret.setFocus(Qt.FocusReason.OtherFocusReason)
            self._revealed = part
            reveal(part)

        QTimer.singleShot(0, part, show)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape goes back, unless what has the focus wanted it for itself."""
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.opened.emit()
        follow_layout(self)  # only in its window is the order of its own parts settled
        QTimer.singleShot(0, self, self._take_keyboard)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _take_keyboard(self) -> None:
        """It comes to the list of sections, not to the button that leads back."""
        if self.isVisible() and QApplication.focusWidget() in (None, self._back):
            self._list.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit(self) -> None:
        narrow = self.width() < scaled(NARROW)
        self._list.setFixedWidth(scaled(32 if narrow else 176))
        self._list.setIconSize(QSize(scaled(16), scaled(16)))
        for index, title in enumerate(self._titles):
            item = self._list.item(index)
            item.setText("" if narrow else title)
            item.setSizeHint(QSize(0, scaled(36)))


def _scrolling(title: str, section: QWidget, stack: QStackedWidget) -> QScrollArea:
    """A section under its title, centred, no wider than text can be read.

    Built from the outside in: Qt works out the style of a whole tree again whenever the tree gets another parent.
    """
    area = QScrollArea(stack)
    content = QWidget(area.viewport())
    area.setWidget(content)
    content.setProperty("clear", "true")
    layout = column(content, spacing=16, margins=20)
    layout.addWidget(text_label(title, "title"))
    layout.addWidget(section, 1)
    content.setMaximumWidth(MEASURE + 40)
    area.setWidgetResizable(True)
    area.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def _divider() -> QFrame:
    line = QFrame()
    line.setProperty("surface", "divider")
    line.setFixedWidth(1)
    return line


def _libraries() -> str:
    import PySide6

    return f"Qt for Python {PySide6.__version__}, Python {platform.python_version()}"
