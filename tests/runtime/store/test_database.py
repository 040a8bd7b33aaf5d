"""Opening `runtime.db`: migrating from every earlier version, copies before it, damage, and disks that refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from holaboss_runtime.errors import DomainError
from holaboss_runtime.store import migrating
from holaboss_runtime.store.database import (
    APPLICATION_ID,
    Database,
    DatabaseDamagedError,
    DatabaseError,
    ForeignDatabaseError,
    MigrationError,
    NewerDatabaseError,
    OlderDatabaseError,
    UnusableDatabaseError,
)
from holaboss_runtime.store.migrating import migrations
from holaboss_runtime.store.search import Search

LATEST = max(version for version, _ in migrations())
NOW = "2026-01-02T03:04:05.678Z"


def copies(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if ".before-" in file.name)


def made_by(path: Path, version: int) -> Path:
    """A file as that version of the program left it, with a conversation in it."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    for number, sql in migrations():
        if number <= version:
            connection.execute(sql)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    call = {"phase": "completed", "result": {"content": [{"type": "text", "text": "a quick brown fox"}]}}
    for sql, values in (
        (
            "INSERT INTO workspaces (id, workspace_path, name, status, harness, created_at, updated_at)"
            " VALUES ('w', '/w', 'W', 'active', 'native', ?, ?)",
            (NOW, NOW),
        ),
        (
            "INSERT INTO agent_sessions (session_id, workspace_id, created_by, created_at, updated_at)"
            " VALUES ('s', 'w', 'user', ?, ?)",
            (NOW, NOW),
        ),
        (
            "INSERT INTO session_events (event_id, session_id, type, created_at)"
            " VALUES ('i', 's', 'user.message', ?)",
            (NOW,),
        ),
        (
            "INSERT INTO agent_session_inputs (input_id, session_id, workspace_id, payload, status, available_at,"
            " created_at, updated_at) VALUES ('i', 's', 'w', '{\"text\":\"hi\"}', 'DONE', ?, ?, ?)",
            (NOW, NOW, NOW),
        ),
        (
            "INSERT INTO wakes (wake_id, session_id, lead_input_id, epoch, started_at, ended_at)"
            " VALUES ('k', 's', 'i', 1, ?, ?)",
            (NOW, NOW),
        ),
        (
            "INSERT INTO session_messages (id, workspace_id, session_id, input_id, role, text, created_at)"
            " VALUES ('user-i', 'w', 's', 'i', 'user', 'where is the elephant', ?)",
            (NOW,),
        ),
        (
            "INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, payload,"
            " created_at) VALUES ('w', 's', 'i', 1, 'tool_call', ?, ?)",
            (json.dumps(call), NOW),
        ),
    ):
        connection.execute(sql, values)
    connection.close()
    return path


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_a_database_of_every_earlier_version_is_brought_forward_with_all_it_holds(
    tmp_path: Path, version: int
) -> None:
    path = made_by(tmp_path / "runtime.db", version)
    database = Database.open(path)
    assert database.path == path
    assert database.schema_version == database.scalar("PRAGMA user_version") == LATEST
    assert database.scalar("SELECT payload FROM agent_session_inputs") == '{"text":"hi"}'
    assert database.scalar("SELECT event_type FROM agent_session_inputs") == "user.message"
    expected = [{"wake_id": "k", "input_id": "i", "position": 0}] if version == 1 else []
    assert database.rows("SELECT * FROM wake_inputs") == expected
    found = [hit.kind for query in ("elephant", "fox") for hit in Search(database).search("w", query)]
    assert found == ["message", "tool_output"]
    assert database.rows("PRAGMA foreign_key_check") == []
    assert database.scalar("PRAGMA integrity_check") == "ok"
    database.close()


