"""The manifest of a run says what its package holds, and nothing that the executor could not call."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_runtime.harness.contract import (
    CustomTool,
    McpServer,
    McpServerConfig,
    McpToolRef,
    ModelClient,
    RunPackage,
    RuntimeTool,
)
from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from holaboss_runtime.runs.capabilities import Evaluated, evaluate

BELL = RuntimeTool(name="bell", description="Ring.", input_schema={"type": "object"}, mutates=False)
LOOKUP = CustomTool(name="lookup", description="Ask.", input_schema={"type": "object"})
CLOCK = McpServer(name="clock", config=McpServerConfig(type="local", command=["clock"]))


def package(**fields: Any) -> RunPackage:
    defaults: dict[str, Any] = {
        "workspace_id": "w",
        "workspace_dir": "/w",
        "session_id": "s",
        "input_id": "i",
        "wake_id": "k",
        "instruction": "",
        "system_prompt": "",
        "provider_id": "p",
        "provider_name": "P",
        "model_id": "m",
        "model_client": ModelClient(protocol="openai_chat", base_url="http://127.0.0.1:1", api_key="sk-1"),
        "tools": ["read", "bash", "todo"],
        "runtime_tools": [BELL],
        "custom_tools": [LOOKUP],
        "mcp_servers": [CLOCK],
        "mcp_tool_refs": [McpToolRef(tool_id="clock.now", server_id="clock", tool_name="now")],
    }
    return RunPackage(**(defaults | fields))


def of(given: RunPackage, **options: Any) -> Evaluated:
    return evaluate(given, harness="native", skills={"filing": "Filing"}, **options)


def names(evaluated: Evaluated) -> set[str]:
    held = evaluated.package
    return {*held.tools, *(tool.name for tool in (*held.runtime_tools, *held.custom_tools))}


def test_everything_the_package_holds_is_listed_by_what_it_does() -> None:
    document = of(package()).document
    assert document["inspect"] == ["read", "bell"]
    assert document["mutate"] == ["bash", "lookup", "clock.now"]
    assert document["coordinate"] == ["todo", "skill:filing"]
    assert document["context"]["mcp_server_ids"] == ["clock"]


@pytest.mark.parametrize("tool", ["bash", "bell", "lookup"])
def test_a_forbidden_tool_is_gone_from_package_and_manifest(tool: str) -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="deny", tool=tool)])
    evaluated = of(package(permissions=policy))
    assert names(evaluated) == {"read", "bash", "todo", "bell", "lookup"} - {tool}
    (record,) = [one for one in evaluated.document["capabilities"] if one["id"] == tool]
    assert (record["callable"], record["unavailable_reason"]) == (False, "permission_denied")
    assert tool not in evaluated.document["mutate"] + evaluated.document["inspect"]


def test_a_rule_about_some_arguments_leaves_the_tool() -> None:
    rules = [
        PermissionRule(effect="deny", tool="bash", command="rm"),
        PermissionRule(effect="deny", tool="read", path=".env"),
    ]
    assert {"bash", "read"} <= names(of(package(permissions=PermissionPolicy(rules=rules))))


def test_what_asks_first_says_so() -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="always_ask", tool="bash")])
    records = {one["id"]: one for one in of(package(permissions=policy)).document["capabilities"]}
    assert records["bash"]["requires_user_confirmation"] is True
    assert records["read"]["requires_user_confirmation"] is False


def test_what_is_withheld_is_named_with_its_reason_and_not_callable() -> None:
    document = of(package(), withheld={"image_generate": "no_provider"}).document
    (record,) = [one for one in document["capabilities"] if one["id"] == "image_generate"]
    assert (record["callable"], record["unavailable_reason"]) == (False, "no_provider")
    assert "image_generate" not in document["mutate"]


def test_the_fingerprint_moves_with_the_capabilities_and_with_nothing_else() -> None:
    first = of(package())
    assert of(package(instruction="other", input_id="j")).fingerprint == first.fingerprint
    assert of(package(tools=["read", "bash"])).fingerprint != first.fingerprint
