"""The table from what the executor streams to what the runtime stores, read from recorded streams of every dialect.

`recorded/<scene>-<protocol>.json` holds what the library said in one run; all dialects have to come out the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_ai.messages import AgentStreamEvent, PartStartEvent

from holaboss_runtime.harness.contract import RunnerEvent, WireProtocol
from holaboss_runtime.harness.host.narrator import Narrator
from holaboss_runtime.permissions.model import PermissionRule, Verdict
from tests.runtime.harness.asking import PROTOCOLS

pytestmark = pytest.mark.anyio

RECORDED = Path(__file__).with_name("recorded")
STREAM: TypeAdapter[list[AgentStreamEvent]] = TypeAdapter(list[AgentStreamEvent])
Row = tuple[str, dict[str, Any]]
WHY = "It changes things."

TALK: list[Row] = [
    ("thinking_delta", {"delta": "Let me think.", "content_index": 0, "offset": 0, "delta_kind": "thinking"}),
    ("output_delta", {"delta": "Good morning.", "content_index": 1, "offset": 0, "delta_kind": "output"}),
]
TOOLS: list[Row] = [
    ("output_delta", {"delta": "I look.", "content_index": 0, "offset": 0, "delta_kind": "output"}),
    (
        "tool_call",
        {"phase": "started", "call_id": "call_1", "content_index": 1, "tool_args": {"path": "a.txt"}},
    ),
    ("tool_call", {"phase": "completed", "call_id": "call_1", "content_index": 1, "tool_name": "read"}),
    (
        "tool_call",
        {"phase": "started", "call_id": "call_2", "content_index": 2, "tool_args": {"path": "b.txt"}},
    ),
    ("tool_call", {"phase": "completed", "call_id": "call_2", "content_index": 2, "tool_name": "read"}),
    ("output_delta", {"delta": "Found.", "content_index": 3, "offset": 0, "delta_kind": "output"}),
]
WAITS: list[Row] = [
    ("output_delta", {"delta": "May I?", "content_index": 0, "offset": 0, "delta_kind": "output"}),
    ("tool_call", {"phase": "started", "call_id": "call_1", "tool_name": "bash"}),
    ("tool_call", {"phase": "blocked", "call_id": "call_1", "kind": "tool_confirmation", "reason": WHY}),
    ("tool_call", {"phase": "started", "call_id": "call_2", "tool_name": "lookup"}),
    ("tool_call", {"phase": "blocked", "call_id": "call_2", "kind": "custom_tool", "tool_args": {"id": 7}}),
]
SCENES = {"talk": TALK, "tools": TOOLS, "waits": WAITS}
KEPT = PermissionRule(effect="always_allow", tool="bash", command="ls")


def replay(scene: str, protocol: WireProtocol) -> tuple[Narrator, list[RunnerEvent]]:
    """The narrator after it heard a recorded run, and what it told."""
    told: list[RunnerEvent] = []
    asked = {"call_1": Verdict("always_ask", WHY, (KEPT,))}
    narrator = Narrator(told.append, asked=asked)
    for event in STREAM.validate_json((RECORDED / f"{scene}-{protocol}.json").read_bytes()):
        if isinstance(event, PartStartEvent) and event.index == 0:
            narrator.begin_response()
        narrator.hear(event)
    narrator.close()
    return narrator, told


def merged(events: list[RunnerEvent]) -> list[Row]:
    """The pieces of one part joined: how text is cut differs, what it says does not."""
    rows: list[Row] = []
    for event in events:
        payload = dict(event.payload)
        last = rows[-1] if rows else None
        same = last is not None and last[0] == event.event_type and "delta" in payload
        if same and last is not None and last[1]["content_index"] == payload["content_index"]:
            assert payload["offset"] == len(last[1]["delta"])
            last[1]["delta"] += payload["delta"]
        else:
            rows.append((event.event_type, payload))
    # Calls of one answer run side by side: what of them is told first is not part of the table.
    return sorted(rows, key=lambda row: row[1]["content_index"])


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_dialect_comes_out_the_same(scene: str, protocol: WireProtocol) -> None:
    _, events = replay(scene, protocol)
    rows = merged(events)
    assert [kind for kind, _ in rows] == [kind for kind, _ in SCENES[scene]]
    for (_, payload), (_, expected) in zip(rows, SCENES[scene], strict=True):
        assert {key: payload.get(key) for key in expected} == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_result_is_told_with_its_error(protocol: WireProtocol) -> None:
    _, events = replay("tools", protocol)
    completed = [event.payload for event in events if event.payload.get("phase") == "completed"]
    found, missing = sorted(completed, key=lambda payload: str(payload["call_id"]))
    assert "one" in found["result"]["content"][0]["text"]
    assert "b.txt" in missing["result"]["content"][0]["text"]
    assert found["error"] is False


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_calls_that_wait_keep_why_and_what_may_be_kept(protocol: WireProtocol) -> None:
    narrator, _ = replay("waits", protocol)
    bash, lookup = narrator.pending
    assert (bash.kind, bash.tool_args, bash.reason) == (
        "tool_confirmation",
        {"command": "ls"},
        "It changes things.",
    )
    assert bash.suggestions == [KEPT]
    assert (lookup.kind, lookup.tool_args, lookup.suggestions) == ("custom_tool", {"id": 7}, [])


async def test_an_event_nobody_knows_is_left_alone() -> None:
    told: list[RunnerEvent] = []
    narrator = Narrator(told.append)
    narrator.hear(object())
    narrator.close()
    assert told == []
