"""Everything the window can be told to do, in one table: the menus and the palette are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from holaboss_app.core.shortcuts import Action, keys


class Do(StrEnum):
    """Commands that have no entry in the shortcut table."""

    RENAME_WORKSPACE = "rename-workspace"
    DELETE_WORKSPACE = "delete-workspace"
    SPACE = "space"
    RESTART_RUNTIME = "restart-runtime"
    OPEN_LOG = "open-log"
    ABOUT = "about"


@dataclass(frozen=True, slots=True)
class Entry:
    """`command` is an `Action` or a `Do`; `menu` is where it stands, empty for the palette only."""

    command: str
    menu: str
    title: str
    icon: str
    keys: str = ""
    checkable: bool = False


def entries() -> list[Entry]:
    """In the order of the menus."""

    def tr(text: str) -> str:
        return QCoreApplication.translate("Commands", text)

    file, view, go, help_ = tr("File"), tr("View"), tr("Go"), tr("Help")
    return [
        Entry(Action.NEW_SESSION, file, tr("New session"), "plus", keys(Action.NEW_SESSION)),
        Entry(Action.NEW_WORKSPACE, file, tr("New workspace…"), "folder", keys(Action.NEW_WORKSPACE)),
        Entry(Do.RENAME_WORKSPACE, file, tr("Rename workspace…"), "pencil"),
        Entry(Do.DELETE_WORKSPACE, file, tr("Delete workspace…"), "trash"),
        Entry(Action.SETTINGS, file, tr("Settings"), "settings", keys(Action.SETTINGS)),
        Entry(Action.QUIT, file, tr("Quit"), "power", keys(Action.QUIT)),
        Entry(
            Action.TOGGLE_FILES,
            view,
            tr("Show or hide the files"),
            "layout",
            keys(Action.TOGGLE_FILES),
            checkable=True,
        ),
        Entry(Action.ZOOM_IN, view, tr("Larger text"), "plus", keys(Action.ZOOM_IN)),
        Entry(Action.ZOOM_OUT, view, tr("Smaller text"), "minus", keys(Action.ZOOM_OUT)),
        Entry(Action.ZOOM_RESET, view, tr("Normal text size"), "search", keys(Action.ZOOM_RESET)),
        Entry(Do.SPACE, go, tr("Conversation and files"), "chat"),
        Entry(Action.FOCUS_COMPOSER, go, tr("Write a message"), "pencil", keys(Action.FOCUS_COMPOSER)),
        Entry(Action.FOCUS_REQUEST, go, tr("Go to what waits for you"), "shield", keys(Action.FOCUS_REQUEST)),
        Entry(Action.SWITCH_WORKSPACE, go, tr("Switch workspace"), "folder", keys(Action.SWITCH_WORKSPACE)),
        Entry(Action.PALETTE, go, tr("Command palette"), "search", keys(Action.PALETTE)),
        Entry(Do.RESTART_RUNTIME, help_, tr("Restart the runtime"), "refresh"),
        Entry(Do.OPEN_LOG, help_, tr("Open log folder"), "file"),
        Entry(Do.ABOUT, help_, tr("About Holaboss"), "info"),
    ]
