"""What is left out of the work for a request changes nothing of the request, and is really left out."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer
from pydantic_ai.tools import ToolDefinition

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.harness.contract import RunPackage, WireProtocol
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host import model_requests, models
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.model_requests import AdaptedSchemas, Create
from holaboss_runtime.harness.host.models import ModelClients
from holaboss_runtime.harness.host.run import HostRun
from holaboss_runtime.harness.host.toolset import toolset_of
from tests.runtime.harness.asking import PROTOCOLS
from tests.runtime.harness.conftest import BuildPackage
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio


async def _conversation(package: RunPackage) -> None:
    async def nothing() -> None:
        return None

    async def no_runtime(name: str, arguments: dict[str, Any]) -> ToolResult:
        raise AssertionError(name)

    clients = ModelClients()
    try:
        commands = CommandRunner(Containment(), lambda pgid, alive: None)
        tools = toolset_of(package, no_runtime)
        event = await HostRun(package, clients, commands, tools, lambda event: None, nothing).run()
        assert event.payload["status"] == "success", event
    finally:
        await clients.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_sdks_would_send_the_same(
    protocol: WireProtocol,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await asyncio.to_thread((workspace / "note.md").write_text, "Grüße")
    built = package("Read it.", protocol=protocol, context_messages=["It is Monday."])
    for create in (models.sent_as_given, _untouched):
        monkeypatch.setattr(models, "sent_as_given", create)
        provider.enqueue(call("read", path="note.md"), call("ls"), say("Done."))
        await _conversation(built)
    sent = [_unnamed(json.dumps(request.body, ensure_ascii=False)) for request in provider.requests]
    assert len(sent) == 6
    assert "Grüße" in sent[2]
    assert sent[:3] == sent[3:]


def _untouched(create: Create) -> Create:
    return create


def _unnamed(body: str) -> str:
    """Without the ids that the provider makes up for each answer."""
    return re.sub(r'"((?:tool_)?(?:call_|use_)?id)": "[^"]*"', r'"\1": "…"', body)


def tool(name: str, **schema: Any) -> ToolDefinition:
    parameters: dict[str, Any] = {"type": "object", "properties": {}, **schema}
    return ToolDefinition(name=name, parameters_json_schema=parameters, strict=False)


def test_a_tool_is_adapted_once() -> None:
    asked: list[list[str]] = []

    def adapt(parameters: ModelRequestParameters) -> ModelRequestParameters:
        asked.append([each.name for each in parameters.function_tools])
        adapted = [
            replace(
                each, parameters_json_schema=OpenAIJsonSchemaTransformer(each.parameters_json_schema).walk()
            )
            for each in parameters.function_tools
        ]
        return replace(parameters, function_tools=adapted)

    schemas = AdaptedSchemas()
    titled, plain = tool("titled", title="Titled"), tool("plain")
    request = ModelRequestParameters(function_tools=[titled, plain])
    first, second = (schemas.adapt(request, "openai", adapt) for _ in range(2))
    assert first == second
    assert [each.name for each in first.function_tools] == ["titled", "plain"]
    assert "title" not in first.function_tools[0].parameters_json_schema
    changed = tool("plain", properties={"path": {"type": "string"}})
    third = schemas.adapt(replace(request, function_tools=[changed, titled]), "openai", adapt)
    assert third.function_tools[0].parameters_json_schema["properties"] == {"path": {"type": "string"}}
    schemas.adapt(request, "anthropic", adapt)
    assert asked == [["titled", "plain"], [], ["plain"], ["titled", "plain"]]


def test_tools_that_share_a_schema_keep_their_names() -> None:
    schemas = AdaptedSchemas()
    request = ModelRequestParameters(function_tools=[tool("one"), tool("two")])
    for _ in range(2):
        adapted = schemas.adapt(request, None, lambda parameters: parameters)
        assert [each.name for each in adapted.function_tools] == ["one", "two"]


def test_old_schemas_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_requests, "KEPT_SCHEMAS", 2)
    schemas = AdaptedSchemas()
    for number in range(4):
        many = [tool("a", title=str(number)), tool("b", title="b"), tool("c", title="c")]
        adapted = schemas.adapt(ModelRequestParameters(function_tools=many), None, lambda given: given)
        assert [each.name for each in adapted.function_tools] == ["a", "b", "c"]
    assert len(schemas) == 2
