"""Tools that are found by searching, through the real host in every dialect; and the search of a model's provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.native_tools._tool_search import ToolSearchTool

from holaboss_runtime.harness.contract import (
    CustomTool,
    ModelClient,
    RunPackage,
    SearchClient,
    WireProtocol,
)
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host.models import ModelClients
from holaboss_runtime.harness.host.tools.base import HostTool, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.toolset import HIDDEN, MOST_VISIBLE, fits_any, toolset_of
from holaboss_runtime.harness.toolbox import Caller, ToolAnswer, Toolbox, ToolboxTool
from tests.runtime.harness.asking import PROTOCOLS, ending, history, policy, told, waiting
from tests.runtime.harness.conftest import BuildPackage, Listener, open_harness
from tests.support.dialects import responses
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio


class TerminalInput(BaseModel):
    keys: str


async def terminal(caller: Caller, request: TerminalInput) -> ToolAnswer:
    return ToolAnswer(f"typed {request.keys}")


TERMINAL = ToolboxTool("terminal_type", "Type into a terminal session.", TerminalInput, terminal)


@pytest.fixture(scope="module")
async def harness(anyio_backend: str) -> Any:
    toolbox = Toolbox()
    toolbox.register(TERMINAL)
    async with open_harness(toolbox=toolbox) as opened:
        yield opened


def offered(body: dict[str, Any]) -> list[str]:
    """The names of the tools in a request that a model can call at once, whatever the dialect."""
    tools = [tool for tool in body.get("tools", []) if not tool.get("defer_loading")]
    return [str(tool.get("name") or tool.get("function", {}).get("name") or tool["type"]) for tool in tools]


def searching(package: BuildPackage, protocol: WireProtocol, **fields: Any) -> RunPackage:
    return package(protocol=protocol, runtime_tools=[TERMINAL.definition()], **fields)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_hidden_tool_is_found_and_then_called(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(
        call("search_tools", queries=["terminal"]), call("terminal_type", keys="ls"), say("Typed it.")
    )
    events = await listener.run(searching(package, protocol))
    assert ending(events)[0] == "success"
    first, second, third = (request.body for request in provider.requests)
    assert "terminal_type" not in offered(first)
    assert "search_tools" in offered(first)
    assert "terminal_type" in offered(second)
    assert [name for name in offered(second) if name != "terminal_type"] == offered(first)
    assert "typed ls" in json.dumps(third)
    done = {payload["tool_name"]: payload for payload in told(events, "completed")}
    assert done["terminal_type"]["result"]["content"][0]["text"] == "typed ls"
    assert not done["search_tools"]["error"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_tool_that_was_found_is_gated_like_any_other(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(call("search_tools", queries=["terminal"]), call("terminal_type", keys="ls"))
    events = await listener.run(searching(package, protocol, permissions=policy(terminal_type="always_ask")))
    (asked,) = waiting(events).pending
    assert (asked.tool_name, asked.tool_args) == ("terminal_type", {"keys": "ls"})


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_was_found_stays_found_in_the_next_turn(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(call("search_tools", queries=["terminal"]), say("Found."), say("Again."))
    _, result = ending(await listener.run(searching(package, protocol)))
    await listener.run(searching(package, protocol, history=history(result)))
    assert "terminal_type" in offered(provider.requests[-1].body)


@pytest.mark.parametrize(
    ("protocol", "model_id"), [("anthropic_messages", "claude-sonnet-4-6"), ("openai_responses", "gpt-5.4")]
)
async def test_a_server_is_not_trusted_to_search_for_tools_because_of_a_models_name(
    provider: ScriptedProvider,
    listener: Listener,
    package: BuildPackage,
    protocol: WireProtocol,
    model_id: str,
) -> None:
    provider.enqueue(call("search_tools", queries=["terminal"]), say("Found."))
    events = await listener.run(searching(package, protocol, model_id=model_id))
    assert ending(events)[0] == "success"
    first, second = (request.body for request in provider.requests)
    assert "terminal_type" not in json.dumps(first["tools"])
    assert "search_tools" in offered(first)
    assert "tool_search" not in json.dumps(first["tools"]).replace("search_tools", "")
    assert "terminal_type" in offered(second)


@pytest.mark.parametrize(
    ("protocol", "base_url", "model_id"),
    [
        ("anthropic_messages", "https://api.anthropic.com", "claude-sonnet-4-6"),
        ("openai_responses", "https://api.openai.com/v1", "gpt-5.4"),
    ],
)
async def test_the_vendor_itself_searches_for_tools(
    package: BuildPackage, protocol: WireProtocol, base_url: str, model_id: str
) -> None:
    client = ModelClient(protocol=protocol, base_url=base_url, api_key="key")
    clients = ModelClients()
    try:
        async with clients.model(package(protocol=protocol, model_id=model_id, model_client=client)) as (
            model,
            _,
        ):
            assert ToolSearchTool in model.profile.get("supported_native_tools", frozenset())
            assert model.tool_deferral_mode is not None
            assert model.profile.get("supports_thinking")
    finally:
        await clients.close()


async def test_a_search_that_finds_nothing_and_one_that_makes_no_sense_are_answers(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage
) -> None:
    provider.enqueue(
        call("search_tools", queries=["zebra"]), call("search_tools", wrong=1), say("There is none.")
    )
    events = await listener.run(searching(package, "openai_chat"))
    assert ending(events)[0] == "success"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_hidden_tool_that_was_not_found_is_not_called(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(call("terminal_type", keys="rm -rf /"), say("All right."))
    events = await listener.run(searching(package, protocol))
    assert ending(events)[0] == "success"
    assert "typed" not in json.dumps(provider.requests[-1].body)


async def test_without_hidden_tools_nothing_is_searched(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage
) -> None:
    provider.enqueue(say("Hello."))
    await listener.run(package())
    assert "search_tools" not in offered(provider.requests[0].body)


async def test_a_custom_tool_cannot_break_the_search_by_its_name(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage
) -> None:
    provider.enqueue(say("Hello."))
    custom = CustomTool(name="search_tools", description="Mine.", input_schema={})
    events = await listener.run(searching(package, "openai_chat", custom_tools=[custom]))
    assert ending(events)[0] == "success"


async def _nothing(name: str, arguments: dict[str, Any]) -> ToolResult:
    raise AssertionError("nobody calls")


async def _no_function(workspace: Workspace, request: Any) -> ToolOutcome:
    raise AssertionError("nobody calls")


def test_the_table_says_what_is_hidden_and_a_crowd_of_foreign_tools_is(package: BuildPackage) -> None:
    tool = TERMINAL.definition()
    few = [HostTool(f"mcp__a__{n}", "", None, _no_function) for n in range(3)]
    many = [HostTool(f"mcp__a__{n}", "", None, _no_function) for n in range(MOST_VISIBLE)]
    tools = toolset_of(package(runtime_tools=[tool]), _nothing, few)
    assert tools["terminal_type"].hidden
    assert not any(tools[each.name].hidden for each in few)
    assert sum(not each.hidden for each in tools.values()) <= 25
    crowded = toolset_of(package(), _nothing, many)
    assert all(crowded[each.name].hidden for each in many)
    assert not crowded["read"].hidden
    assert fits_any("terminal_session_start", HIDDEN)


# The search of the provider itself


NATIVE: list[WireProtocol] = ["openai_responses", "anthropic_messages"]


def native(package: BuildPackage, protocol: WireProtocol, **fields: Any) -> RunPackage:
    return package(protocol=protocol, web_search=SearchClient(provider="native"), **fields)


def searches_offered(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in body.get("tools", []) if "web_search" in json.dumps(tool)[:200]]


@pytest.mark.parametrize("protocol", NATIVE)
async def test_the_request_to_the_model_carries_the_search_and_no_tool_of_ours_does(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(say("Hello."))
    await listener.run(native(package, protocol))
    (tool,) = searches_offered(provider.requests[0].body)
    assert tool["type"].startswith("web_search")
    assert "input_schema" not in tool
    assert "parameters" not in tool


@pytest.mark.parametrize("protocol", NATIVE)
@pytest.mark.parametrize("effect", ["always_ask", "deny"])
async def test_where_a_search_would_be_asked_about_it_goes_through_the_gate(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage, protocol: WireProtocol, effect: Any
) -> None:
    provider.enqueue(call("web_search", query="weather"), say("Well."))
    events = await listener.run(native(package, protocol, permissions=policy(web_search=effect)))
    (tool,) = searches_offered(provider.requests[0].body)
    assert "input_schema" in tool or "parameters" in tool
    if effect == "always_ask":
        assert waiting(events).pending[0].tool_name == "web_search"
    else:
        assert [denied.tool_name for denied in ending(events)[1].denials] == ["web_search"]


async def test_without_anybody_who_searches_there_is_no_such_tool(
    provider: ScriptedProvider, listener: Listener, package: BuildPackage
) -> None:
    provider.enqueue(say("Hello."))
    await listener.run(package(web_search=None))
    names = offered(provider.requests[0].body)
    assert "web_search" not in names
    assert "image_generate" not in names
    assert "download_url" in names


class SearchingProvider:
    """A provider that searches by itself before it answers, as the two dialects tell it."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def handle(self, request: Request, wire: Wire) -> None:
        self.bodies.append(request.body)
        wire.begin(200, "text/event-stream; charset=utf-8")
        events = anthropic_search() if request.path.endswith("/messages") else responses_search()
        for event in events:
            wire.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        wire.end()


