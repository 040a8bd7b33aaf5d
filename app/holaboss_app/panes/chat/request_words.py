"""Requests in words: what a call would do, what a rule would allow from now on."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from holaboss_app.core.requests import Request
from holaboss_client.permissions import RuleText

_LONGEST = 48


def headline(request: Request) -> str:
    """What a person is asked to allow, as a short heading."""
    translate = QCoreApplication.translate
    path = str(request.arguments.get("path") or request.arguments.get("file_path") or "")
    if request.tool.startswith("mcp__"):
        _, server, tool = ([*request.tool.split("__", 2), "", ""])[:3]
        return translate("Request", "Use %1 of %2?").replace("%1", tool).replace("%2", server)
    titles = {
        "bash": translate("Request", "Run this command?"),
        "terminal_session_start": translate("Request", "Start this in a terminal?"),
        "terminal_session_send_input": translate("Request", "Type this into a terminal?"),
        "write": translate("Request", "Write %1?"),
        "edit": translate("Request", "Change %1?"),
        "read": translate("Request", "Read %1?"),
        "download_url": translate("Request", "Download this?"),
        "delegate_task": translate("Request", "Hand this over to a subagent?"),
        "image_generate": translate("Request", "Have this picture drawn?"),
    }
    words = titles.get(request.tool, translate("Request", "Use %1?"))
    return words.replace("%1", path or request.tool)


def drawing(request: Request) -> str:
    """The name of its icon."""
    drawings = {"bash": "terminal", "write": "pencil", "edit": "pencil", "download_url": "download"}
    if request.kind == "question":
        return "chat"
    return "server" if request.tool.startswith("mcp__") else drawings.get(request.tool, "shield")


def rule_words(rule: RuleText) -> str:
    """What would be allowed from now on."""
    translate = QCoreApplication.translate
    if rule.command is not None and rule.command.startswith("="):
        exact = translate("Request", "Exactly “%1”")
        return exact.replace("%1", _short(rule.command.removeprefix("=")))
    if rule.command is not None:
        return translate("Request", "Commands that begin with “%1”").replace("%1", _short(rule.command))
    if rule.host is not None:
        return translate("Request", "Everything from %1").replace("%1", rule.host)
    if rule.path is not None:
        folder = rule.path.removesuffix("/**")
        words = (
            translate("Request", "Everything in %1")
            if folder != rule.path
            else translate("Request", "This file: %1")
        )
        return words.replace("%1", _short(folder))
    if rule.tool.startswith("mcp__"):
        _, server, tool = ([*rule.tool.split("__", 2), "", ""])[:3]
        if tool in ("", "*"):
            return translate("Request", "Every tool of %1").replace("%1", server)
        return translate("Request", "%1 of %2").replace("%1", tool).replace("%2", server)
    return translate("Request", "Every use of %1").replace("%1", rule.tool)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
