"""Configuration services on real files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.config.document import ConfigFile
from holaboss_runtime.config.environment import take_environment
from holaboss_runtime.config.service import ConfigService
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database

SAMPLE = json.loads(Path(__file__).with_name("sample-config.json").read_text())

Made = Callable[..., "Service"]


class Service(ConfigService):
    """The service, and what a test wants to see around it."""

    path: Path
    changes: ChangeLog

    def stored(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())

    def told(self) -> int:
        return self.changes.last_seq()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Made]:
    """`make(document, embedded=…, env=…, secrets=…)`; the same file each time, so that it can be read again."""
    database = Database.open(tmp_path / "runtime.db")
    path = tmp_path / "state" / "runtime-config.json"

    def build(
        document: dict[str, Any] | str | None = None,
        *,
        embedded: bool = True,
        env: dict[str, str] | None = None,
        secrets: dict[str, str] | None = None,
    ) -> Service:
        if document is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(document if isinstance(document, str) else json.dumps(document))
        changes = ChangeLog(database)
        service = Service(
            ConfigFile(path),
            changes,
            embedded=embedded,
            environment=take_environment(env or {}, embedded=embedded),
            secrets=secrets or {},
            hidden=frozenset({"token-of-the-server"}),
        )
        service.path, service.changes = path, changes
        return service

    yield build
    database.close()
