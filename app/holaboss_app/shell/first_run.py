"""The first start: connect something to talk to, then name a place to work in. Two steps, nothing else to
read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from holaboss_app.shell import first_run_cards as cards
from holaboss_app.shell.look import button, column, frame, label, row
from holaboss_app.theme.focus import follow_layout, set_waiting
from holaboss_app.theme.icons import app_icon
from holaboss_app.theme.style import scale, scaled, theme_notifier

if TYPE_CHECKING:
    from holaboss_client.config import LocalServer, ProviderCatalogue

DEMO = "demo"
WIDTH = 720

LARGEST_WITH_TWO_COLUMNS = 1.3
"""With larger text than that, two cards beside each other are wider than the window."""


class FirstRunPage(QWidget):
    """Shows what it is given; connecting and creating is its owner's work."""

    connect_requested = Signal(str, object)
    """Provider id, and the `LocalServer` that was found, or None for the demo model."""
    settings_requested = Signal(str)
    """A section of the settings, for a provider that wants a key."""
    create_requested = Signal(str)
    skipped = Signal()
    back_requested = Signal()
    """From the second step to the first."""
    look_again_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("first-run")
        self._logo = QLabel()
        self._error = label("", "danger", wrap=True)
        self._error.setObjectName("first-run-error")
        self._error.hide()
        self._notice = self._build_notice()
        self._catalogue: ProviderCatalogue | None = None
        self._servers: list[LocalServer] = []
        self._asked = False
        # Not in a stack: that is always as tall as its tallest page, and the short one would scroll for nothing.
        self._providers, self._workspace = self._build_providers(), self._build_workspace()
        self._workspace.hide()
        inside = QWidget()
        inside.setProperty("clear", True)
        self._inside = inside
        layout = column(inside, margins=24, spacing=16)
        layout.addStretch(1)
        layout.addWidget(self._logo)
        layout.addWidget(self._notice)
        layout.addWidget(self._providers)
        layout.addWidget(self._workspace)
        layout.addWidget(self._error)
        layout.addStretch(2)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        holder = QWidget()
        holder.setProperty("clear", True)
        centred = row(holder)
        centred.addStretch(1)
        centred.addWidget(inside, 100)
        centred.addStretch(1)
        scroll.setWidget(holder)
        outer = column(self)
        outer.addWidget(scroll)
        theme_notifier().theme_changed.connect(self._redress)
        theme_notifier().theme_changed.connect(self._fill_cards)
        self._redress()

    def show_providers(self, catalogue: ProviderCatalogue) -> None:
        """Step one. The demo model, and every other provider; one that was found here has its card above."""
        self._error.hide()
        self._catalogue = catalogue
        self._fill_cards()
        demo = next((item for item in catalogue.providers if item.id == DEMO), None)
        self._demo.setVisible(demo is not None)
        connected = any(item.connected for item in catalogue.providers)
        self._skip.setText(self.tr("Continue") if connected else self.tr("Skip for now"))
        self._skip.setAccessibleName(self._skip.text())
        focus = QApplication.focusWidget()
        coming_back = focus is not None and self._workspace.isAncestorOf(focus)
        self._workspace.hide()
        self._providers.show()
        if coming_back:
            self._skip.setFocus()  # where the person came from

    def show_local_servers(self, servers: list[LocalServer]) -> None:
        """What answers on this computer; nothing is shown when nothing does."""
        self._servers = servers
        _empty(self._found)
        for server in servers:
            connect = partial(self.connect_requested.emit, server.provider_id, server)
            self._found.addWidget(cards.server_card(server, connect))
        self._found_box.setVisible(bool(servers))
        set_waiting(self._look, False)
        none = self.tr("No model server answers on the usual ports of Ollama, LM Studio, llama.cpp and vLLM.")
        self._say_of_search(none if self._asked and not servers else "")
        self._fill_cards()

    def show_notices(self, sentences: list[str]) -> None:
        """What the person should know about the configuration before anything else, on both steps."""
        self._notice_text.setText("\n".join(sentences))
        self._notice.setVisible(bool(sentences))

    def show_workspace_step(self) -> None:
        """Step two."""
        self._error.hide()
        self._allow()
        self._providers.hide()
        self._workspace.show()
        self._name.setFocus()

    def fail(self, sentence: str) -> None:
        self._error.setText(sentence)
        self._error.show()
        self._allow()

    def _fill_cards(self) -> None:
        now = QApplication.focusWidget()
        focused = now.objectName() if now is not None and self.isAncestorOf(now) else ""
        _empty(self._cards)
        columns = 1 if scale() > LARGEST_WITH_TWO_COLUMNS else 2
        self._cards.setColumnStretch(1, columns - 1)
        elsewhere = {DEMO, *(server.provider_id for server in self._servers)}
        providers = self._catalogue.providers if self._catalogue is not None else []
        for index, provider in enumerate(item for item in providers if item.id not in elsewhere):
            opened = partial(self.settings_requested.emit, f"models/{provider.id}")
            self._cards.addWidget(cards.provider_card(provider, opened), index // columns, index % columns)
        if providers:
            place, opened = self._cards.count(), partial(self.settings_requested.emit, "models/+")
            self._cards.addWidget(cards.other_card(opened), place // columns, place % columns)
        follow_layout(self)
        if focused and (again := self.findChild(QWidget, focused)) is not None:
            again.setFocus()

    def _build_notice(self) -> QFrame:
        notice = frame("warning")
        notice.setObjectName("first-run-notice")
        self._notice_text = label("", wrap=True, selectable=True)
        self._notice_text.setObjectName("first-run-notice-text")
        opened = partial(self.settings_requested.emit, "models")
        layout = column(notice, spacing=8)
        layout.setContentsMargins(14, 10, 14, 12)
        layout.addWidget(self._notice_text)
        go = button(self.tr("Open Model Providers"), "first-run-open-providers", opened)
        layout.addWidget(go, 0, Qt.AlignmentFlag.AlignLeft)
        notice.hide()
        return notice

    def _build_providers(self) -> QWidget:
        step = QWidget()
        layout = column(step, spacing=12)
        layout.addWidget(label(self.tr("Connect a model"), "title"))
        told = self.tr("Holaboss talks to the model you choose. Keys stay in the keychain of this computer.")
        layout.addWidget(label(told, "muted", wrap=True))
        self._found_box = QWidget()
        found = column(self._found_box, spacing=8)
        found.addWidget(label(self.tr("Found on this computer"), "small"))
        self._found = column(spacing=8)
        found.addLayout(self._found)
        self._found_box.hide()
        layout.addWidget(self._found_box)
        self._cards = QGridLayout()
        self._cards.setContentsMargins(0, 0, 0, 0)
        self._cards.setSpacing(8)
        self._cards.setColumnStretch(0, 1)
        self._cards.setColumnStretch(1, 1)
        layout.addLayout(self._cards)
        self._demo = cards.demo_card(partial(self.connect_requested.emit, DEMO, None))
        layout.addWidget(self._demo)
        self._search = label("", "small", wrap=True)
        self._search.setObjectName("first-run-search")
        self._search.hide()
        layout.addWidget(self._search)
        again = self.tr("Look for local servers again")
        self._look = button(
            again, "first-run-look-again", self._look_again, kind="ghost", icon_name="refresh"
        )
        self._skip = button(self.tr("Skip for now"), "first-run-skip", self.skipped.emit, kind="ghost")
        actions = row(spacing=8)
        actions.addWidget(self._look)
        actions.addStretch(1)
        actions.addWidget(self._skip)
        layout.addLayout(actions)
        layout.addStretch(1)
        return step

    def _build_workspace(self) -> QWidget:
        step = QWidget()
        layout = column(step, spacing=12)
        layout.addWidget(label(self.tr("Name your first workspace"), "title"))
        told = self.tr(
            "A workspace is a folder with its own instructions, files and conversations. "
            "You can make more of them at any time."
        )
        layout.addWidget(label(told, "muted", wrap=True))
        self._name = QLineEdit()
        self._name.setObjectName("workspace-name")
        self._name.setPlaceholderText(self.tr("Name, for example: Research"))
        self._name.setAccessibleName(self.tr("Name of the workspace"))
        self._name.setMaxLength(120)
        self._name.textChanged.connect(self._allow)
        self._name.returnPressed.connect(self._submit)
        self._create = button(self.tr("Create workspace"), "create-workspace", self._submit, kind="primary")
        self._create.setEnabled(False)
        line = row(spacing=8)
        line.addWidget(self._name, 1)
        line.addWidget(self._create)
        layout.addLayout(line)
        back = button(
            self.tr("Back to the models"),
            "first-run-back",
            self.back_requested.emit,
            kind="ghost",
            icon_name="chevron-left",
        )
        layout.addWidget(back, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        return step

    def _look_again(self) -> None:
        self._asked = True
        set_waiting(self._look, True)
        self._say_of_search(self.tr("Looking for Ollama, LM Studio, llama.cpp and vLLM…"))
        self.look_again_requested.emit()

    def _say_of_search(self, sentence: str) -> None:
        self._search.setText(sentence)
        self._search.setVisible(bool(sentence))

    def _allow(self) -> None:
        set_waiting(self._create, not self._name.text().strip())

    def _submit(self) -> None:
        name = self._name.text().strip()
        if name and self._create.isEnabled():
            set_waiting(self._create, True)
            self._error.hide()
            self.create_requested.emit(name)

    def _redress(self) -> None:
        self._inside.setMaximumWidth(scaled(WIDTH))
        self._logo.setPixmap(app_icon().pixmap(QSize(scaled(44), scaled(44)), self.devicePixelRatioF()))


def _empty(layout: QLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()  # not without a parent: what is still to be shown would become a window
            for inside in widget.findChildren(QWidget):
                inside.setObjectName("")  # nobody finds it any more
            widget.deleteLater()
