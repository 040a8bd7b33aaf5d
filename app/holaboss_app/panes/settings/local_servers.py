"""Model servers found running on this computer, each one click away from being connected."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QFrame, QPushButton, QWidget

from holaboss_app.panes.settings.parts import IconLabel, column, push_button, row, text_label
from holaboss_app.theme.focus import follow_layout, set_waiting
from holaboss_client.config import LocalServer, ProviderCatalogue


class LocalServersCard(QFrame):
    """Emits `connect_requested` with the `LocalServer`, and `refresh_requested` to look again."""

    connect_requested = Signal(LocalServer)
    refresh_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("local-servers")
        self.setProperty("surface", "card")
        self._servers: list[LocalServer] = []
        self._connected: dict[str, str] = {}
        self._connecting = False
        """The button of a row was pressed that had the keyboard, and goes with its row."""
        self.refresh = push_button(
            self.tr("Refresh"), "refresh-local-servers", kind="ghost", icon_name="refresh"
        )
        self.refresh.clicked.connect(self.refresh_requested)
        head = row()
        head.addWidget(text_label(self.tr("On this computer"), "heading"), 1)
        head.addWidget(self.refresh)
        self.status = text_label("", "small")
        self.status.setObjectName("local-servers-status")
        listing = QWidget()
        self._rows = column(listing, spacing=8)
        layout = column(self, spacing=8, margins=16)
        layout.addLayout(head)
        layout.addWidget(self.status)
        layout.addWidget(listing)

    def set_searching(self) -> None:
        set_waiting(self.refresh, True)
        self.status.setText(self.tr("Looking for Ollama, LM Studio, llama.cpp and vLLM…"))
        self.status.show()

    def show_servers(self, servers: list[LocalServer]) -> None:
        self._servers = servers
        set_waiting(self.refresh, False)
        none = self.tr("No model server answers on the usual ports of Ollama, LM Studio, llama.cpp and vLLM.")
        self.status.setText("" if servers else none)
        self.status.setVisible(not servers)
        self._rebuild()

    def fail(self, sentence: str) -> None:
        """Say why looking or connecting did not work; an empty sentence takes it back."""
        set_waiting(self.refresh, False)
        self.status.setText(sentence)
        self.status.setVisible(bool(sentence))
        if sentence:
            self._rebuild()

    def show_catalogue(self, catalogue: ProviderCatalogue) -> None:
        self._connected = {view.id: view.base_url for view in catalogue.providers if view.connected}
        self._rebuild()

    def _rebuild(self) -> None:
        had_focus, self._connecting = self._connecting and QApplication.focusWidget() is None, False
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                had_focus = had_focus or widget.isAncestorOf(QApplication.focusWidget() or self)
                widget.hide()
                widget.deleteLater()
        for server in self._servers:
            self._rows.addWidget(self._row(server))
        if had_focus:
            self.refresh.setFocus()
        follow_layout(self)

    def _row(self, server: LocalServer) -> QWidget:
        box = QWidget()
        line = row(spacing=12)
        box.setLayout(line)
        words = column(words_box := QWidget(), spacing=2)
        words.addWidget(text_label(server.name, wrap=False))
        models = ", ".join(server.models[:3]) + ("…" if len(server.models) > 3 else "")
        words.addWidget(text_label(f"{server.base_url} · {models}" if models else server.base_url, "small"))
        line.addWidget(IconLabel("server", "text_muted", 18))
        line.addWidget(words_box, 1)
        if self._connected.get(server.provider_id, "").rstrip("/") == server.base_url.rstrip("/"):
            line.addWidget(text_label(self.tr("Connected"), "success", wrap=False))
        else:
            line.addWidget(self._connect_button(server))
        return box

    def _connect_button(self, server: LocalServer) -> QPushButton:
        button = push_button(self.tr("Connect"), f"connect-local-{server.provider_id}")
        button.setAccessibleName(self.tr("Connect: {name}").format(name=server.name))
        button.clicked.connect(lambda: self._connect(button, server))
        return button

    def _connect(self, button: QPushButton, server: LocalServer) -> None:
        self._connecting = button.hasFocus()
        set_waiting(button, True)  # until the rows are made anew
        self.connect_requested.emit(server)
