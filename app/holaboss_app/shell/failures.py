"""From a runtime that will not come up to a card: a title a person understands, what to do, the technical
rest.

The runtime speaks to whoever started it, also to people who run it by itself; here every code of its gets the
words for someone who only opened a window. Its own message is kept in the details.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from holaboss_app.services.runtime_supervisor import RuntimeState
from holaboss_app.shell.boot import Failure


def failure_of(state: RuntimeState, log_tail: Sequence[str], log_path: Path, root: Path) -> Failure:
    """`state` is what the supervisor says; `root` is the folder that the runtime owns."""
    facts = [f"code: {state.code}", f"message: {state.reason}", f"log: {log_path}", "", *log_tail]
    action, folder = _place(state.code, root)
    reason = told(state, root) or _title("")
    return Failure(_title(state.code), reason, "\n".join(facts), folder_action=action, folder=folder)


def told(state: RuntimeState, root: Path) -> str:
    """Why the runtime is not there and what helps; empty when there is nothing to say."""
    sentences = {
        "root_locked": _tr("Another Holaboss is using the data in {folder}. Quit it, then start again."),
        "root_not_writable": _tr(
            "Holaboss cannot use the folder {folder}. Check its owner, its permissions and the free space, then "
            "start again."
        ),
        "database_damaged": _tr(
            "The database of Holaboss in {state} cannot be read. It was kept as it is. Put a backup of runtime.db in "
            "its place, or move it away to begin with an empty one, then start again."
        ),
        "migration_failed": _tr(
            "The database of Holaboss in {state} could not be brought up to date. Nothing in it is lost. Check the "
            "free space, then start again, or go on with the Holaboss that it was last used with."
        ),
        "database_foreign": _tr(
            "The file runtime.db in {state} belongs to another program. It was kept as it is. Move it away, then "
            "start again."
        ),
        "database_newer": _tr(
            "This data was used by a newer Holaboss last. Update Holaboss to go on with it; nothing was changed."
        ),
        "port_in_use": _tr(
            "The runtime found no free port on this computer. Close other programs, then start again."
        ),
        "settings_invalid": _tr(
            "A setting in the environment of Holaboss is not valid. The details name it. Correct it, then open "
            "Holaboss again."
        ),
        "internal": _tr(
            "The runtime met an error that nobody expected. Start again. If that does not help, the log says more."
        ),
        "handshake_invalid": _tr(
            "The program beside this window did not answer like a runtime. Install Holaboss again."
        ),
    }
    sentence = sentences.get(state.code)
    return sentence.format(folder=root, state=root / "state") if sentence else state.reason


def _place(code: str, root: Path) -> tuple[str, Path | None]:
    """The folder in which the trouble is, and what to call the way there."""
    if code == "root_not_writable":
        return _tr("Open folder"), root
    if code in ("database_damaged", "database_foreign", "migration_failed"):
        return _tr("Show folder"), root / "state"
    return "", None


def _title(code: str) -> str:
    titles = {
        "database_newer": _tr("This data belongs to a newer Holaboss"),
        "database_foreign": _tr("The database is not one of Holaboss"),
        "database_damaged": _tr("The database is damaged"),
        "migration_failed": _tr("The database could not be brought up to date"),
        "protocol_mismatch": _tr("Window and runtime do not belong together"),
        "handshake_invalid": _tr("Window and runtime do not belong together"),
        "root_locked": _tr("Another Holaboss uses this data"),
        "root_not_writable": _tr("The data folder cannot be used"),
        "port_in_use": _tr("The runtime found no free port"),
        "settings_invalid": _tr("A setting keeps the runtime from starting"),
        "internal": _tr("The runtime could not start"),
        "not_found": _tr("The runtime is missing"),
        "no_answer": _tr("The runtime does not start"),
    }
    return titles.get(code, _tr("The runtime keeps stopping"))


def _tr(text: str) -> str:
    return QCoreApplication.translate("Failures", text)
