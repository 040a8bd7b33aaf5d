"""A registry on a real database in a temporary sandbox root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holaboss_client.events import ChangeEvent
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.workspace.files import WorkspaceFiles
from holaboss_runtime.workspace.registry import WorkspaceRegistry
from tests.support.undo_bench import look_patiently


@dataclass
class Space:
    root: Path
    database: Database
    changes: ChangeLog
    registry: WorkspaceRegistry
    files: WorkspaceFiles

    def told(self) -> list[ChangeEvent]:
        return self.changes.after(0) or []


@pytest.fixture(autouse=True)
def patient_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    look_patiently(monkeypatch)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    root = tmp_path / "sandbox"
    root.mkdir()
    database = Database.open(tmp_path / "runtime.db")
    changes = ChangeLog(database)
    registry = WorkspaceRegistry(database, changes, root)
    yield Space(root, database, changes, registry, WorkspaceFiles(registry, changes))
    database.close()
