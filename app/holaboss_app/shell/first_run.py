"""The first start: connect something to talk to, then name a place to work in. Two steps, nothing else to
read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from holaboss_app.shell.look import button, column, frame, label, row
from holaboss_app.theme.icons import app_icon
from holaboss_app.theme.style import scale, scaled, theme_notifier

if TYPE_CHECKING:
    from holaboss_client.config import LocalServer, ProviderCatalogue, ProviderView

DEMO = "demo"
WIDTH = 720

LARGEST_WITH_TWO_COLUMNS = 1.3
"""With larger text than that, two cards beside each other are wider than the window."""

NAMED_MODELS = 2
"""As many models of a local server are named on its card."""


class FirstRunPage(QWidget):
    """Shows what it is given; connecting and creating is its owner's work."""

    connect_requested = Signal(str, object)
    """Provider id, and the `LocalServer` that was found, or None for the demo model."""
    settings_requested = Signal(str)
    """A section of the settings, for a provider that wants a key."""
    create_requested = Signal(str)
    skipped = Signal()
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
        self._steps = QStackedWidget()
        self._steps.addWidget(self._build_providers())
        self._steps.addWidget(self._build_workspace())
        inside = QWidget()
        inside.setProperty("clear", True)
        self._inside = inside
        layout = column(inside, margins=24, spacing=16)
        layout.addStretch(1)
        layout.addWidget(self._logo)
        layout.addWidget(self._notice)
        layout.addWidget(self._steps)
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
        self._steps.setCurrentIndex(0)

    def show_local_servers(self, servers: list[LocalServer]) -> None:
        """What answers on this computer; nothing is shown when nothing does."""
        self._servers = servers
        _empty(self._found)
        for server in servers:
            self._found.addWidget(self._server_card(server))
        self._found_box.setVisible(bool(servers))
        self._fill_cards()

    def show_notices(self, sentences: list[str]) -> None:
        """What the person should know about the configuration before anything else, on both steps."""
        self._notice_text.setText("\n".join(sentences))
        self._notice.setVisible(bool(sentences))

    def show_workspace_step(self) -> None:
        """Step two."""
        self._error.hide()
        self._allow()
        self._steps.setCurrentIndex(1)
        self._name.setFocus()

    def fail(self, sentence: str) -> None:
        self._error.setText(sentence)
        self._error.show()
        self._allow()

    def _fill_cards(self) -> None:
        _empty(self._cards)
        columns = 1 if scale() > LARGEST_WITH_TWO_COLUMNS else 2
        self._cards.setColumnStretch(1, columns - 1)
        elsewhere = {DEMO, *(server.provider_id for server in self._servers)}
        providers = self._catalogue.providers if self._catalogue is not None else []
        for index, provider in enumerate(item for item in providers if item.id not in elsewhere):
            self._cards.addWidget(self._provider_card(provider), index // columns, index % columns)

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
        self._demo = self._demo_card()
        layout.addWidget(self._demo)
        actions = row(spacing=8)
        actions.addWidget(
            button(
                self.tr("Look for local servers again"),
                "first-run-look-again",
                self.look_again_requested.emit,
                kind="ghost",
                icon_name="refresh",
            )
        )
        actions.addStretch(1)
        actions.addWidget(button(self.tr("Skip for now"), "first-run-skip", self.skipped.emit, kind="ghost"))
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
        layout.addStretch(1)
        return step

    def _provider_card(self, provider: ProviderView) -> QFrame:
        opened = partial(self.settings_requested.emit, f"models/{provider.id}")
        action = button(self.tr("Set up"), f"first-run-{provider.id}", opened)
        action.setAccessibleName(self.tr("Set up {name}").format(name=provider.name))
        return _card(provider.name, provider.description, action)

    def _server_card(self, server: LocalServer) -> QFrame:
        connect = partial(self.connect_requested.emit, server.provider_id, server)
        action = button(self.tr("Connect"), f"first-run-{server.provider_id}-found", connect, kind="primary")
        action.setAccessibleName(self.tr("Connect {name}").format(name=server.name))
        shown = ", ".join(server.models[:NAMED_MODELS]) + (", …" if len(server.models) > NAMED_MODELS else "")
        told = " · ".join(filter(None, (server.base_url, shown)))
        return _card(server.name, told, action)

    def _demo_card(self) -> QFrame:
        connect = partial(self.connect_requested.emit, DEMO, None)
        action = button(self.tr("Try it"), "first-run-demo", connect)
        action.setAccessibleName(self.tr("Try the demo model"))
        told = self.tr("No key, no network: scripted answers that show what the product does.")
        return _card(self.tr("Demo model (offline, scripted)"), told, action)

    def _allow(self) -> None:
        self._create.setEnabled(bool(self._name.text().strip()))

    def _submit(self) -> None:
        name = self._name.text().strip()
        if name and self._create.isEnabled():
            self._create.setEnabled(False)
            self._error.hide()
            self.create_requested.emit(name)

    def _redress(self) -> None:
        self._inside.setMaximumWidth(scaled(WIDTH))
        self._logo.setPixmap(app_icon().pixmap(QSize(scaled(44), scaled(44)), self.devicePixelRatioF()))


def _card(title: str, text: str, action: QWidget) -> QFrame:
    card = frame("card")
    layout = row(card, spacing=12)
    layout.setContentsMargins(14, 10, 10, 10)
    words = column(spacing=2)
    words.addWidget(label(title, "heading"))
    words.addWidget(label(text, "small", wrap=True))
    layout.addLayout(words, 1)
    layout.addWidget(action, 0, Qt.AlignmentFlag.AlignVCenter)
    return card


def _empty(layout: QLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
