"""`workspace.yaml`: what is accepted, and what each mistake is called."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.plan import load_plan, read_policy

MINIMAL = """\
name: Bench
agents: {id: workspace.general, model: fake/m-1}
mcp_registry: {allowlist: {tool_ids: []}, servers: {}}
"""


def test_the_minimal_plan(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").write_text(MINIMAL)
    plan = load_plan(tmp_path)
    assert (plan.name, plan.model) == ("Bench", "fake/m-1")
    assert plan.checksum == hashlib.sha256(MINIMAL.encode()).hexdigest()


def test_missing_files_are_empty_ones(tmp_path: Path) -> None:
    assert load_plan(tmp_path).model is None
    assert read_policy(tmp_path) == ""
    (tmp_path / "workspace.yaml").write_text("# nothing yet\n")
    assert load_plan(tmp_path).name is None


def test_the_policy_is_read_whatever_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xef\xbb\xbfBe kind.\xff\n")
    assert read_policy(tmp_path) == "Be kind.\ufffd\n"


def test_known_servers_and_the_catalogue_may_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").write_text(
        "agents: {id: a}\nmcp_registry:\n  allowlist: {tool_ids: [files.read, workspace.sum]}\n"
        "  servers: {files: {type: local, command: [x]}}\n"
    )
    assert load_plan(tmp_path).name is None


AGENT = "agents: {id: a}\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: [", "workspace_config_invalid_yaml"),
        ("- a\n- b\n", "workspace_config_invalid_yaml"),
        ("a: !!python/object/apply:os.getcwd []\n", "workspace_config_invalid_yaml"),
        ("\x00", "workspace_config_invalid_yaml"),
        ("[" * 3000, "workspace_config_invalid_yaml"),
        ("name: x\n", "workspace_general_missing"),
        ("agents: [{id: a}]\n", "workspace_general_missing"),
        ("agents: {general: {id: a}}\n", "workspace_general_missing"),
        ("agents: {id: a, prompt: hi}\n", "workspace_prompt_inline_not_allowed"),
        ("agents: {id: a, schema_id: x, schema_module_path: y}\n", "workspace_schema_field_conflict"),
        (AGENT + "tool_registry: {}\n", "workspace_tool_registry_unsupported"),
        (AGENT + "mcp_registry: [a]\n", "workspace_config_invalid"),
        (AGENT + "mcp_registry: {allowlist: {tool_ids: nope}}\n", "workspace_mcp_tool_id_invalid"),
        (AGENT + "mcp_registry: {allowlist: {tool_ids: [nodot]}}\n", "workspace_mcp_tool_id_invalid"),
        (
            AGENT + "mcp_registry: {allowlist: {tool_ids: [a.b, a.b]}, servers: {a: {}}}\n",
            "workspace_mcp_tool_id_invalid",
        ),
        (AGENT + "mcp_registry: {allowlist: {tool_ids: [a.b]}}\n", "workspace_mcp_server_unknown"),
        ("x" * (1024 * 1024 + 1), "workspace_config_too_large"),
    ],
)
def test_mistakes_have_a_name_and_a_way_out(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "workspace.yaml").write_text(text)
    with pytest.raises(DomainError) as raised:
        load_plan(tmp_path)
    assert (raised.value.kind, raised.value.code) == ("unprocessable", code)
    assert raised.value.context["hint"] in raised.value.detail


@pytest.mark.parametrize("name", ["workspace.yaml", "AGENTS.md"])
def test_what_an_agent_put_in_the_place_of_a_file_is_not_read(tmp_path: Path, name: str) -> None:
    """A link would put any file of this computer into a prompt; a pipe would hold the run for ever."""
    folder = tmp_path / "w"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret: 1")
    (folder / name).symlink_to(tmp_path / "secret")
    read = load_plan if name == "workspace.yaml" else read_policy
    with pytest.raises(DomainError, match="leads out of the workspace") as raised:
        read(folder)
    assert raised.value.code == "workspace_config_unreadable"
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DomainError, match="not a file"):
        read(folder)