FOUND = {"url": "https://weather.example/today", "title": "Weather today"}


def anthropic_search() -> list[dict[str, Any]]:
    result = FOUND | {"type": "web_search_result", "encrypted_content": "abc", "page_age": None}
    call_block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [result]}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 0},
    }
    asked = {"type": "input_json_delta", "partial_json": '{"query": "weather"}'}
    said = {"type": "text_delta", "text": "It rains."}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": call_block},
        {"type": "content_block_delta", "index": 0, "delta": asked},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": answer},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 2, "delta": said},
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


def responses_search() -> list[dict[str, Any]]:
    begun = {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}
    action = {"type": "search", "query": "weather", "sources": [{"type": "url", "url": FOUND["url"]}]}
    done = begun | {"status": "completed", "action": action}
    spoken = list(responses.stream(say("It rains."), "model-1", argument_size=100))
    events = [json.loads(piece.decode().partition("data: ")[2]) for piece in spoken]
    for event in events:
        if "output_index" in event:
            event["output_index"] += 1
    search = [
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
    ]
    events = [*events[:2], *search, *events[2:]]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


@pytest.mark.parametrize("protocol", NATIVE)
async def test_a_search_of_the_provider_is_told_like_any_call_and_can_be_sent_again(
    listener: Listener, package: BuildPackage, protocol: WireProtocol
) -> None:
    scripted = SearchingProvider()
    with HttpServer(scripted.handle) as server:
        root = server.url if protocol == "anthropic_messages" else f"{server.url}/v1"
        client = ModelClient(protocol=protocol, base_url=root, api_key="key")
        events = await listener.run(native(package, protocol, model_client=client))
        status, result = ending(events)
        assert status == "success", events[-1]
        again = native(package, protocol, model_client=client, history=history(result))
        assert ending(await listener.run(again))[0] == "success"
    calls = [event.payload for event in events if event.event_type == "tool_call"]
    assert [(each["phase"], each["tool_name"]) for each in calls] == [
        ("started", "web_search"),
        ("completed", "web_search"),
    ]
    assert calls[0]["call_id"] == calls[1]["call_id"]
    assert calls[0]["content_index"] == calls[1]["content_index"] == 0
    assert calls[1]["tool_args"]["query"] == "weather"
    assert calls[1]["result"]["details"]["results"][0]["url"] == FOUND["url"]
    assert FOUND["url"] in calls[1]["result"]["content"][0]["text"]
    assert not calls[1]["error"]
    assert result.assistant_text == "It rains."
    assert [made["tool_name"] for made in result.tool_calls] == ["web_search"]
    if protocol == "openai_responses":  # this dialect names the pages only when asked to
        assert "web_search_call.action.sources" in scripted.bodies[0]["include"]
    else:
        assert "weather" in json.dumps(scripted.bodies[1]["messages"])
