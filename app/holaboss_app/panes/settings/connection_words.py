"""What is said of a connection: its state in words and in a colour, and the facts beneath it. No widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QCoreApplication, QLocale

from holaboss_client.mcp import McpServerView

EXAMPLE: Final = """\
mcp_registry:
  servers:
    time:
      type: local
      command: [uvx, mcp-server-time]
    docs:
      type: remote
      url: https://example.com/mcp
"""
_COLOURS: Final = {
    "ready": "success",
    "starting": "info",
    "needs_consent": "warning",
    "needs_authorization": "warning",
    "unavailable": "warning",
    "failed": "danger",
}


@dataclass(frozen=True, slots=True)
class StateWords:
    """`token` is the colour of the dot, as a field of `Tokens`."""

    text: str
    token: str


def state_words(view: McpServerView) -> StateWords:
    token = _COLOURS.get(view.state, "text_muted")
    if view.consent is not None and view.consent.state == "changed" and view.state == "needs_consent":
        return StateWords(_tr("Changed since you allowed it"), token)
    words = {
        "ready": _tr("Connected"),
        "starting": _tr("Starting…"),
        "idle": _tr("Starts when the agent needs it"),
        "stopped": _tr("Stopped"),
        "failed": _tr("Failed"),
        "needs_consent": _tr("Not allowed yet"),
        "needs_authorization": _tr("Wants you to sign in"),
        "unavailable": _tr("Something it needs is missing"),
        "disabled": _tr("Switched off in workspace.yaml"),
    }
    return StateWords(words[view.state], token)


def kind_words(view: McpServerView) -> str:
    return _tr("Program on this computer") if view.type == "local" else _tr("Server at an address")


def what_it_is(view: McpServerView) -> str:
    """The command as it would be started, or the address."""
    if view.type == "remote":
        return view.url or ""
    return view.consent.command_text if view.consent is not None else " ".join(view.command)


def facts(view: McpServerView) -> str:
    """What was measured, in one line."""
    parts: list[str] = []
    if view.protocol_revision:
        parts.append(_tr("Protocol %1").replace("%1", view.protocol_revision))
    if view.tool_count or (view.state == "ready" and view.tool_count is not None):
        parts.append(_count(view.tool_count))
    if view.context_tokens:
        parts.append(_tr("about %1 tokens in a prompt").replace("%1", _number(view.context_tokens)))
    if view.memory_bytes:
        parts.append(_tr("%1 MB of memory").replace("%1", _number(max(1, round(view.memory_bytes / 1e6)))))
    if view.restarts:
        times = _tr("restarted %1 times").replace("%1", str(view.restarts))
        parts.append(_tr("restarted once") if view.restarts == 1 else times)
    return "  ·  ".join(parts)


def signed_in(view: McpServerView) -> str:
    """Who gave the authorization; empty without one."""
    if view.authorization is None or not view.authorization.authorized:
        return ""
    issuer = view.authorization.issuer
    return _tr("Signed in at %1").replace("%1", issuer) if issuer else _tr("Signed in")


def warning(view: McpServerView) -> str:
    """Why a person should look twice before they allow it; empty where there is nothing to allow."""
    if view.state != "needs_consent" or view.consent is None:
        return ""
    rights = _tr(
        "It runs with your rights, and nothing holds it back; files of this workspace that it starts from can"
        " change without you being asked again. Allow it only if you know what it does."
    )
    if view.consent.state != "changed":
        return f"{_tr('A file of this workspace names this command. Nobody has allowed it yet.')} {rights}"
    return f"{rights} {_tr('It is not the command that you allowed before, which was:')}"


def tools_title(view: McpServerView, *, shown: bool) -> str:
    if shown:
        return _tr("Hide tools")
    return _tr("Show tools (%1)").replace("%1", str(len(view.tools)))


def _count(number: int) -> str:
    return _tr("1 tool") if number == 1 else _tr("%1 tools").replace("%1", _number(number))


def _number(number: int) -> str:
    return QLocale().toString(number)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Connections", text)
