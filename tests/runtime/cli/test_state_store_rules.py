"""What `holaboss-state-store` refuses, and what stays true whoever asks it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from holaboss_runtime.cli.state_store import main
from holaboss_runtime.cli.state_store.program import OPERATIONS
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.wakes import WakeRecords
from tests.runtime.cli.state_store_calls import (
    S,
    Store,
    W,
    claimed_ready,
    encoded,
    input_ready,
    output_ready,
    run,
    session_ready,
    told_ready,
    with_workspace,
)


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Store:
    return with_workspace(tmp_path, capsys)


def test_a_claim_on_a_database_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    """The request of the documentation, with the folders of this test."""
    folder = tmp_path / "deep" / "er"
    request = (
        f'{{"options":{{"dbPath":"{folder}/runtime.db","workspaceRoot":"{folder}/workspace"}},'
        '"claimed_by":"worker-1","limit":2,"lease_seconds":60,"distinct_sessions":true}'
    )
    done = run("claim-inputs", "--request-base64", base64.b64encode(request.encode()).decode())
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    assert [file.name for file in folder.iterdir()] == ["runtime.db"]


def test_without_options_the_environment_says_where(tmp_path: Path) -> None:
    for number, env in enumerate(
        (
            {"HB_SANDBOX_ROOT": str(tmp_path / "0")},
            {"HOLABOSS_RUNTIME_DB_PATH": str(tmp_path / "1" / "my.db")},
        )
    ):
        done = run("list-cronjobs", f"--request-base64={encoded({})}", env=env)
        assert (done.returncode, done.stdout) == (0, "[]\n")
        assert (tmp_path / str(number) / ("state/runtime.db", "my.db")[number]).exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "usage_invalid"),
        (["claim-inputs"], "usage_invalid"),
        (["--request-base64", encoded({})], "usage_invalid"),
        (["claim-inputs", "--request-base64", "???"], "request_invalid"),
        (["claim-inputs", "--request-base64", encoded([1])], "request_invalid"),
        (["claim-inputs", "--request-base64", base64.b64encode(b"{").decode()], "request_invalid"),
        (["claim-all", "--request-base64", encoded({})], "operation_unknown"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    said = json.loads(err)
    assert (out, said["code"]) == ("", code)
    assert code == "request_invalid" or "claim-inputs" in said["error"]


@pytest.mark.parametrize(
    ("operation", "fields", "code"),
    [
        ("claim-inputs", {}, "request_invalid"),
        ("claim-inputs", {"claimed_by": "me", "limit": "2"}, "request_invalid"),
        ("claim-inputs", {"claimed_by": "me", "limit": True}, "request_invalid"),
        ("claim-inputs", {"claimed_by": "me", "distinct_sessions": 1}, "request_invalid"),
        ("claim-inputs", {"claimed_by": "me", "exclude_session_ids": [1]}, "request_invalid"),
        ("enqueue-input", {"workspace_id": "none", "session_id": "s"}, "workspace_not_found"),
        ("enqueue-input", {**S, "payload": "text"}, "request_invalid"),
        ("workspace-dir", {"workspace_id": "none"}, "workspace_not_found"),
        ("update-workspace", {**W, "fields": {"harness": "x"}}, "request_invalid"),
        ("upsert-binding", {**S, "harness": "h", "harness_session_id": "x"}, "session_not_found"),
        ("ensure-runtime-state", {"workspace_id": "none", "session_id": "s"}, "workspace_not_found"),
        ("create-output", {**W, "output_type": "file", "folder_id": "none"}, "outputs_invalid"),
        ("update-notification", {"notification_id": "n", "state": "gone"}, "state_invalid"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_by_name(
    store: Store, operation: str, fields: dict[str, Any], code: str
) -> None:
    assert store.refused(operation, **fields)[0] == code


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    store.options["dbPath"] = str(path)
    code, sentence = store.refused("list-workspaces")
    assert code == "database_foreign"
    assert str(path) in sentence
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_made_is_named(tmp_path: Path, store: Store) -> None:
    (tmp_path / "file").touch()
    store.options["dbPath"] = str(tmp_path / "file" / "runtime.db")
    assert store.refused("list-workspaces")[0] == "root_not_writable"


@pytest.mark.parametrize("status", ["IDLE", "BUSY", "WAITING_USER", "ERROR", "PAUSED"])
def test_a_state_is_read_as_it_was_written(store: Store, status: str) -> None:
    session_ready(store)
    store("update-runtime-state", **S, status=status)
    found = store("get-runtime-state", **S)
    assert found["status"] == status
    assert (found["last_error"] is not None) == (status == "ERROR")
    assert store("get-runtime-state", workspace_id="other", session_id="s") is None


def test_a_worker_leases_a_session_and_nobody_else_gets_it(store: Store) -> None:
    input_ready(store)
    until = "9999-01-01T00:00:00.000Z"
    leased = store("update-runtime-state", **S, status="BUSY", current_worker_id="a", lease_until=until)
    assert (leased["current_worker_id"], leased["lease_until"], leased["status"]) == ("a", until, "BUSY")
    other = {"current_worker_id": "b", "lease_until": until}
    assert store.refused("update-runtime-state", **S, status="IDLE", **other)[0] == "session_leased"
    assert store("claim-inputs", claimed_by="b", limit=1, lease_seconds=60) == []
    assert len(store("claim-inputs", claimed_by="a", limit=1, lease_seconds=60)) == 1
    ended = store("update-runtime-state", **S, status="IDLE", current_worker_id="a", lease_until=None)
    assert (ended["current_worker_id"], ended["lease_until"]) == (None, None)


def test_a_run_of_the_runtime_is_not_written_over(tmp_path: Path, store: Store) -> None:
    claimed_ready(store)
    database = Database.open(tmp_path / "runtime.db")
    with database.transaction():
        database.execute(
            "INSERT INTO wakes (wake_id, session_id, lead_input_id, epoch, started_at) VALUES ('k', 's', 'i', 1, '')"
        )
        database.execute("INSERT INTO wake_inputs (wake_id, input_id, position) VALUES ('k', 'i', 0)")
    assert WakeRecords(database).any_running("w")
    database.close()
    assert store.refused("update-runtime-state", **S, status="IDLE")[0] == "session_running"
    assert store.refused("update-input", input_id="i", fields={"status": "DONE"})[0] == "input_running"
    assert store.refused("delete-workspace", **W)[0] == "workspace_busy"


def test_an_input_changes_only_while_it_waits(store: Store) -> None:
    input_ready(store)
    assert store("update-input", input_id="none", fields={"priority": 1}) is None
    assert store.refused("update-input", input_id="i", fields={"session_id": "t"})[0] == "request_invalid"
    assert store.refused("update-input", input_id="i", fields={"status": "CLAIMED"})[0] == "status_invalid"
    paused = store("update-input", input_id="i", fields={"status": "PAUSED"})
    assert paused["status"] == "PAUSED"
    for fields in ({"priority": 1}, {"status": "QUEUED"}):
        assert store.refused("update-input", input_id="i", fields=fields)[0] == "input_not_queued"
    assert store("has-available-inputs-for-session", **S) is False


def test_deleting_a_folder_leaves_what_lay_in_it(store: Store) -> None:
    folder = store("create-output-folder", **W, name="F")["id"]
    assert store("create-output-folder", **W, name="G")["position"] == 1
    output_ready(store)
    assert store("update-output", **W, output_id="o", folder_id=folder)["folder_id"] == folder
    assert store("get-output-counts", **W)["by_folder"] == {folder: 1}
    assert store("update-output-folder", **W, folder_id=folder, position=5)["position"] == 5
    assert store("get-output-folder", workspace_id="other", folder_id=folder) is None
    assert store("delete-output-folder", **W, folder_id=folder) is True
    assert store("get-output", **W, output_id="o")["folder_id"] is None
    assert store("get-output", workspace_id="other", output_id="o") is None


def test_tail_mode_starts_at_the_newest_event(store: Store) -> None:
    told_ready(store)
    assert store("list-output-events", **S, include_history=False) == []
    assert [event["id"] for event in store("list-output-events", **S)] == [1, 2]


def test_help_lists_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert set(OPERATIONS) <= set(capsys.readouterr().out.split())


def test_a_server_is_told_what_changed(tmp_path: Path, store: Store) -> None:
    input_ready(store)
    database = Database.open(tmp_path / "runtime.db")
    changes = ChangeLog(database).after(0) or []
    database.close()
    told = [(event.kind, event.session_id, event.payload) for event in changes if event.session_id]
    assert told[0] == ("queue", "s", {"input_id": "i"})
    assert (told[1][0], told[1][2]["runtime_status"]) == ("session.state", "QUEUED")
    assert told[2][:2] == ("session", "s")