@pytest.mark.parametrize("version", range(1, LATEST))
def test_what_it_was_before_is_kept_beside_it(tmp_path: Path, version: int) -> None:
    path = made_by(tmp_path / "runtime.db", version)
    Database.open(path).close()
    copy = tmp_path / f"runtime.db.before-{version}-to-{LATEST}"
    assert copies(path) == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    kept = apsw.Connection(f"file:{copy}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    assert list(kept.execute("PRAGMA user_version")) == [(version,)]
    assert list(kept.execute("SELECT text FROM session_messages")) == [("where is the elephant",)]
    kept.close()
    Database.open(path).close()
    assert copies(path) == [copy.name]


def test_a_copy_is_never_replaced_by_one_of_what_came_after(tmp_path: Path) -> None:
    """Two processes find the same old schema; the second comes to its copy when the first has migrated already."""
    path = made_by(tmp_path / "runtime.db", 1)
    Database.open(path).close()
    copy = tmp_path / f"runtime.db.before-1-to-{LATEST}"
    before = copy.read_bytes()
    late = apsw.Connection(str(path))
    assert migrating.back_up(late, path, 1, LATEST) == copy  # type: ignore[arg-type]
    late.close()
    assert copy.read_bytes() == before
    assert copies(path) == [copy.name]


def test_only_the_newest_two_copies_are_kept(tmp_path: Path) -> None:
    path = made_by(tmp_path / "runtime.db", LATEST - 1)
    for number, name in enumerate(("before-0-to-1", "before-1-to-2")):
        old = tmp_path / f"runtime.db.{name}"
        old.touch()
        os.utime(old, (number, number))
    Database.open(path).close()
    assert copies(path) == ["runtime.db.before-1-to-2", f"runtime.db.before-{LATEST - 1}-to-{LATEST}"]


def test_a_new_database_needs_no_copy(tmp_path: Path) -> None:
    Database.open(tmp_path / "runtime.db").close()
    assert copies(tmp_path / "runtime.db") == []
    assert (tmp_path / "runtime.db").stat().st_mode & 0o777 == 0o600


def test_a_migration_that_fails_leaves_the_schema_and_names_the_copy(tmp_path: Path) -> None:
    path = made_by(tmp_path / "runtime.db", 2)
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE outputs (mine TEXT); INSERT INTO outputs VALUES ('kept')")
    connection.close()
    with pytest.raises(MigrationError) as raised:
        Database.open(path)
    copy = tmp_path / f"runtime.db.before-2-to-{LATEST}"
    assert raised.value.code == "migration_failed"
    assert str(copy) in str(raised.value)
    assert copy.exists()
    connection = apsw.Connection(str(path))
    assert list(connection.execute("PRAGMA user_version")) == [(2,)]
    assert list(connection.execute("SELECT mine FROM outputs")) == [("kept",)]
    assert not list(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'cronjobs'"))
    assert list(connection.execute("SELECT text FROM session_messages")) == [("where is the elephant",)]
    connection.close()


@pytest.mark.parametrize("start", [0, 1])
def test_several_processes_may_open_it_for_the_first_time_together(tmp_path: Path, start: int) -> None:
    """Many files one after the other, so that the processes meet at every step of an opening."""
    paths = [tmp_path / f"{number}.db" for number in range(12)]
    for path in paths if start else ():
        made_by(path, start)
    code = (
        "import sys; from pathlib import Path; from holaboss_runtime.store.database import Database;"
        " sys.stdin.read(); print({Database.open(Path(path)).schema_version for path in sys.argv[1:]})"
    )
    runtime = str(Path(__file__).parents[3] / "runtime")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": runtime},
        )
        for _ in range(4)
    ]
    for child in children:  # they have all started by the time the last of them may go on
        assert child.stdin is not None
        child.stdin.close()
        child.stdin = None
    answers = [child.communicate() for child in children]
    assert answers == [(f"{{{LATEST}}}\n", "")] * 4


def _other_program(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
    connection.close()


def _from_the_future(path: Path) -> None:
    connection = apsw.Connection(str(made_by(path, LATEST)))
    connection.execute(f"PRAGMA user_version = {LATEST + 1}")
    connection.close()


def _torn(path: Path) -> None:
    """A page of the conversation was overwritten, and the program that wrote it did not close the file."""
    made_by(path, LATEST)
    connection = apsw.Connection(str(path))
    pages = list(connection.execute("SELECT pageno FROM dbstat WHERE name = 'session_messages'"))
    connection.close()
    left_open(path)
    with path.open("r+b") as file:
        file.seek((int(pages[0][0]) - 1) * 4096)
        file.write(b"\xff" * 4096)


def left_open(path: Path) -> None:
    """As a killed process leaves it: what was written last is in the log alone."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE wakes SET reason = reason || '+'")
    log = path.with_name(f"{path.name}-wal")
    content = log.read_bytes()
    connection.close()
    log.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (_other_program, ForeignDatabaseError),
        (_from_the_future, NewerDatabaseError),
        (
            lambda path: path.write_bytes(b"not a database at all, however long it is" * 99),
            DatabaseDamagedError,
        ),
        (_torn, DatabaseDamagedError),
    ],
)
def test_what_cannot_be_used_is_named_and_left_as_it_is(
    tmp_path: Path, make: object, error: type[DatabaseError]
) -> None:
    path = tmp_path / "runtime.db"
    make(path)  # type: ignore[operator]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    with pytest.raises(error) as raised:
        Database.open(path)
    assert str(path) in str(raised.value)
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    assert after == before


def test_only_what_was_not_closed_in_order_is_looked_through(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    _torn(path)
    Database.open(path, beside_others=True).close()  # which closes it in order
    Database.open(path).close()
    left_open(path)
    with pytest.raises(DatabaseDamagedError):
        Database.open(path)


def test_the_look_through_does_not_take_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not reached in time is taken on trust: a start must not hang on a very large file."""
    path = tmp_path / "runtime.db"
    _torn(path)
    monkeypatch.setattr(migrating, "CHECK_TIME_S", -1.0)
    monkeypatch.setattr(migrating, "_STEPS_PER_LOOK", 1)
    database = Database.open(path)
    assert database.scalar("SELECT name FROM workspaces") == "W"
    database.close()


def test_the_look_through_sees_one_state_of_a_file_that_is_just_migrated(tmp_path: Path) -> None:
    """Another connection commits the whole migration between the first read of the check and the next."""
    path = made_by(tmp_path / "runtime.db", LATEST - 1)
    connection = apsw.Connection(str(path))
    seen: list[object] = []

    def meanwhile(_cursor: object, statement: str, _values: object) -> bool:
        if "quick_check" in statement:
            connection.set_exec_trace(None)
            Database.open(path).close()
            seen.extend(connection.execute("PRAGMA user_version"))
        return True

    connection.set_exec_trace(meanwhile)
    assert migrating.check(connection, path)  # type: ignore[arg-type]
    assert seen == [(LATEST - 1,)]
    assert list(connection.execute("PRAGMA user_version")) == [(LATEST,)]
    connection.close()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent" / "runtime.db"):
        with pytest.raises(UnusableDatabaseError) as raised:
            Database.open(path)
        assert (raised.value.code, str(path) in str(raised.value)) == ("root_not_writable", True)


@pytest.mark.parametrize(
    ("refuse", "allow", "code"),
    [
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "disk_read_only"),
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "disk_full"),
    ],
)
def test_a_disk_that_takes_nothing_loses_nothing(tmp_path: Path, refuse: str, allow: str, code: str) -> None:
    database = Database.open(tmp_path / "runtime.db")
    told: list[str] = []

    def write(text: str) -> None:
        with database.transaction():
            database.after_commit(lambda: told.append(text))
            database.execute(
                "INSERT INTO prompt_sections (fingerprint, content, created_at) VALUES (?, ?, ?)",
                (text[:1], text * 50_000, NOW),
            )

    write("a")
    database.rows(refuse)
    with pytest.raises(DomainError) as raised:
        write("b")
    assert (raised.value.kind, raised.value.code) == ("unavailable", code)
    database.rows(allow)
    write("c")
    assert [row["fingerprint"] for row in database.rows("SELECT fingerprint FROM prompt_sections")] == [
        "a",
        "c",
    ]
    assert told == ["a", "c"]
    database.close()


