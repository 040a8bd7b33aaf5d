"""Two servers with roots of their own and one database: the second one says who is there, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.server import RuntimeProcess, RuntimeStartError


def test_the_second_server_on_a_database_refuses_and_names_the_first(tmp_path: Path) -> None:
    database = tmp_path / "shared" / "runtime.db"
    database.parent.mkdir()
    shared = {"HOLABOSS_RUNTIME_DB_PATH": str(database)}
    with RuntimeProcess(tmp_path / "one", environment=shared) as first:
        before = database.stat().st_mtime_ns
        with pytest.raises(RuntimeStartError) as refused:
            RuntimeProcess(tmp_path / "two", environment=shared).start()
        failure = refused.value.failure
        assert failure is not None
        assert failure.code == "root_locked"
        for named in (str(first.pid), first.url, str(database), "HOLABOSS_RUNTIME_DB_PATH"):
            assert named in failure.message
        assert database.stat().st_mtime_ns == before
        note = json.loads((database.parent / "runtime.db-server.json").read_text())
        assert (note["pid"], note["url"]) == (first.pid, first.url)  # the first one's note is untouched
    with RuntimeProcess(tmp_path / "two", environment=shared) as second:
        assert second.ready.url


def test_roots_with_databases_of_their_own_do_not_meet(tmp_path: Path) -> None:
    with RuntimeProcess(tmp_path / "one") as first, RuntimeProcess(tmp_path / "two") as second:
        assert first.ready.url != second.ready.url
