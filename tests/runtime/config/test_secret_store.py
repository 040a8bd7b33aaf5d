"""Stored secrets: handed to a keychain, sealed in a file, or said to be in memory only; shown nowhere."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from holaboss_client.events import Change
from holaboss_runtime.config.environment import take_environment
from holaboss_runtime.config.secret_store.names import oauth_name, placeholder_name
from holaboss_runtime.config.secret_store.sealed_file import SealedFile
from holaboss_runtime.config.secret_store.store import References, SecretStore
from holaboss_runtime.errors import DomainError
from holaboss_runtime.services import Plan, compose
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from tests.runtime.config.conftest import Made

pytestmark = pytest.mark.anyio

NAME = oauth_name("w1", "files")
VALUE = json.dumps({"tokens": {"access_token": "access-marker-1", "refresh_token": "refresh-marker-1"}})


@pytest.fixture
def changes(tmp_path: Path) -> Iterator[ChangeLog]:
    database = Database.open(tmp_path / "changes.db")
    yield ChangeLog(database)
    database.close()


class Noted:
    """Where the names are that a keychain holds."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)

    async def note(self, name: str, held: bool) -> None:
        (self.names.add if held else self.names.discard)(name)

    def port(self) -> References:
        return References(lambda: sorted(self.names), self.note)


async def test_a_secret_is_pending_until_the_keychain_has_it(changes: ChangeLog) -> None:
    noted = Noted()
    store = SecretStore(changes, references=noted.port())
    await store.put(NAME, VALUE)
    state = store.state()
    assert (state.place, state.trouble) == ("keychain", False)
    assert [(one.name, one.action) for one in state.pending] == [(NAME, "keep")]
    assert "marker" not in state.model_dump_json()
    handed = store.hand_over(NAME)
    assert handed.value == VALUE
    assert (await store.confirm(NAME, handed.version)).kept
    assert (store.state().pending, noted.names) == ([], {NAME})
    assert await store.get(NAME) == VALUE


async def test_what_changed_between_is_not_taken_for_kept(changes: ChangeLog) -> None:
    store = SecretStore(changes, references=Noted().port())
    await store.put(NAME, "first-value")
    handed = store.hand_over(NAME)
    await store.put(NAME, "second-value")
    with pytest.raises(DomainError) as raised:
        await store.confirm(NAME, handed.version)
    assert raised.value.code == "secret_changed"
    assert store.hand_over(NAME).value == "second-value"
    with pytest.raises(DomainError) as raised:
        store.hand_over(oauth_name("w1", "other"))
    assert raised.value.code == "secret_not_pending"


async def test_at_the_next_start_the_keychain_gives_it_back_but_never_over_a_newer_one(
    changes: ChangeLog,
) -> None:
    store = SecretStore(changes, references=Noted(NAME).port())
    received: list[str] = []
    store.on_received = received.append
    assert store.state().missing == [NAME]
    assert (await store.receive(NAME, VALUE)).kept
    assert (store.state().missing, received) == ([], [NAME])
    await store.put(NAME, "newer-value")
    assert not (await store.receive(NAME, VALUE)).kept
    assert await store.get(NAME) == "newer-value"


async def test_what_is_deleted_is_forgotten_by_the_keychain_too(changes: ChangeLog) -> None:
    noted = Noted(NAME, placeholder_name("w2", "KEY"))
    store = SecretStore(changes, references=noted.port())
    await store.forget_workspace("w1")
    handed = store.hand_over(NAME)
    assert handed.value is None
    assert store.state().pending[0].action == "forget"
    await store.confirm(NAME, handed.version)
    assert noted.names == {placeholder_name("w2", "KEY")}
    await store.delete(oauth_name("w1", "never-there"))
    assert store.state().pending == []


async def test_every_change_is_announced_without_its_value(changes: ChangeLog) -> None:
    store = SecretStore(changes, references=Noted().port())
    await store.put(NAME, VALUE)
    events = changes.after(0)
    assert events is not None
    assert [(one.kind, one.workspace_id, one.payload) for one in events] == [
        (Change.SECRET, "w1", {"name": NAME, "kind": "oauth"})
    ]


async def test_tokens_inside_a_value_are_hidden_one_by_one(changes: ChangeLog) -> None:
    store = SecretStore(changes, environment={"GITHUB_TOKEN": "from-the-environment"})
    await store.put(NAME, VALUE)
    assert {VALUE, "access-marker-1", "refresh-marker-1", "from-the-environment"} <= store.live_values()


