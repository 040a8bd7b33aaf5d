"""What can be asked of terminals and what cannot: checks of a request, the row of a new terminal, refusals in words."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.terminals import StartTerminal
from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.errors import DomainError

BACKEND = "pty"
MAX_METADATA_BYTES = 16 * 1024
_SIGNALS = ("INT", "QUIT", "TSTP", "CONT", "HUP", "TERM", "KILL", "USR1", "USR2")


def check_request(request: StartTerminal) -> None:
    """Raises `DomainError` `terminal_invalid` for texts that no command line or database can carry."""
    texts = (request.command, request.title, request.cwd, request.created_by or "")
    metadata = json.dumps(request.metadata)
    if len(metadata) > MAX_METADATA_BYTES:
        raise _invalid(f"`metadata` has at most {MAX_METADATA_BYTES:,} bytes.")
    if any("\0" in text for text in texts) or not all(_is_text(text) for text in texts):
        raise _invalid("The request contains a character that cannot be used here.")
    if not request.command.strip():
        raise _invalid("`command` is empty. Give a program to run, such as `bash`.")


def encoded(data: str) -> bytes:
    """What is typed, as bytes. Raises `DomainError` `terminal_invalid`."""
    try:
        return data.encode()
    except UnicodeEncodeError as error:
        raise _invalid("`data` contains a character that cannot be typed.") from error


def signal_named(name: str) -> signal.Signals:
    """Raises `DomainError` `signal_unknown`."""
    plain = name.strip().upper().removeprefix("SIG")
    if plain not in _SIGNALS:
        known = ", ".join(_SIGNALS)
        raise DomainError("unprocessable", "signal_unknown", f"The signals of a terminal are {known}.")
    return signal.Signals[f"SIG{plain}"]


def taker(containment: Containment) -> str | None:
    """The program that takes a terminal inside of what holds the command, where one is needed.

    Raises `DomainError` `terminal_unsupported` where there can be no terminals.
    """
    if os.name != "posix":
        raise DomainError(
            "unavailable",
            "terminal_unsupported",
            "Terminals need Linux or macOS. Run the command with the bash tool, or in a terminal of the system.",
        )
    found = shutil.which("setsid")
    if containment.name == "bubblewrap" and found is None:
        raise DomainError(
            "unavailable",
            "terminal_unsupported",
            "Terminals need the program setsid, which is part of util-linux. Install it first.",
        )
    return found


def new_row(terminal_id: str, request: StartTerminal, *, shell: str, folder: str) -> dict[str, Any]:
    """The columns of a new terminal that its request decides."""
    now = utc_now()
    return {
        "terminal_id": terminal_id,
        "workspace_id": request.workspace_id,
        "title": request.title,
        "backend": BACKEND,
        "owner": request.owner,
        "status": "starting",
        "cwd": folder,
        "shell": shell,
        "command": request.command,
        "width": request.cols,
        "height": request.rows,
        "created_by": request.created_by,
        "created_at": now,
        "last_activity_at": now,
        "metadata": request.metadata,
    }


def not_running() -> DomainError:
    return DomainError(
        "conflict", "terminal_not_running", "The program in this terminal has ended. Start another terminal."
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(detail: str) -> DomainError:
    return DomainError("unprocessable", "terminal_invalid", detail)
