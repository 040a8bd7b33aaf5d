"""The Connections section: the MCP servers of the workspace on screen, a card for each, and how to add one."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from holaboss_app.panes.settings.connection_card import ConnectionCard
from holaboss_app.panes.settings.connection_parts import ReadText
from holaboss_app.panes.settings.connection_words import EXAMPLE
from holaboss_app.panes.settings.parts import Notice, column, push_button, row, text_label
from holaboss_app.panes.settings.text import breakable
from holaboss_app.theme.focus import follow_layout
from holaboss_client.mcp import McpServerList, McpServerView


class ConnectionsSection(QWidget):
    """`shown` is emitted each time somebody comes to look, `acted` passes on what a card is asked for."""

    shown = Signal()
    acted = Signal(str, McpServerView)
    reload_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[str, ConnectionCard] = {}
        self._about = text_label("", "muted")
        self.notice = Notice(icon_name="info", surface="sunken")
        self.notice.setObjectName("connections-notice")
        self.trouble = Notice(surface="danger")
        self.trouble.setObjectName("connections-trouble")
        retry = self.trouble.add_button(push_button(self.tr("Try again"), "reload-connections"))
        retry.clicked.connect(self.reload_requested)
        self.adding = self._build_adding()
        self._column = column(cards := QWidget(), spacing=12)
        layout = column(self, spacing=12)
        for widget in (self._about, self.notice, self.trouble, cards, self.adding):
            layout.addWidget(widget)
        layout.addStretch(1)
        self.show_nothing()

    def _build_adding(self) -> QFrame:
        card = QFrame()
        card.setObjectName("add-connection")
        card.setProperty("surface", "card")
        self._adding_title = text_label("", "heading")
        self.example = ReadText("connection-example", self.tr("Example for workspace.yaml"), lines=12)
        self.example.show_text(EXAMPLE.rstrip("\n"))
        copy = push_button(self.tr("Copy example"), "copy-connection-example", icon_name="copy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(EXAMPLE))
        words = self.tr(
            "Connections are MCP servers: programs on this computer, or addresses, that give the agent more tools."
            " Name them in the file workspace.yaml of this workspace, for example like this:"
        )
        buttons = row()
        buttons.addWidget(copy)
        buttons.addStretch(1)
        layout = column(card, spacing=10, margins=14)
        for widget in (self._adding_title, text_label(words), self.example):
            layout.addWidget(widget)
        layout.addLayout(buttons)
        return card

    # What the presenter tells

    def show_nothing(self) -> None:
        """No workspace is open."""
        self._forget({})
        self._about.setText(self.tr("Open a workspace to see its connections."))
        self.notice.say("")
        self.trouble.say("")
        self.adding.hide()

    def show_loading(self, workspace: str) -> None:
        """Another workspace is on screen, and nothing is known of it yet."""
        self._forget({})
        self._describe(workspace)
        self.adding.hide()
        self.trouble.say("")
        self.notice.say(self.tr("Looking at the connections…"))

    def show_servers(self, workspace: str, found: McpServerList) -> None:
        """Bring every card up to date; new ones are added, vanished ones removed."""
        self._describe(workspace)
        self.trouble.say("")
        idle = self.tr("The agent's process does not run at the moment. Each server is shown as it was last.")
        self.notice.say("" if found.live or not found.items else idle)
        self._forget({view.name: view for view in found.items})
        for place, view in enumerate(found.items):
            card = self._card(view)
            if self._column.indexOf(card) != place:
                self._column.insertWidget(place, card)
            card.show_view(view)
        follow_layout(self)
        none = self.tr("This workspace has no connections yet")
        self._adding_title.setText(self.tr("Add a connection") if found.items else none)
        self.adding.show()

    def show_trouble(self, workspace: str, sentence: str) -> None:
        """Nothing could be read, for example because workspace.yaml is not valid; what is shown stays."""
        self._describe(workspace)
        self.notice.say("")
        self.trouble.say(breakable(sentence))
        self._adding_title.setText(self.tr("Add a connection"))
        self.adding.show()

    def runtime_gone(self, sentence: str) -> None:
        self.notice.say(sentence)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    # Inside

    def _describe(self, workspace: str) -> None:
        words = self.tr("The MCP servers of “{name}”, as they stand in its workspace.yaml.")
        self._about.setText(breakable(words.format(name=workspace)))

    def _forget(self, kept: dict[str, McpServerView]) -> None:
        for gone in self.cards.keys() - kept.keys():
            card = self.cards.pop(gone)
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()

    def _card(self, view: McpServerView) -> ConnectionCard:
        if (card := self.cards.get(view.name)) is None:
            card = self.cards[view.name] = ConnectionCard(view)
            card.acted.connect(self.acted)
        return card
