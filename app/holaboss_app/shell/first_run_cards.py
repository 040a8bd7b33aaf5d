"""The cards of the first start: a name, a line about it, and one button. They decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFrame, QWidget

from holaboss_app.shell.look import button, column, frame, label, row

if TYPE_CHECKING:
    from holaboss_client.config import LocalServer, ProviderView

NAMED_MODELS = 2
"""As many models of a local server are named on its card."""


def provider_card(provider: ProviderView, on_open: Callable[[], object]) -> QFrame:
    """A provider of the catalogue; it is set up in the settings."""
    words, spoken = _tr("Set up"), _tr("Set up {name}")
    if provider.connected:
        words, spoken = _tr("Change"), _tr("Change {name}")
    action = button(words, f"first-run-{provider.id}", on_open)
    action.setAccessibleName(spoken.format(name=provider.name))
    state = _tr("Connected") if provider.connected else ""
    return _card(provider.name, provider.description, action, state)


def other_card(on_open: Callable[[], object]) -> QFrame:
    action = button(_tr("Add"), "first-run-other", on_open)
    action.setAccessibleName(_tr("Add another provider"))
    return _card(_tr("Another provider"), _tr("Any server that speaks one of their protocols."), action)


def server_card(server: LocalServer, on_connect: Callable[[], object]) -> QFrame:
    """A server that answers on this computer."""
    action = button(_tr("Connect"), f"first-run-{server.provider_id}-found", on_connect, kind="primary")
    action.setAccessibleName(_tr("Connect {name}").format(name=server.name))
    shown = ", ".join(server.models[:NAMED_MODELS]) + (", …" if len(server.models) > NAMED_MODELS else "")
    return _card(server.name, " · ".join(filter(None, (server.base_url, shown))), action)


def demo_card(on_connect: Callable[[], object]) -> QFrame:
    action = button(_tr("Try it"), "first-run-demo", on_connect)
    action.setAccessibleName(_tr("Try the demo model"))
    told = _tr("No key, no network: scripted answers that show what the product does.")
    return _card(_tr("Demo model (offline, scripted)"), told, action)


def _card(title: str, text: str, action: QWidget, state: str = "") -> QFrame:
    card = frame("card")
    layout = row(card, spacing=12)
    layout.setContentsMargins(14, 10, 10, 10)
    words = column(spacing=2)
    words.addStretch(1)  # a short text beside a long one keeps its words together
    words.addWidget(label(title, "heading", wrap=True))
    words.addWidget(label(text, "small", wrap=True))
    if state:
        words.addWidget(label(state, "success"))
    words.addStretch(1)
    layout.addLayout(words, 1)
    layout.addWidget(action, 0, Qt.AlignmentFlag.AlignVCenter)
    return card


def _tr(text: str) -> str:
    return QCoreApplication.translate("FirstRunPage", text)