async def test_standalone_secrets_survive_in_an_encrypted_file(tmp_path: Path, changes: ChangeLog) -> None:
    path = tmp_path / "state" / "secrets.enc"
    store = SecretStore(changes, sealed=SealedFile(path, "a long passphrase"))
    await store.put(NAME, VALUE)
    await store.put(placeholder_name("w1", "KEY"), "of-the-placeholder")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"marker" not in path.read_bytes()
    assert store.state().place == "encrypted_file"
    other = SecretStore(changes, sealed=SealedFile(path, "a long passphrase"))
    assert await other.get(NAME) == VALUE
    await other.delete(NAME)
    # What another process put in or took away meanwhile is not undone.
    await store.put(oauth_name("w1", "third"), "third-value")
    assert SealedFile(path, "a long passphrase").load() == {
        placeholder_name("w1", "KEY"): "of-the-placeholder",
        oauth_name("w1", "third"): "third-value",
    }
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.allow_log("holaboss_runtime.config.secret_store.store", "sealed with another key")
async def test_a_wrong_key_is_named_and_the_file_kept(tmp_path: Path, changes: ChangeLog) -> None:
    path = tmp_path / "secrets.enc"
    await SecretStore(changes, sealed=SealedFile(path, "right")).put(NAME, VALUE)
    before = path.read_bytes()
    store = SecretStore(changes, sealed=SealedFile(path, "wrong"))
    await store.put(NAME, "in-memory-only")
    state = store.state()
    assert (state.place, state.trouble) == ("memory", True)
    assert "another key" in state.detail
    assert await store.get(NAME) == "in-memory-only"
    assert path.read_bytes() == before
    with pytest.raises(DomainError) as raised:
        SealedFile(path, "wrong").load()
    assert raised.value.code == "secrets_key_wrong"


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"holaboss-secrets-1\n", b"holaboss-secrets-1\n" + b"x" * 99]
)
def test_a_broken_file_is_an_error_and_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secrets.enc"
    path.write_bytes(content)
    with pytest.raises(DomainError):
        SealedFile(path, "key").load()
    assert path.read_bytes() == content


@pytest.mark.allow_log("holaboss_runtime.config.secret_store.store", "cannot be kept")
async def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, changes: ChangeLog) -> None:
    (tmp_path / "secrets.enc.part").mkdir()
    store = SecretStore(changes, sealed=SealedFile(tmp_path / "secrets.enc", "key"))
    await store.put(NAME, VALUE)
    assert store.state().trouble
    assert await store.get(NAME) == VALUE


async def test_memory_alone_is_said(changes: ChangeLog) -> None:
    store = SecretStore(changes)
    state = store.state()
    assert (state.place, state.trouble) == ("memory", True)
    assert "HOLABOSS_SECRETS_KEY" in state.detail


@pytest.mark.parametrize("name", ["openai_direct", "mcp-oauth:w1", "mcp:w1:a b", "mcp:../x:K", "mcp:w1:K\n"])
async def test_only_names_of_ours(changes: ChangeLog, name: str) -> None:
    with pytest.raises(DomainError) as raised:
        await SecretStore(changes).put(name, "value")
    assert raised.value.code == "secret_name_invalid"


async def test_placeholders_read_stored_secrets_first_and_then_what_was_opened_to_them(
    changes: ChangeLog,
) -> None:
    environ = {
        "HOLABOSS_MCP_ENV": "GITHUB_TOKEN, NOT_THERE,HOLABOSS_RUNTIME_TOKEN",
        "GITHUB_TOKEN": "opened-value",
        "HOLABOSS_RUNTIME_TOKEN": "the-token-of-the-runtime",
        "AWS_SECRET": "closed-value",
        "HOLABOSS_SECRETS_KEY": "seal",
    }
    environment = take_environment(environ, embedded=False)
    assert environment.secrets_key == "seal"
    assert not {"GITHUB_TOKEN", "HOLABOSS_SECRETS_KEY"} & environ.keys()
    store = SecretStore(changes, environment=environment.placeholders)
    assert store.placeholder("w1", "GITHUB_TOKEN") == "opened-value"
    assert store.placeholder("w1", "AWS_SECRET") is None
    assert store.placeholder("w1", "HOLABOSS_RUNTIME_TOKEN") is None
    await store.receive(placeholder_name("w1", "GITHUB_TOKEN"), "of-this-workspace")
    assert store.placeholder("w1", "GITHUB_TOKEN") == "of-this-workspace"
    assert store.placeholder("w2", "GITHUB_TOKEN") == "opened-value"
    embedded = take_environment({"HOLABOSS_MCP_ENV": "A", "A": "b"}, embedded=True)
    assert embedded.placeholders == {}


async def test_the_configuration_file_holds_names_only(make: Made) -> None:
    service = make({"mine": 1})
    store = SecretStore(
        service.changes, references=References(lambda: service.secret_references, service.note_secret)
    )
    service.further_secrets = store.live_values
    await store.put(NAME, VALUE)
    await store.confirm(NAME, store.hand_over(NAME).version)
    assert service.stored() == {"mine": 1, "secret_references": [NAME]}
    assert "access-marker-1" in service.live_secrets()
    await store.delete(NAME)
    await store.confirm(NAME, store.hand_over(NAME).version)
    assert service.stored() == {"mine": 1}


async def test_a_standalone_runtime_seals_what_it_gets_beside_its_configuration(tmp_path: Path) -> None:
    environ = {"HOLABOSS_SECRETS_KEY": "a long passphrase", "HOLABOSS_MCP_ENV": "TEAM", "TEAM": "blue-team"}
    database = Database.open(tmp_path / "runtime.db")
    plan = Plan(
        root=tmp_path,
        config_path=tmp_path / "state" / "runtime-config.json",
        environment=take_environment(environ, embedded=False),
        owner="server",
        agent_root=tmp_path,
    )
    services = compose(plan, database)
    try:
        await services.secrets.put(NAME, VALUE)
        assert services.secrets.state().place == "encrypted_file"
        assert (tmp_path / "state" / "secrets.enc").exists()
        assert services.secrets.placeholder("w1", "TEAM") == "blue-team"
        assert {"access-marker-1", "blue-team"} <= services.config.live_secrets()
        assert not services.config.view().loaded_from_file  # nothing of it went into the configuration
    finally:
        await services.mcp.close()
        await services.sessions.close()
        database.close()
