"""Every keyboard shortcut of the program, in one table: menus, buttons, tool tips and the documentation
read it.

Keys are written the way Qt's portable format has them (`Ctrl` is Command on a Mac). It binds nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    SEND = "send"
    NEWLINE = "newline"
    STOP = "stop"
    RECALL = "recall"
    ATTACH = "attach"
    NEW_SESSION = "new-session"
    NEW_WORKSPACE = "new-workspace"
    FOCUS_COMPOSER = "focus-composer"
    FOCUS_REQUEST = "focus-request"
    PALETTE = "palette"
    SETTINGS = "settings"
    SWITCH_WORKSPACE = "switch-workspace"
    TOGGLE_FILES = "toggle-files"
    ZOOM_IN = "zoom-in"
    ZOOM_OUT = "zoom-out"
    ZOOM_RESET = "zoom-reset"
    QUIT = "quit"


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys` is a portable key sequence; `place` is where it works (`composer`, `transcript` or `window`)."""

    action: Action
    keys: str
    title: str
    place: str = "window"


SHORTCUTS: tuple[Shortcut, ...] = (
    Shortcut(Action.SEND, "Return", "Send the message", "composer"),
    Shortcut(Action.NEWLINE, "Shift+Return", "Start a new line", "composer"),
    Shortcut(Action.STOP, "Esc, Esc", "Stop the answer", "composer"),
    Shortcut(Action.RECALL, "Up", "Bring back the last message (in an empty composer)", "composer"),
    Shortcut(Action.ATTACH, "Ctrl+Shift+A", "Attach files", "composer"),
    Shortcut(Action.NEW_SESSION, "Ctrl+N", "New session"),
    Shortcut(Action.NEW_WORKSPACE, "Ctrl+Shift+N", "New workspace"),
    Shortcut(Action.FOCUS_COMPOSER, "Ctrl+L", "Write a message"),
    Shortcut(Action.FOCUS_REQUEST, "Ctrl+.", "Go to what waits for you"),
    Shortcut(Action.PALETTE, "Ctrl+K", "Command palette"),
    Shortcut(Action.SETTINGS, "Ctrl+,", "Settings"),
    Shortcut(Action.SWITCH_WORKSPACE, "Ctrl+O", "Switch workspace"),
    Shortcut(Action.TOGGLE_FILES, "Ctrl+B", "Show or hide the files"),
    Shortcut(Action.ZOOM_IN, "Ctrl++", "Larger text"),
    Shortcut(Action.ZOOM_OUT, "Ctrl+-", "Smaller text"),
    Shortcut(Action.ZOOM_RESET, "Ctrl+0", "Normal text size"),
    Shortcut(Action.QUIT, "Ctrl+Q", "Quit"),
)

_BY_ACTION = {shortcut.action: shortcut for shortcut in SHORTCUTS}


def shortcut(action: Action) -> Shortcut:
    return _BY_ACTION[action]


def keys(action: Action) -> str:
    """The key sequence of `action`, as `QKeySequence` reads it."""
    return _BY_ACTION[action].keys
