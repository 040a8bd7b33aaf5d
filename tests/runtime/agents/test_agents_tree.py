"""Names that become paths, and folders that must be where they say they are."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_client.base import new_id
from holaboss_runtime.agents.files import replace, write_new
from holaboss_runtime.agents.ids import check_new_session_id
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError

BAD = ["", ".", "..", "../up", "a/b", "a\\b", "a:b", "a\0b", ".hidden", "a b", "a\n", "é", "end.", "x" * 129]


@pytest.mark.parametrize("name", [*BAD, "a@b"])
def test_an_id_that_is_no_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    tree = AgentTree(tmp_path)
    asked: list[tuple[Callable[[str], object], str]] = [
        (tree.agent, "agent_id_invalid"),
        (tree.agent_prompt, "agent_id_invalid"),
        (tree.environment, "environment_id_invalid"),
    ]
    for ask, code in asked:
        with pytest.raises(DomainError) as raised:
            ask(name)
        assert raised.value.code == code


@pytest.mark.parametrize("name", [name for name in BAD if len(name) != 129] + ["x" * 201])
def test_a_session_id_that_is_no_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(DomainError, match="not an id of a session") as raised:
        AgentTree(tmp_path).session("alpha", name)
    assert raised.value.code == "session_id_invalid"


def test_the_paths_of_the_format(tmp_path: Path) -> None:
    tree = AgentTree(tmp_path)
    below = tmp_path.resolve() / ".openboa"
    spelled = {
        tree.agent_config("alpha"): "agents/alpha/agent.json",
        tree.agent_workspace("alpha"): "agents/alpha/workspace",
        tree.learnings("alpha", "error"): "agents/alpha/learn/errors.jsonl",
        tree.activations("alpha"): "agents/alpha/runtime/activation-events.jsonl",
        tree.session_document("alpha", "s@1"): "agents/alpha/sessions/s@1/session.json",
        tree.session_events("alpha", "s"): "agents/alpha/sessions/s/events.jsonl",
        tree.wake_queue("alpha", "s"): "agents/alpha/sessions/s/wake-queue.jsonl",
        tree.checkpoint("alpha", "s"): "agents/alpha/sessions/s/runtime/checkpoint.json",
        tree.session_state("alpha", "s"): "agents/alpha/sessions/s/runtime/session-state.md",
        tree.working_buffer("alpha", "s"): "agents/alpha/sessions/s/runtime/working-buffer.md",
        tree.environment("local-default"): "environments/local-default.json",
        tree.bootstrap: "bootstrap/runtime.json",
        tree.base_prompt: "system/base.prompt",
        tree.agent_prompt("alpha"): "system/agents/alpha.prompt",
    }
    assert {str(path.relative_to(below)) for path in spelled} == set(spelled.values())


def test_folders_are_private_and_listed(tmp_path: Path) -> None:
    tree = AgentTree(tmp_path)
    tree.make_session("alpha", "one")
    tree.make_session("alpha", "one")
    made = [path for path in (tmp_path / ".openboa").rglob("*") if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in [tree.folder, *made]} == {0o700}
    (tree.agents / "not a name").mkdir()
    (tree.agents / "link").symlink_to(tmp_path)
    assert tree.agent_ids() == ["alpha", "not a name"]
    assert (tree.session_ids("alpha"), tree.session_ids("beta")) == (["one"], [])


@pytest.mark.parametrize("linked", [".openboa", ".openboa/agents", ".openboa/agents/alpha/sessions/one"])
def test_a_link_in_the_tree_is_not_followed(tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "root" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    tree = AgentTree(tmp_path / "root")
    for attempt in (
        lambda: tree.make_session("alpha", "one"),
        lambda: tree.safe(tree.session_events("alpha", "one")),
    ):
        with pytest.raises(DomainError) as raised:
            attempt()
        assert raised.value.code == "agent_tree_link"
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / ".openboa").write_text("mine")
    with pytest.raises(DomainError) as raised:
        AgentTree(tmp_path).make_agent("alpha")
    assert raised.value.code == "agent_tree_blocked"
    assert (tmp_path / ".openboa").read_text() == "mine"


def test_a_new_file_is_private_complete_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_new(path, b"first") is True
    assert write_new(path, b"second") is False
    assert path.read_bytes() == b"first"
    replace(path, b"third")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"third", 0o600)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert write_new(tmp_path / "dangling", b"x") is False
    assert {path.name for path in tmp_path.iterdir()} == {"dangling", "file"}


def test_what_cannot_be_written_says_where(tmp_path: Path) -> None:
    for write in (write_new, replace):
        with pytest.raises(DomainError, match="cannot be written: No such file") as raised:
            write(tmp_path / "missing" / "file", b"x")
        assert (raised.value.kind, raised.value.code) == ("unavailable", "agent_tree_not_writable")


UUID7 = "0198c0de-2f43-7b77-9b53-3a2a7f5c1d10"


@pytest.mark.parametrize(
    "given", ["", "one", "../x", "6c1f8a0e-2f43-4b77-9b53-3a2a7f5c1d10", UUID7.upper(), f"{{{UUID7}}}"]
)
def test_only_a_uuid7_may_be_chosen_for_a_session(given: str) -> None:
    with pytest.raises(DomainError, match="UUIDv7"):
        check_new_session_id(given)
    chosen = new_id()
    assert check_new_session_id(chosen) == chosen