def test_statements_of_a_long_round_are_prepared_once(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "runtime.db")
    prepared: list[int] = []
    for _ in range(3):
        for number in range(300):
            database.scalar(f"SELECT {number}")
        prepared.append(database._connection.cache_stats()["misses"])  # type: ignore[attr-defined]
    assert prepared[0] == prepared[1] == prepared[2]
    database.close()


def test_a_durable_transaction_stays_one_however_often_there_was_one(tmp_path: Path) -> None:
    """The levels are set by statements that are the same each time: none may be taken for done because it was."""
    database = Database.open(tmp_path / "runtime.db")
    levels: list[int] = []
    for _ in range(3):
        with database.transaction(durable=True):
            levels.append(database.scalar("PRAGMA synchronous"))
        with database.transaction():
            levels.append(database.scalar("PRAGMA synchronous"))
    assert levels == [2, 1] * 3
    database.close()


def test_a_transaction_joins_the_one_around_it(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "runtime.db")
    told: list[int] = []
    insert = "INSERT INTO prompt_sections (fingerprint, content, created_at) VALUES (?, '', '')"

    def both() -> None:
        with database.transaction():
            with database.transaction():
                database.execute(insert, ("inner",))
                database.after_commit(lambda: told.append(1))
            assert told == []
            raise KeyError

    with pytest.raises(KeyError):
        both()
    assert database.scalar("SELECT count(*) FROM prompt_sections") == 0
    with database.transaction(), database.transaction(durable=True):
        database.execute_many(insert, [("a",), ("b",)])
        database.after_commit(lambda: told.append(2))
    assert told == [2]
    assert database.tuples("SELECT fingerprint FROM prompt_sections ORDER BY 1") == [("a",), ("b",)]
    assert database.rows("SELECT fingerprint AS f, '' AS e FROM prompt_sections ORDER BY 1") == [
        {"f": "a", "e": ""},
        {"f": "b", "e": ""},
    ]
    database.close()


@pytest.mark.parametrize("version", range(1, LATEST))
def test_nothing_is_changed_under_a_server_that_still_uses_the_old_schema(
    tmp_path: Path, version: int
) -> None:
    path = made_by(tmp_path / "runtime.db", version)
    before = path.read_bytes()
    with pytest.raises(OlderDatabaseError, match="Stop the server first"):
        Database.open(path, beside_others=True)
    assert path.read_bytes() == before
    assert copies(path) == []


def test_beside_a_server_the_log_is_left_to_it(tmp_path: Path) -> None:
    Database.open(tmp_path / "runtime.db").close()
    beside = Database.open(tmp_path / "runtime.db", beside_others=True)
    assert beside.scalar("PRAGMA wal_autocheckpoint") == 0
    beside.close()
