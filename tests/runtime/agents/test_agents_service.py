"""Agents as a whole: the tree, the file and the row, whoever comes first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holaboss_runtime.agents.definition import AgentConfig
from holaboss_runtime.agents.substrate import NAMES
from holaboss_runtime.errors import DomainError
from tests.runtime.agents.place import Place


def code_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(DomainError) as raised:
        attempt()
    return raised.value.code


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_agent_is_made_with_all_it_needs(place: Place) -> None:
    made = place.agents.ensure("alpha")
    assert (made.provider, made.model, made.runner, made.source) == ("default", "default", "embedded", "file")
    assert place.registry.agent_workspace(made.workspace_id)
    assert place.registry.folder(made.workspace_id) == place.tree.agent_workspace("alpha")
    assert files_below(place.tree.agent("alpha")) == {"agent.json"} | {f"workspace/{name}" for name in NAMES}
    assert place.agents.config("alpha") == AgentConfig()
    assert [name for name, _ in place.agents.substrate("alpha")] == list(NAMES)


def test_asking_again_changes_nothing_and_mends_what_is_missing(place: Place) -> None:
    made = place.agents.ensure("alpha", "codex")
    soul = place.tree.agent_workspace("alpha") / "SOUL.md"
    soul.write_text("mine")
    (soul.parent / "USER.md").unlink()
    place.tree.agent_config("alpha").unlink()
    assert place.again().ensure("alpha", "openai-codex", "gpt-5.4") == made
    assert soul.read_text() == "mine"
    assert (soul.parent / "USER.md").exists()
    assert place.agents.config("alpha").provider == "openai-codex"
    assert place.agents.list().count == 1


def test_asking_for_another_model_is_not_ignored(place: Place) -> None:
    place.agents.ensure("alpha", "codex")
    for provider, model in (("claude", None), (None, "gpt-5.4-mini")):
        assert code_of(lambda p=provider, m=model: place.agents.ensure("alpha", p, m)) == "agent_exists"
    assert code_of(lambda: place.agents.ensure("Alpha")) == "agent_exists"


def test_a_refused_creation_leaves_nothing(place: Place) -> None:
    assert code_of(lambda: place.agents.ensure("../up")) == "agent_id_invalid"
    assert code_of(lambda: place.agents.ensure("alpha", "ollama")) == "agent_config_invalid"
    assert list(place.root.iterdir()) == []
    assert place.agents.list().items == []


def test_a_definition_that_was_there_first_is_taken_as_it_is(place: Place) -> None:
    path = place.tree.agent_config("alpha")
    path.parent.mkdir(parents=True)
    path.write_text('{"runtime": "claude-code"}')
    made = place.agents.ensure("alpha")
    assert (made.provider, made.model, made.runner) == ("claude-cli", "opus", "cli")
    assert path.read_text() == '{"runtime": "claude-code"}'


def test_an_edited_file_is_read_again_and_the_row_follows(place: Place) -> None:
    place.agents.ensure("alpha")
    path = place.tree.agent_config("alpha")
    assert place.agents.config("alpha").tools.deny == ()
    path.write_text('{"model": "m2", "tools": {"deny": ["bash"]}}')
    assert place.agents.config("alpha").tools.deny == ("bash",)
    record = place.agents.record("alpha")
    assert (record.model, record.config) == ("m2", {"model": "m2", "tools": {"deny": ["bash"]}})
    path.write_text('{"model": "m3"}')
    assert place.agents.get("alpha").model == "m3"
    assert place.again().list().items[0].model == "m3"


def test_an_unchanged_file_costs_no_write_and_no_reading(place: Place) -> None:
    place.agents.ensure("alpha")
    first = place.agents.config("alpha")
    before = place.database.scalar("SELECT total_changes()")
    assert place.agents.config("alpha") is first
    assert place.database.scalar("SELECT total_changes()") == before


def test_a_broken_file_refuses_runs_and_hides_nothing(place: Place) -> None:
    place.agents.ensure("alpha")
    place.agents.ensure("beta")
    place.agents.config("alpha")
    place.tree.agent_config("alpha").write_text('{"tools": {"deny": ["bash"]}')
    assert code_of(lambda: place.agents.config("alpha")) == "agent_config_invalid"
    assert [agent.agent_id for agent in place.agents.list().items] == ["alpha", "beta"]
    assert place.agents.get("alpha").model == "default"
    assert place.agents.config("beta") == AgentConfig()
    place.tree.agent_config("gamma").parent.mkdir()
    place.tree.agent_config("gamma").write_text("nonsense")
    assert code_of(lambda: place.agents.ensure("gamma")) == "agent_config_invalid"
    assert place.tree.agent_config("gamma").read_text() == "nonsense"
    assert code_of(lambda: place.agents.get("gamma")) == "agent_not_found"


def test_a_removed_file_is_made_anew_for_the_same_model(place: Place) -> None:
    place.agents.ensure("alpha", "claude", "sonnet")
    place.tree.agent_config("alpha").unlink()
    config = place.agents.config("alpha")
    assert (config.provider, config.model) == ("claude-cli", "sonnet")
    assert place.tree.agent_config("alpha").exists()


def test_a_linked_file_is_refused(place: Place, tmp_path: Path) -> None:
    place.agents.ensure("alpha")
    path = place.tree.agent_config("alpha")
    path.unlink()
    (tmp_path / "mine.json").write_text("{}")
    path.symlink_to(tmp_path / "mine.json")
    assert code_of(lambda: place.agents.config("alpha")) == "agent_tree_link"


def desktop_workspace(place: Place, tmp_path: Path, workspace_id: str = "w1") -> Path:
    folder = tmp_path / workspace_id
    folder.mkdir()
    (folder / "workspace.yaml").write_text("agents:\n  id: workspace.general\n  model: openai/gpt-5.4\n")
    (folder / "AGENTS.md").write_text("the policy")
    place.registry.add(workspace_id, folder)
    return folder


def test_a_workspace_of_the_desktop_is_an_agent(place: Place, tmp_path: Path) -> None:
    folder = desktop_workspace(place, tmp_path)
    before = files_below(folder)
    made = place.agents.ensure("w1")
    assert (made.workspace_id, made.source, made.model) == ("w1", "workspace", "openai/gpt-5.4")
    assert place.agents.config("w1").model_request == "openai/gpt-5.4"
    assert place.agents.config("w1").tools.ask == ("bash",)
    assert place.agents.substrate("w1") == [("AGENTS.md", "the policy")]
    assert files_below(folder) == before
    assert files_below(place.tree.agent("w1")) == set()
    assert code_of(lambda: place.agents.ensure("w1", model="m")) == "agent_is_workspace"
    (folder / "workspace.yaml").write_text("agents:\n  id: workspace.general\n")
    assert place.agents.get("w1").model == "default"
    (folder / "workspace.yaml").write_text("agents: []\n")
    assert code_of(lambda: place.agents.config("w1")) == "workspace_general_missing"
    assert place.agents.ensure("w1").source == "workspace"


def test_a_file_of_an_agent_wins_over_a_workspace_of_the_same_name(place: Place, tmp_path: Path) -> None:
    desktop_workspace(place, tmp_path, "alpha")
    place.tree.agent_config("alpha").parent.mkdir(parents=True)
    place.tree.agent_config("alpha").write_text("{}")
    made = place.agents.ensure("alpha")
    assert made.source == "file"
    assert made.workspace_id != "alpha"


def test_what_a_crash_left_halfway_is_finished(place: Place) -> None:
    place.tree.make_agent("alpha")
    place.registry.register_agent("alpha", place.tree.agent_workspace("alpha"), "alpha")
    made = place.agents.ensure("alpha")
    assert (made.source, made.workspace_id) == ("file", "alpha")


def test_a_deleted_workspace_makes_no_sessions(place: Place, tmp_path: Path) -> None:
    desktop_workspace(place, tmp_path)
    place.agents.ensure("w1")
    place.database.execute("UPDATE workspaces SET deleted_at_utc = '2026' WHERE id = 'w1'")
    assert code_of(lambda: place.agents.ensure("w1")) == "workspace_not_found"
