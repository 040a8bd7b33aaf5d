"""Requests in words: what a call would do, what a rule would allow from now on."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from holaboss_app.core.requests import Request
from holaboss_app.core.visible import spelt_out
from holaboss_client.permissions import RuleText

_LONGEST = 48
_LONGEST_PATH = 200


def headline(request: Request) -> str:
    """What a person is asked to allow, as a short heading."""
    translate = QCoreApplication.translate
    path = _line(str(request.arguments.get("path") or ""), _LONGEST_PATH)
    if request.tool.startswith("mcp__"):
        _, server, tool = ([*request.tool.split("__", 2), "", ""])[:3]
        return translate("Request", "Use %1 of %2?").replace("%1", _line(tool)).replace("%2", _line(server))
    beside = request.tool == "bash" and bool(request.arguments.get("background"))
    titles = {
        "bash": translate("Request", "Run this command in the background?")
        if beside
        else translate("Request", "Run this command?"),
        "terminal_session_start": translate("Request", "Start this in a terminal?"),
        "terminal_session_send_input": translate("Request", "Type this into a terminal?"),
        "write": translate("Request", "Write %1?"),
        "edit": translate("Request", "Change %1?"),
        "read": translate("Request", "Read %1?"),
        "download_url": translate("Request", "Download this?"),
        "delegate_task": translate("Request", "Hand this over to a subagent?"),
        "image_generate": translate("Request", "Have this picture drawn?"),
    }
    if request.tool not in titles:
        return translate("Request", "Use %1?").replace("%1", _line(request.tool))
    return titles[request.tool].replace("%1", path or _line(request.tool))


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
        return exact.replace("%1", _line(rule.command.removeprefix("=")))
    if rule.command is not None:
        return translate("Request", "Commands that begin with “%1”").replace("%1", _line(rule.command))
    if rule.host is not None:
        return translate("Request", "Everything from %1").replace("%1", _line(rule.host, _LONGEST_PATH))
    if rule.path is not None:
        return _path_words(rule.tool, rule.path)
    if rule.tool.startswith("mcp__"):
        _, server, tool = ([*rule.tool.split("__", 2), "", ""])[:3]
        if tool in ("", "*"):
            return translate("Request", "Every tool of %1").replace("%1", server)
        return translate("Request", "%1 of %2").replace("%1", tool).replace("%2", server)
    return translate("Request", "Every use of %1").replace("%1", rule.tool)


def _path_words(tool: str, path: str) -> str:
    translate = QCoreApplication.translate
    folder = path.removesuffix("/**")
    if tool == "read":
        whole, one = translate("Request", "Reading anything in %1"), translate("Request", "Reading %1")
    elif tool == "write":
        whole, one = translate("Request", "Changing anything in %1"), translate("Request", "Changing %1")
    else:
        whole, one = translate("Request", "Everything in %1"), translate("Request", "This file: %1")
    return (one if folder == path else whole).replace("%1", _line(folder, _LONGEST_PATH))


def _line(text: str, longest: int = _LONGEST) -> str:
    """One line of what somebody else has written."""
    line = spelt_out(" ".join(text.split()), "")
    return line if len(line) <= longest else line[: longest - 1] + "…"
