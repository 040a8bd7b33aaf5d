"""`agent.json`: what it means, what it refuses, and what a rewrite keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.agents.definition import (
    AgentConfig,
    Heartbeat,
    RetryDelays,
    SandboxPolicy,
    SkillPolicy,
    ToolPolicy,
    WakeLease,
    load_config,
    scaffold,
    with_identity,
)
from holaboss_runtime.agents.documents import MAX_BYTES
from holaboss_runtime.errors import DomainError


def read(tmp_path: Path, document: Any) -> AgentConfig:
    path = tmp_path / "agent.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return load_config(path)[0]


def refusal(tmp_path: Path, document: Any) -> str:
    with pytest.raises(DomainError) as raised:
        read(tmp_path, document)
    assert (raised.value.kind, raised.value.code) == ("unprocessable", "agent_config_invalid")
    assert raised.value.detail.startswith(f"{tmp_path / 'agent.json'}: ")
    return raised.value.detail


def test_nothing_said_is_the_default(tmp_path: Path) -> None:
    config = read(tmp_path, {})
    assert config == AgentConfig()
    assert (config.provider, config.model, config.runner, config.model_request) == (
        "default",
        "default",
        "embedded",
        None,
    )
    assert config.tools.ask == ("bash",)


def test_every_field_is_honoured(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        {
            "runtime": {
                "kind": "cli",
                "provider": "claude-cli",
                "wakeLease": {"staleAfterSeconds": 90, "heartbeatSeconds": 30.0},
            },
            "model": {"provider": "claude", "id": "sonnet"},
            "resilience": {
                "profile": "resilient",
                "retry": {
                    "recoverableWakeRetryDelayMs": 1,
                    "wakeFailureReplayDelayMs": 2,
                    "pendingEventBackoffBaseMs": 3,
                    "pendingEventBackoffMaxMs": 4,
                },
            },
            "tools": {"allow": ["read", " read ", "ls"], "alsoAllow": ["bash"], "deny": ["write"], "ask": []},
            "sandbox": {"mode": "off", "workspaceAccess": "ro"},
            "skills": {"enabled": False, "directories": ["a"], "include": [], "maxPromptEntries": 2},
            "heartbeat": {"enabled": True, "intervalSeconds": 7, "maxConsecutiveFollowUps": 0},
        },
    )
    assert config == AgentConfig(
        provider="claude-cli",
        model="sonnet",
        runner="cli",
        wake_lease=WakeLease(90, 30),
        retry=RetryDelays(1, 2, 3, 4),
        tools=ToolPolicy(("read", "ls"), ("bash",), ("write",), ()),
        sandbox=SandboxPolicy("off", "ro"),
        skills=SkillPolicy(False, ("a",), (), 2),
        heartbeat=Heartbeat(7, 0),
    )


@pytest.mark.parametrize(
    ("document", "provider", "model", "runner"),
    [
        ({"runtime": "pi"}, "openai-codex", "gpt-5.4", "embedded"),
        ({"runtime": "claude-code", "model": "sonnet"}, "claude-cli", "sonnet", "cli"),
        ({"auth": {"provider": "codex", "required": True}}, "openai-codex", "gpt-5.4", "embedded"),
        ({"runtime": {"provider": "codex"}, "model": "gpt-x"}, "openai-codex", "gpt-x", "embedded"),
        ({"runtime": {"provider": "openai_codex"}}, "openai-codex", "gpt-5.4", "embedded"),
        ({"runtime": {"provider": "claude_code"}}, "claude-cli", "opus", "cli"),
        ({"model": {"provider": "ollama", "id": "qwen3"}}, "ollama", "qwen3", "embedded"),
        ({"model": "openai/gpt-5.4-mini"}, "default", "openai/gpt-5.4-mini", "embedded"),
        ({"runtime": {"provider": "demo"}}, "demo", "scripted", "embedded"),
    ],
)
def test_older_and_shorter_forms(
    tmp_path: Path, document: dict[str, Any], provider: str, model: str, runner: str
) -> None:
    config = read(tmp_path, document)
    assert (config.provider, config.model, config.runner) == (provider, model, runner)


@pytest.mark.parametrize(
    ("provider", "model", "request_for"),
    [
        ("default", "default", None),
        ("default", "gpt-5.4", "gpt-5.4"),
        ("openai-codex", "gpt-5.4", "openai/gpt-5.4"),
        ("openai-codex", "openai/gpt-5.4", "openai/gpt-5.4"),
        ("claude-cli", "opus", "anthropic/claude-opus-4-6"),
        ("claude-cli", "claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
        ("ollama", "qwen3", "ollama/qwen3"),
        ("openrouter", "openrouter/auto", "openrouter/openrouter/auto"),
    ],
)
def test_what_the_model_resolution_is_asked_for(provider: str, model: str, request_for: str | None) -> None:
    assert AgentConfig(provider=provider, model=model).model_request == request_for


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ('{\n "tools": {"deny": ["bash"],}\n}', "line 2, column"),
        ("", "line 1, column 1"),
        ("[]", "must hold one object"),
        ('{"tools": {}, "tools": {"deny": []}}', "'tools' stands there twice"),
        ('{"heartbeat": {"intervalSeconds": NaN}}', "NaN is not a number"),
        ('{"model": "\\ud800"}', "not a JSON document in UTF-8"),
        ("[" * 100_000, "not a JSON document"),
        (" " * (MAX_BYTES + 1), "larger than 1 MiB"),
        ({"runtime": "other"}, "runtime names 'other'"),
        ({"runtime": []}, "runtime must be an object"),
        ({"runtime": {"provider": 3}}, "runtime.provider must be a text"),
        ({"runtime": {"provider": "a b"}}, "runtime.provider must be the id"),
        (
            {"runtime": {"provider": "codex"}, "model": {"provider": "claude"}},
            "model.provider is another one",
        ),
        ({"runtime": {"provider": "ollama"}}, "model.id is missing"),
        ({"runtime": {"kind": "remote"}}, "runtime.kind must be one of embedded, cli"),
        ({"runtime": {"wakeLease": {"staleAfterSeconds": 1}}}, "runtime.wakeLease.staleAfterSeconds must be"),
        ({"runtime": {"wakeLease": {"heartbeatSeconds": 600}}}, "must be less than staleAfterSeconds"),
        ({"runtime": {"wakeLease": {"heartbeatSeconds": True}}}, "runtime.wakeLease.heartbeatSeconds must"),
        ({"model": None}, "model must be an object"),
        ({"tools": {"deny": "bash"}}, "tools.deny must be a list"),
        ({"tools": {"deny": ["ls", 3]}}, "tools.deny[1] must be a text"),
        ({"tools": {"ask": None}}, "tools.ask must be a list"),
        ({"sandbox": {"workspaceAccess": "RO"}}, "sandbox.workspaceAccess must be one of none, ro, rw"),
        ({"sandbox": {"mode": ["off"]}}, "sandbox.mode must be one of"),
        ({"skills": {"enabled": "no"}}, "skills.enabled must be true or false"),
        ({"heartbeat": {"intervalSeconds": 1.5}}, "heartbeat.intervalSeconds must be a whole number"),
        ({"heartbeat": {"maxConsecutiveFollowUps": 10**30}}, "heartbeat.maxConsecutiveFollowUps must"),
    ],
)
def test_a_file_that_is_not_right_is_refused_by_field(tmp_path: Path, document: Any, says: str) -> None:
    assert says in refusal(tmp_path, document)


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("{}")
    (tmp_path / "agent.json").symlink_to(tmp_path / "other")
    with pytest.raises(DomainError, match="cannot be read"):
        load_config(tmp_path / "agent.json")


def test_the_tools_an_agent_gets() -> None:
    tools = ("read", "write", "bash", "ls")
    assert ToolPolicy().select(tools) == tools
    assert ToolPolicy(deny=("bash",)).select(tools) == ("read", "write", "ls")
    assert ToolPolicy(allow=("read",), also_allow=("bash",)).select(tools) == ("read", "bash")
    assert ToolPolicy(allow=("*",), deny=("ls",)).select(tools) == ("read", "write", "bash")
    assert ToolPolicy(allow=()).select(tools) == ()
    assert ToolPolicy(also_allow=("*",), deny=("*",)).select(tools) == ()
    assert (ToolPolicy().asks("bash"), ToolPolicy().asks("read")) == (True, False)
    assert ToolPolicy(ask=("*",)).asks("read")


def test_the_fingerprint_follows_the_meaning(tmp_path: Path) -> None:
    plain = read(tmp_path, {})
    spelled_out = read(tmp_path, json.dumps({"tools": {"ask": ["bash"]}, "note": "mine"}, indent=8))
    assert plain.fingerprint == spelled_out.fingerprint
    assert read(tmp_path, {"tools": {"ask": []}}).fingerprint != plain.fingerprint


def test_a_scaffold_is_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    assert read(tmp_path, scaffold(None, None, path).decode()) == AgentConfig()
    codex = read(tmp_path, scaffold("codex", None, path).decode())
    assert (codex.provider, codex.model) == ("openai-codex", "gpt-5.4")
    with pytest.raises(DomainError, match=r"model\.id is missing"):
        scaffold("ollama", None, path)


def test_another_model_keeps_what_else_was_written(tmp_path: Path) -> None:
    before = {
        "note": "ours",
        "runtime": {"provider": "codex", "wakeLease": {"staleAfterSeconds": 50}, "extra": [1]},
        "model": {"id": "gpt-5.4", "temperature": 1},
        "tools": {"deny": ["bash"], "profile": "default"},
    }
    after = json.loads(with_identity(before, "claude", None, tmp_path / "agent.json"))
    assert after == {
        "note": "ours",
        "runtime": {
            "kind": "cli",
            "provider": "claude-cli",
            "wakeLease": {"staleAfterSeconds": 50},
            "extra": [1],
        },
        "model": {"provider": "claude-cli", "id": "opus", "temperature": 1},
        "tools": {"deny": ["bash"], "profile": "default"},
    }
    legacy = json.loads(with_identity({"runtime": "pi", "x": 1}, "default", "m", tmp_path / "agent.json"))
    assert legacy == {
        "runtime": {"kind": "embedded", "provider": "default"},
        "x": 1,
        "model": {"provider": "default", "id": "m"},
    }
