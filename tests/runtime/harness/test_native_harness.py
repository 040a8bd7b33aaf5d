"""Runs on real host processes against a real HTTP server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from zlib import crc32

import pytest

from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from holaboss_runtime.harness import native
from holaboss_runtime.harness.contract import HistoryEntry, RunnerEvent, WireProtocol
from holaboss_runtime.harness.frames import MAX_FRAME_BYTES
from holaboss_runtime.harness.native import NativeHarness
from tests.runtime.harness.conftest import (
    KEY,
    BuildPackage,
    Cancel,
    Listener,
    host_pid,
    open_harness,
    sleepers,
)
from tests.support.processes import PATIENCE_S, wait_until_gone
from tests.support.scripted_provider import Answer, Reply, ScriptedProvider, call, pause_after, say

pytestmark = pytest.mark.anyio
PROTOCOLS: list[WireProtocol] = ["openai_chat", "openai_responses", "anthropic_messages"]


def text_of(events: list[RunnerEvent], kind: str = RunEvent.OUTPUT_DELTA) -> str:
    return "".join(event.payload["delta"] for event in events if event.event_type == kind)


def tool_calls(events: list[RunnerEvent], phase: str) -> list[dict[str, object]]:
    calls = [event.payload for event in events if event.event_type == RunEvent.TOOL_CALL]
    return [payload for payload in calls if payload["phase"] == phase]


async def until(events: AsyncIterator[RunnerEvent], kind: str) -> RunnerEvent:
    async for event in events:
        if event.event_type == kind:
            return event
    raise AssertionError(f"the run ended without {kind}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_thinking_and_text_are_streamed(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(Answer(say("Grüße 😀 **an** alle", thinking="erst denken"), split_utf8=True))
    events = await listener.run(package("Hallo", protocol=protocol))
    assert text_of(events, RunEvent.THINKING_DELTA) == "erst denken"
    assert text_of(events) == "Grüße 😀 **an** alle"
    assert {event.payload["content_index"] for event in events[:-1]} == {0, 1}
    *_, terminal = events
    assert terminal.event_type == RunEvent.RUN_COMPLETED
    assert terminal.payload["status"] == "success"
    assert terminal.result is not None
    assert terminal.result.assistant_text == "Grüße 😀 **an** alle"
    usage = terminal.result.usage
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert usage["requests"] == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_tools_work_in_the_workspace(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    provider.enqueue(
        Answer(
            call("write", text="First I write.", path="notes/a.md", content="one\ntwo\n"), argument_size=1
        ),
        call("edit", path="notes/a.md", old_text="two", new_text="zwei"),
        call("bash", command="cat notes/a.md; echo in $PWD"),
        call("read", path="notes/a.md"),
        say("All done."),
    )
    events = await listener.run(package(protocol=protocol))
    assert (workspace / "notes/a.md").read_text() == "one\nzwei\n"
    completed = tool_calls(events, "completed")
    assert [payload["tool_name"] for payload in completed] == ["write", "edit", "bash", "read"]
    assert not any(payload["error"] for payload in completed)
    assert completed[0]["changed_paths"] == ["notes/a.md"]
    assert completed[0]["content_index"] == tool_calls(events, "started")[0]["content_index"] == 1
    bash = completed[2]["result"]
    assert bash["content"][0]["text"] == f"one\nzwei\nin {workspace}"  # type: ignore[index]
    assert bash["containment"] in ("bubblewrap", "none")  # type: ignore[index]
    assert provider.requests[-1].prompt.results[-1] == "     1\tone\n     2\tzwei"
    result = events[-1].result
    assert result is not None
    assert result.assistant_text == "First I write.\n\nAll done."
    assert result.changed_paths == ["notes/a.md"]
    assert [call["tool_name"] for call in result.tool_calls] == ["write", "edit", "bash", "read"]


async def test_wrong_calls_go_back_to_the_model(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(
        call("read", path="../outside"),
        call("read", nonsense=1),
        call("no_such_tool"),
        call("bash", command="exit 3"),
        say("I see."),
    )
    events = await listener.run(package())
    completed = tool_calls(events, "completed")
    assert [payload["error"] for payload in completed] == [True, True, True, True]
    assert events[-1].payload["status"] == "success"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_second_run_knows_the_first(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, protocol: WireProtocol
) -> None:
    provider.enqueue(call("bash", command="echo 42"), say("It is 42."), say("As I said."))
    first = await listener.run(package("What is it?", protocol=protocol))
    assert first[-1].result is not None
    entry = first[-1].result.history
    assert entry is not None
    assert "You hold a role" not in entry.model_dump_json()
    foreign = HistoryEntry(adapter="another", version=9, payload={"strange": True})
    broken = HistoryEntry(adapter="native", version=1, payload=[{"kind": "nonsense"}])
    second = await listener.run(package("Again?", protocol=protocol, history=[foreign, entry, broken]))
    assert second[-1].payload["status"] == "success"
    sent = str(provider.requests[-1].body)
    assert sent.index("What is it?") < sent.index("echo 42") < sent.index("It is 42.") < sent.index("Again?")
    assert "You hold a role." in sent
    assert second[-1].result is not None
    assert second[-1].result.history is not None
    assert "What is it?" not in second[-1].result.history.model_dump_json()


async def test_context_comes_before_the_instruction(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(say("ok"))
    await listener.run(package("Do it", context_messages=["It is Monday.", "The user is Ada."]))
    sent = str(provider.requests[-1].body["messages"])
    assert sent.index("It is Monday.") < sent.index("The user is Ada.") < sent.index("Do it")


async def test_headers_key_and_thinking_reach_the_provider(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(say("ok"), say("ok"))
    base = package()
    client = base.model_client.model_copy(update={"default_headers": {"X-API-Key": "proxy-key"}})
    await listener.run(base.model_copy(update={"model_client": client, "thinking_value": "high"}))
    await listener.run(package(protocol="anthropic_messages", thinking_value="2000"))
    openai, anthropic = provider.requests
    assert openai.headers["x-api-key"] == "proxy-key"
    assert openai.headers["authorization"] == f"Bearer {KEY}"
    assert openai.body["reasoning_effort"] == "high"
    assert anthropic.headers["authorization"] == f"Bearer {KEY}"
    assert anthropic.body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert anthropic.body["max_tokens"] > 2000


async def test_many_runs_share_a_host(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.respond_with(lambda request: say(f"answer to {request.prompt.text} " * 50))
    numbers = range(12)
    runs = await asyncio.gather(*(listener.run(package(f"question {n}")) for n in numbers))
    for n, events in zip(numbers, runs, strict=True):
        assert text_of(events).strip() == (f"answer to question {n} " * 50).strip()
        assert [event.event_type for event in events].count(RunEvent.RUN_COMPLETED) == 1


async def test_a_slow_reader_holds_up_but_loses_nothing(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    answer = "x" * 1023 + " "
    provider.enqueue(Reply((answer,) * 2000))
    text: list[str] = []
    async with aclosing(listener.harness.run(package(), Cancel())) as events:
        async for event in events:
            if not text:
                await asyncio.sleep(0.2)  # long enough for every queue and pipe on the way to fill up
            text.append(event.payload.get("delta", ""))
    assert "".join(text) == answer * 2000


async def test_cancelling_stops_the_model_call_and_keeps_the_text(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    held = pause_after(4, say("one two three four five six"))
    provider.enqueue(held, say("onwards"))
    cancel = Cancel()
    running = listener.harness.run(package("Count"), cancel)
    begun = await until(running, RunEvent.OUTPUT_DELTA)
    cancel.pull()
    events = [begun, *[event async for event in running]]
    terminal = events[-1]
    assert terminal.event_type == RunEvent.RUN_COMPLETED
    assert terminal.payload["status"] == "paused"
    assert terminal.result is not None
    assert "one two three four five six".startswith(text_of(events))
    assert terminal.result.assistant_text == text_of(events).strip()
    assert await asyncio.to_thread(provider.requests[0].gone.wait, PATIENCE_S)
    entry = terminal.result.history
    assert entry is not None
    again = await listener.run(package("Go on", history=[entry]))
    assert again[-1].payload["status"] == "success"
    assert "Count" in str(provider.requests[-1].body)


async def test_cancelling_ends_a_process_tree_and_the_host_goes_on(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    provider.enqueue(call("bash", command="sleep 1000 & (setsid sleep 1000 &) ; sleep 1000"), say("onwards"))
    cancel = Cancel()
    events = listener.harness.run(package(), cancel)
    await until(events, RunEvent.TOOL_CALL)
    host = host_pid(listener.harness)
    started = await sleepers(host, 3)
    cancel.pull()
    async with asyncio.timeout(PATIENCE_S):
        terminal = await until(events, RunEvent.RUN_COMPLETED)
    assert terminal.payload["status"] == "paused"
    assert not wait_until_gone(started)
    assert host_pid(listener.harness) == host, "a host that is not done in time is replaced"
    assert terminal.result is not None
    assert terminal.result.history is not None
    again = await listener.run(package(history=[terminal.result.history]))
    assert again[-1].payload["status"] == "success"
    assert "interrupted" in str(provider.requests[-1].body)


async def test_a_run_cancelled_before_it_starts_asks_nobody(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    cancel = Cancel()
    cancel.pull()
    events = await listener.run(package(), cancel)
    assert [event.payload["status"] for event in events] == ["paused"]
    assert not provider.requests


async def test_an_abandoned_run_is_stopped(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    held = pause_after(3, say("one two three four"))
    provider.enqueue(held)
    async with aclosing(listener.harness.run(package(), Cancel())) as events:
        await until(events, RunEvent.OUTPUT_DELTA)
    assert await asyncio.to_thread(provider.requests[0].gone.wait, PATIENCE_S)


async def test_a_package_over_the_frame_limit_fails_by_itself(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    events = await listener.run(package("x" * MAX_FRAME_BYTES))
    assert [event.payload["type"] for event in events] == ["request_too_large"]
    assert not events[0].payload["retryable"]
    assert (await listener.run(package()))[-1].payload["status"] == "success"


async def test_a_killed_host_fails_only_its_runs_and_is_replaced(
    provider: ScriptedProvider, package: BuildPackage
) -> None:
    async with open_harness() as harness:
        listener = Listener(harness)
        quiet, talking = pause_after(0, say("never")), pause_after(4, say("some words and more"))
        provider.enqueue(quiet)
        first = asyncio.create_task(listener.run(package()))
        await quiet.gate.wait_async()  # type: ignore[union-attr]
        provider.enqueue(talking)
        second = harness.run(package(), Cancel())
        begun = await until(second, RunEvent.OUTPUT_DELTA)
        lost = host_pid(harness)
        os.kill(lost, signal.SIGKILL)
        told = [begun, *[event async for event in second]]
        for events, retryable in ((await first, True), (told, False)):
            assert events[-1].event_type == RunEvent.RUN_FAILED
            assert events[-1].payload["type"] == "host_lost"
            assert events[-1].payload["retryable"] is retryable
        assert told[-1].result is not None
        assert told[-1].result.assistant_text == text_of(told)
        provider.enqueue(say("back again"))
        assert text_of(await listener.run(package())) == "back again"
        assert host_pid(harness) != lost


@pytest.mark.parametrize("contained", [True, False])
async def test_a_killed_host_leaves_no_orphan(
    contained: bool, request: pytest.FixtureRequest, provider: ScriptedProvider, package: BuildPackage
) -> None:
    if not contained:
        request.getfixturevalue("no_bubblewrap")
    async with open_harness() as harness:
        provider.enqueue(call("bash", command="(setsid sleep 1000 &) ; sleep 1000 & sleep 1000"))
        running = asyncio.create_task(Listener(harness).run(package()))
        host = host_pid(harness)
        started = await sleepers(host, 3)
        os.kill(host, signal.SIGKILL)
        assert (await running)[-1].payload["type"] == "host_lost"
        assert not wait_until_gone(started)


@pytest.mark.allow_log("holaboss_runtime.harness", "no sign of life")
async def test_a_host_that_hangs_is_given_up(package: BuildPackage) -> None:
    async with open_harness(stall_s=0.3) as harness:
        lost = host_pid(harness)
        os.kill(lost, signal.SIGSTOP)  # before the run: a busy one may be silent for as long
        assert (await Listener(harness).run(package()))[-1].payload["type"] == "host_lost"
        async with asyncio.timeout(PATIENCE_S):
            while (host := harness._slots[0].host) is None or host.pid == lost:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)


@pytest.mark.allow_log("holaboss_runtime.harness", "did not stop within")
async def test_a_run_that_ignores_cancelling_loses_its_host(
    provider: ScriptedProvider, package: BuildPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "CANCEL_S", 0.5)
    async with open_harness() as harness:
        held = pause_after(4, say("one two three four five"))
        provider.enqueue(held)
        cancel = Cancel()
        running = harness.run(package(), cancel)
        begun = await until(running, RunEvent.OUTPUT_DELTA)
        os.kill(host_pid(harness), signal.SIGSTOP)
        cancel.pull()
        events = [begun, *[event async for event in running]]
        assert events[-1].payload["status"] == "paused"
        assert events[-1].result is not None
        assert events[-1].result.assistant_text == text_of(events) != ""


async def test_closing_ends_runs_and_processes(provider: ScriptedProvider, package: BuildPackage) -> None:
    async with open_harness(hosts=2) as harness:
        provider.enqueue(call("bash", command="(setsid sleep 1000 &) ; sleep 1000"))
        running = asyncio.create_task(Listener(harness).run(package()))
        hosts = [slot.host.pid for slot in harness._slots if slot.host]
        started = [*hosts, *await sleepers(hosts[crc32(b"workspace") % 2], 2)]
    assert (await running)[-1].event_type in TERMINAL_EVENTS
    assert not wait_until_gone(started)


async def test_a_harness_can_be_closed_at_any_time(package: BuildPackage) -> None:
    harness = NativeHarness()
    await harness.start()
    await asyncio.sleep(0)  # the host is being started; leaving one behind fails the test
    await harness.close()
    assert not harness.ready


def test_the_runtime_side_loads_no_model_sdk() -> None:
    check = (
        "import sys, holaboss_runtime.harness.native as _;"
        "print({'pydantic_ai', 'openai', 'anthropic', 'httpx2'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
