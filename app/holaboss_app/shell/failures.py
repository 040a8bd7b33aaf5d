"""From a runtime that will not come up to a card: a title a person understands, the reason, the technical
rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from holaboss_app.services.runtime_supervisor import RuntimeState
from holaboss_app.shell.boot import Failure


def failure_of(state: RuntimeState, log_tail: Sequence[str], log_path: Path) -> Failure:
    """`state.reason` is already a sentence; the title says what kind of trouble it is."""
    facts = [f"code: {state.code}", f"log: {log_path}", "", *log_tail]
    return Failure(_title(state.code), state.reason or _title(""), "\n".join(facts))


def _title(code: str) -> str:
    def tr(text: str) -> str:
        return QCoreApplication.translate("Failures", text)

    titles = {
        "database_newer": tr("This data belongs to a newer Holaboss"),
        "database_foreign": tr("The database is not one of Holaboss"),
        "database_damaged": tr("The database is damaged"),
        "protocol_mismatch": tr("Window and runtime do not belong together"),
        "handshake_invalid": tr("Window and runtime do not belong together"),
        "root_locked": tr("Another Holaboss uses this data"),
        "root_not_writable": tr("The data folder cannot be written"),
        "port_in_use": tr("The runtime found no free port"),
        "not_found": tr("The runtime is missing"),
        "no_answer": tr("The runtime does not start"),
    }
    return titles.get(code, tr("The runtime keeps stopping"))
