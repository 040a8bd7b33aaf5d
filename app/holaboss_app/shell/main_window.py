"""The window: rail, top bar, banner and one page at a time. It arranges what it is given and decides
nothing."""

from __future__ import annotations

import base64
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeySequence, QPaintEvent
from PySide6.QtWidgets import QFrame, QMainWindow, QSplitter, QStackedWidget, QWidget

from holaboss_app.core.shortcuts import Action
from holaboss_app.shell.banner import RuntimeBanner
from holaboss_app.shell.boot import BootPage
from holaboss_app.shell.commands import entries
from holaboss_app.shell.first_run import FirstRunPage
from holaboss_app.shell.look import IconButton, column, frame, row
from holaboss_app.shell.rail import Rail
from holaboss_app.shell.switcher import WorkspaceSwitcher
from holaboss_app.shell.toasts import Toasts
from holaboss_app.theme.icons import app_icon
from holaboss_app.theme.menus import rounded

Built = TypeVar("Built", bound=QWidget)

DEFAULT_SIZE, SMALLEST_SIZE = QSize(1280, 820), QSize(760, 520)
FILES_WIDTH, FILES_LEAST, CHAT_LEAST = 300, 180, 360


class Page(StrEnum):
    BOOT = "boot"
    FIRST_RUN = "first-run"
    SPACE = "space"
    SETTINGS = "settings"


class MainWindow(QMainWindow):
    commanded = Signal(str)
    """One of `commands.entries()`, from a menu, a button or a shortcut."""
    close_requested = Signal()
    first_painted = Signal()
    became_active = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("main-window")
        self.setWindowTitle("Holaboss")
        self.setWindowIcon(app_icon())
        self.setMinimumSize(SMALLEST_SIZE)
        self._painted = False
        self.rail = Rail()
        self.switcher = WorkspaceSwitcher()
        self.banner = RuntimeBanner()
        self.boot = BootPage()
        self.first_run = FirstRunPage()
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.toasts = Toasts(self)
        self._pages: dict[Page, QWidget] = {}
        self._cards: list[QFrame] = []
        self._chat: QWidget | None = None
        self._actions: dict[str, QAction] = {}
        self._stack = QStackedWidget()
        self._build()
        self._build_menus()
        self.show_page(Page.BOOT)
        self.setFocus()  # nothing is to be typed yet, so nothing shows a focus ring

    @property
    def page(self) -> Page:
        return next(page for page, widget in self._pages.items() if widget is self._stack.currentWidget())

    def show_page(self, page: Page) -> None:
        self._stack.setCurrentWidget(self._pages[page])
        self._top.setVisible(page == Page.SPACE)
        self.rail.mark(page.value)

    def set_panes(self, files: QWidget, chat: QWidget) -> None:
        """The two panes of the space, in their cards."""
        for pane, least in ((files, FILES_LEAST), (chat, CHAT_LEAST)):
            card = frame("pane")
            inside = column(card, margins=1)
            inside.addWidget(pane)
            card.setMinimumWidth(least)
            self.splitter.addWidget(card)
            self._cards.append(card)
        self._chat = chat
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setCollapsible(0, False)
        self.splitter.setCollapsible(1, False)

    def add_settings(self, make: Callable[[QWidget], Built]) -> Built:
        """`make` gets the parent of what it makes: what is built where it stays is styled once, not twice."""
        holder = QWidget(self._stack)
        holder.setContentsMargins(4, 8, 8, 8)
        page = make(holder)
        column(holder).addWidget(page)
        self._add_page(Page.SETTINGS, holder)
        return page

    def focus_chat(self) -> None:
        """Put the caret where a message is written."""
        if self._chat is not None:
            self._chat.setFocus()

    def arrange(self, *, files_visible: bool, sizes: list[int]) -> None:
        """Lay the panes out; without `sizes` the file pane gets its usual width."""
        self._cards[0].setVisible(files_visible)
        self._actions[Action.TOGGLE_FILES].setChecked(files_visible)
        self._files_button.setChecked(files_visible)
        width = max(self.splitter.width(), FILES_WIDTH + CHAT_LEAST)
        self.splitter.setSizes(sizes if len(sizes) == 2 else [FILES_WIDTH, width - FILES_WIDTH])

    def restore_geometry_text(self, text: str | None) -> None:
        """Where the window was last time, if any screen still shows that place."""
        available = QGuiApplication.primaryScreen().availableGeometry()
        if text is None or not self.restoreGeometry(QByteArray(base64.b64decode(text))):
            self.resize(DEFAULT_SIZE.boundedTo(available.size()))
        elif not any(
            s.availableGeometry().intersects(self.frameGeometry()) for s in QGuiApplication.screens()
        ):
            self.resize(self.size().boundedTo(available.size()))
            self.move(available.topLeft())

    def geometry_text(self) -> str:
        return base64.b64encode(self.saveGeometry().data()).decode()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            self.first_painted.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.became_active.emit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window goes when its owner has put everything down, not before."""
        event.ignore()
        self.close_requested.emit()

    def _build(self) -> None:
        central = frame("window")
        outer = row(central, spacing=0)
        outer.addWidget(self.rail)
        right = column(spacing=0)
        outer.addLayout(right, 1)
        self._top = self._build_top_bar()
        right.addWidget(self._top)
        right.addWidget(self.banner)
        right.addWidget(self._stack, 1)
        space = QWidget()
        column(space).addWidget(self.splitter)
        space.setContentsMargins(4, 0, 8, 8)
        self.splitter.setObjectName("space-splitter")
        self.splitter.setHandleWidth(8)
        for page, widget in ((Page.BOOT, self.boot), (Page.FIRST_RUN, self.first_run), (Page.SPACE, space)):
            self._add_page(page, widget)
        self.setCentralWidget(central)

    def _build_top_bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("top-bar")
        layout = row(bar, spacing=8)
        layout.setContentsMargins(4, 6, 10, 6)
        layout.addWidget(self.switcher)
        layout.addStretch(1)
        self._files_button = IconButton(
            "toggle-files", "layout", self.tr("Show or hide the files"), self._toggle_files
        )
        self._files_button.setCheckable(True)
        palette = IconButton(
            "open-palette", "search", self.tr("Command palette"), lambda: self.commanded.emit("palette")
        )
        layout.addWidget(palette)
        layout.addWidget(self._files_button)
        return bar

    def _build_menus(self) -> None:
        for entry in entries():
            menu = self.findChild(QWidget, f"menu-{entry.menu}") or self._add_menu(entry.menu)
            action = QAction(entry.title, self)
            action.setObjectName(f"action-{entry.command}")
            action.setCheckable(entry.checkable)
            if entry.keys:
                # Plus needs Shift on many keyboards; the key itself should do. The same keys twice would be ambiguous
                # to Qt, which then does nothing.
                spellings = dict.fromkeys((entry.keys, entry.keys.replace("++", "+=")))
                action.setShortcuts([QKeySequence(keys) for keys in spellings])
            action.triggered.connect(lambda _=False, command=entry.command: self.commanded.emit(str(command)))
            menu.addAction(action)
            self._actions[entry.command] = action

    def _add_menu(self, title: str) -> QWidget:
        menu = rounded(self.menuBar().addMenu(title))
        menu.setObjectName(f"menu-{title}")
        return menu

    def _toggle_files(self) -> None:
        self.commanded.emit(Action.TOGGLE_FILES.value)

    def _add_page(self, page: Page, widget: QWidget) -> None:
        self._pages[page] = widget
        self._stack.addWidget(widget)
