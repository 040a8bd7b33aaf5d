"""Tool calls in words: what is done, was done, or waits to be allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from PySide6.QtCore import QCoreApplication

from holaboss_app.core.reducer import ToolSegment

_SUBJECTS = ("command", "path", "file_path", "pattern", "query", "url", "title", "question", "name", "goal")
_ICONS = {
    "bash": "terminal",
    "read": "file",
    "write": "pencil",
    "edit": "pencil",
    "grep": "search",
    "find": "search",
    "ls": "folder",
    "todo": "check",
    "question": "chat",
    "skill": "sparkle",
    "write_report": "file",
    "scratchpad": "pencil",
    "web_search": "search",
    "download_url": "download",
    "image_generate": "image",
}


class _Words(NamedTuple):
    doing: str
    did: str
    wants: str


def drawing(tool: ToolSegment) -> str:
    """The name of its icon."""
    if tool.name.startswith("terminal_"):
        return "terminal"
    return "server" if tool.name.startswith("mcp__") else _ICONS.get(tool.name, "sparkle")


def title(tool: ToolSegment) -> str:
    """What the call does, as a person would say it."""
    words = _titles().get(tool.name) or _plain(tool.name)
    return {"running": words.doing, "waiting": words.wants, "asked": words.wants}.get(tool.state, words.did)


def _plain(name: str) -> _Words:
    """A tool nobody here knows: its own name, and whose it is."""
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        name = f"{server}: {tool}"
    wants = QCoreApplication.translate("Trace", "Wants to use %1").replace("%1", name)
    return _Words(name, name, wants)


def _titles() -> dict[str, _Words]:
    t = QCoreApplication.translate
    return {
        "bash": _Words(
            t("Trace", "Running a command"),
            t("Trace", "Ran a command"),
            t("Trace", "Wants to run a command"),
        ),
        "read": _Words(t("Trace", "Reading"), t("Trace", "Read"), t("Trace", "Wants to read")),
        "write": _Words(t("Trace", "Writing"), t("Trace", "Wrote"), t("Trace", "Wants to write")),
        "edit": _Words(t("Trace", "Editing"), t("Trace", "Edited"), t("Trace", "Wants to edit")),
        "grep": _Words(
            t("Trace", "Searching for"), t("Trace", "Searched for"), t("Trace", "Wants to search for")
        ),
        "find": _Words(t("Trace", "Looking for"), t("Trace", "Looked for"), t("Trace", "Wants to look for")),
        "ls": _Words(t("Trace", "Listing"), t("Trace", "Listed"), t("Trace", "Wants to list")),
        "todo": _Words(t("Trace", "Planning"), t("Trace", "Planned"), t("Trace", "Wants to plan")),
        "question": _Words(t("Trace", "Asking"), t("Trace", "Asked"), t("Trace", "Asks you")),
        "skill": _Words(
            t("Trace", "Looking up the skill"),
            t("Trace", "Looked up the skill"),
            t("Trace", "Wants to use the skill"),
        ),
        "write_report": _Words(
            t("Trace", "Writing a report"),
            t("Trace", "Wrote a report"),
            t("Trace", "Wants to write a report"),
        ),
        "scratchpad": _Words(
            t("Trace", "Taking notes"), t("Trace", "Took notes"), t("Trace", "Wants to take notes")
        ),
        "web_search": _Words(
            t("Trace", "Searching the web for"),
            t("Trace", "Searched the web for"),
            t("Trace", "Wants to search the web for"),
        ),
        "download_url": _Words(
            t("Trace", "Downloading"), t("Trace", "Downloaded"), t("Trace", "Wants to download")
        ),
        "image_generate": _Words(
            t("Trace", "Having a picture drawn"),
            t("Trace", "Had a picture drawn"),
            t("Trace", "Wants to have a picture drawn"),
        ),
        "delegate_task": _Words(
            t("Trace", "Handing over"), t("Trace", "Handed over"), t("Trace", "Wants to hand over")
        ),
    }


def state_words(tool: ToolSegment) -> str:
    t = QCoreApplication.translate
    if tool.denied:
        return t("Trace", "refused")
    words = {
        "running": t("Trace", "running"),
        "waiting": t("Trace", "waits for your decision"),
        "asked": t("Trace", "was decided"),
        "done": t("Trace", "done"),
        "failed": t("Trace", "failed"),
        "interrupted": t("Trace", "interrupted"),
    }
    return words[tool.state]


def subject(tool: ToolSegment) -> str:
    """The one thing that says most about the call, on one line."""
    if tool.name == "todo":
        return _plan(tool.details)
    return subject_of(tool.arguments)


def subject_of(arguments: Mapping[str, Any]) -> str:
    for name in _SUBJECTS:
        if isinstance(value := arguments.get(name), str) and value.strip():
            return " ".join(value.split())
    return " ".join(str(value) for value in arguments.values() if isinstance(value, str | int))[:200]


def _plan(details: Mapping[str, Any]) -> str:
    from holaboss_app.core.plan import read_plan

    plan = read_plan(details)
    if plan is None:
        return ""
    words = QCoreApplication.translate("Trace", "%1 of %2 done")
    return words.replace("%1", str(plan.done)).replace("%2", str(len(plan.tasks)))


def containment_words(name: str) -> str:
    """What held a command, honestly; nothing where nothing was said."""
    t = QCoreApplication.translate
    if not name:
        return ""
    if name == "none":
        return t("Trace", "not contained")
    return t("Trace", "contained (%1)").replace("%1", name)
