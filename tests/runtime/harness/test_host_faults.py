"""Every way a provider can go wrong is a named failure: no hang, no crash, no key in a message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import ModelClient, RunLimits, WireProtocol
from tests.runtime.harness.conftest import KEY, BuildPackage, Listener
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import Answer, Cut, Reply, ScriptedProvider, call, say

pytestmark = pytest.mark.anyio
PROTOCOLS: list[WireProtocol] = ["openai_chat", "openai_responses", "anthropic_messages"]


async def failure(listener: Listener, package: Any) -> dict[str, Any]:
    events = await listener.run(package)
    assert [event.event_type for event in events].count(RunEvent.RUN_FAILED) == 1
    assert events[-1].event_type == RunEvent.RUN_FAILED
    assert KEY not in json.dumps([event.model_dump() for event in events])
    assert events[-1].payload["provider_id"] == "scripted_direct"
    assert "scripted_direct" not in events[-1].payload["message"], "people read names, not ids"
    assert events[-1].payload["model_id"] == "model-1"
    assert "model-1" in events[-1].payload["message"]
    return events[-1].payload


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "request_rejected", False),
        (401, "authentication", False),
        (403, "authentication", False),
        (404, "model_not_found", False),
        (408, "provider_error", True),
        (429, "rate_limited", True),
        (500, "provider_error", True),
        (503, "provider_unavailable", True),
    ],
)
async def test_refusals(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    protocol: WireProtocol,
    status: int,
    kind: str,
    retryable: bool,
) -> None:
    provider.enqueue(Answer(status=status, message=f"Refused for {KEY}.", retry_after="7"))
    payload = await failure(listener, package(protocol=protocol))
    assert (payload["type"], payload["status_code"], payload["retryable"]) == (kind, status, retryable)
    assert payload["retry_after_s"] == 7
    assert "Refused for [redacted]." in payload["message"]
    assert len(provider.requests) == 1, "the SDK must not try again by itself"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize(
    ("cut", "kinds", "retryable"),
    [
        ("reset", {"connection_failed"}, True),
        ("close", {"connection_failed"}, True),
        ("garbage", {"bad_response"}, False),
        ("error", {"provider_error", "provider_unavailable"}, True),
        ("silence", {"timeout"}, True),
    ],
)
async def test_broken_streams(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    protocol: WireProtocol,
    after: int,
    cut: Cut,
    kinds: set[str],
    retryable: bool,
) -> None:
    provider.enqueue(Answer(say("one two three four five"), cut=cut, after=after))
    idle_s = 0.3 if cut == "silence" else PATIENCE_S  # a busy machine is silent for a while as well
    payload = await failure(listener, package(protocol=protocol, limits=RunLimits(idle_s=idle_s)))
    assert payload["type"] in kinds
    assert payload["retryable"] is retryable


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_politely_cut_answer_is_not_taken_for_a_whole_one(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(Answer(say("one two three four five six"), cut="end", after=6))
    payload = await failure(listener, package(protocol=protocol))
    assert payload["type"] == "connection_failed"


async def test_a_cut_tool_call_is_not_executed_and_leaves_a_usable_history(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(
        Answer(call("bash", text="Now", command="echo never"), cut="reset", after=4, argument_size=2),
        say("ok"),
    )
    events = await listener.run(package())
    assert not [event for event in events if event.event_type == RunEvent.TOOL_CALL]
    assert events[-1].result is not None
    assert events[-1].result.assistant_text == "Now"
    entry = events[-1].result.history
    assert entry is not None
    assert (await listener.run(package(history=[entry])))[-1].payload["status"] == "success"


async def test_an_empty_answer_is_a_failure(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.respond_with(lambda request: Reply())
    assert (await failure(listener, package()))["type"] == "bad_response"


async def test_nobody_there(listener: Listener, package: BuildPackage) -> None:
    nobody = ModelClient(protocol="openai_chat", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    payload = await failure(listener, package(model_client=nobody))
    assert payload["type"] == "connection_failed"
    assert payload["retryable"]


async def test_a_workspace_that_is_gone(listener: Listener, package: BuildPackage) -> None:
    events = await listener.run(package(workspace_dir="/nowhere/at/all"))
    assert events[-1].payload["type"] == "workspace_missing"


async def test_limits_of_a_run(listener: Listener, provider: ScriptedProvider, package: BuildPackage) -> None:
    provider.respond_with(lambda request: call("ls"))
    payload = await failure(listener, package(limits=RunLimits(request_limit=3)))
    assert payload["type"] == "request_limit"
    assert len(provider.requests) == 3
    provider.respond_with(lambda request: call("bash", command="sleep 1000"))
    payload = await failure(listener, package(limits=RunLimits(timeout_s=0.3)))
    assert payload["type"] == "run_timeout"
    assert not payload["retryable"]
