"""The sequence of the documents, typed word by word: alone in an empty folder, and beside a running server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.cli.agent_shell import Done, Shell, use_provider
from tests.support.scripted_provider import ScriptedProvider, pause_after, say
from tests.support.server import RuntimeProcess

MESSAGE = "Review the current state and respond."
UUID7 = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def sequence(shell: Shell) -> tuple[str, dict[str, Done]]:
    created = shell.agent("session", "create", "--name", "alpha")
    session = created.field("session")
    sent = shell.agent("session", "send", "--session", session, "--message", MESSAGE)
    woken = shell.agent("wake", "--session", session)
    status, events, stopped = shell.many(
        ["agent", "session", "status", "--session", session],
        ["agent", "session", "events", "--session", session, "--limit", "10"],
        ["agent", "orchestrator", "--agent", "alpha", "--stop-when-idle", "--max-cycles", "12"],
    )
    done = {
        "create": created,
        "send": sent,
        "wake": woken,
        "status": status,
        "events": events,
        "orchestrator": stopped,
    }
    assert {name: one.code for name, one in done.items()} == dict.fromkeys(done, 0)
    return session, done


def test_alone_in_an_empty_folder(shell: Shell) -> None:
    session, done = sequence(shell)

    assert re.fullmatch(UUID7, session)
    assert done["create"].out == (
        f"session created\n- session: {session}\n- agent: alpha\n- environment: local-default\n- status: idle\n"
    )
    assert done["send"].out == f"session event appended\n- session: {session}\n- event: user.message\n"
    reply, _, report = done["wake"].out.partition("\n\nwake: executed\n")
    assert "Scripted demo answer: no model was asked." in reply
    assert "demo model answered" in done["wake"].err
    assert report == (
        f"- session: {session}\n- stopReason: idle\n- processedEvents: 1\n- queuedWakes: 0\n"
        f"- activationRequeued: false\n- input[1]: user.message: {MESSAGE}\n"
    )
    assert done["status"].out.splitlines()[:13] == [
        "session status",
        f"- session: {session}",
        "- agent: alpha",
        "- environment: local-default",
        "- status: idle",
        "- stopReason: idle",
        "- turns: 1",
        "- pendingEvents: 0",
        "- runnablePendingEvent: none",
        "- nextRetryAt: none",
        "- retryStreak: 0",
        "- pendingQueuedWakes: 0",
        "- nextQueuedWakeAt: none",
    ]
    assert done["status"].field("projection") == "current"
    assert done["orchestrator"].out == (
        "orchestrator: stopped\n- agent: alpha\n- watch: false\n- stopReason: idle\n- cycles: 1\n- executed: 0\n"
    )
    assert done["orchestrator"].err == ""
    check_event_lines(session, done["events"].out)
    check_files(shell.folder / ".openboa", session)


def check_event_lines(session: str, text: str) -> None:
    head, *lines = text.splitlines()
    assert head == f"session events: {session}"
    quoted = r'"(?:[^"\\]|\\.)*"'
    expected = [
        rf'{TIME} user\.message "{re.escape(MESSAGE)}" processed={TIME}',
        rf"{TIME} session\.status_changed rescheduling->running reason=manual",
        rf"{TIME} span\.started wake/\S+ span={UUID7}",
        rf"{TIME} agent\.message {quoted} processed={TIME}",
        rf"{TIME} session\.status_idle reason=idle summary={quoted}",
        rf"{TIME} span\.completed wake/\S+ span={UUID7} result=success summary={quoted}",
    ]
    assert len(lines) == len(expected), text
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line), line


def check_files(tree: Path, session: str) -> None:
    folder = tree / "agents" / "alpha" / "sessions" / session
    document = json.loads((folder / "session.json").read_text("utf-8"))
    assert (document["id"], document["status"], document["usage"]) == (session, "idle", {"turns": 1})
    assert folded(folder / "events.jsonl") == [
        ("user.message", True),
        ("session.status_changed", True),
        ("span.started", True),
        ("agent.message", True),
        ("session.status_idle", True),
        ("span.completed", True),
    ]
    for name in ("checkpoint.json", "session-state.md", "working-buffer.md"):
        assert (folder / "runtime" / name).is_file(), name
    for name in (
        "AGENTS.md",
        "SOUL.md",
        "TOOLS.md",
        "IDENTITY.md",
        "USER.md",
        "HEARTBEAT.md",
        "BOOTSTRAP.md",
        "MEMORY.md",
    ):
        assert (tree / "agents" / "alpha" / "workspace" / name).is_file(), name
    assert (tree / "environments" / "local-default.json").is_file()
    assert (tree / "state" / "runtime.db").is_file()
    assert not (tree.parent / "state").exists()
    for private in (tree, tree / "state", tree / "agents"):
        assert private.stat().st_mode & 0o777 == 0o700, private


def folded(journal: Path) -> list[tuple[str, bool]]:
    """Type of each event in the order of the log, and whether it is dealt with."""
    events: dict[int, dict[str, Any]] = {}
    for line in journal.read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] == "session.event.appended":
            events[record["seq"]] = record["event"]
        else:
            events[record["seq"]]["processedAt"] = record["processedAt"]
    return [(event["type"], event["processedAt"] is not None) for _, event in sorted(events.items())]


@pytest.fixture
def served(tmp_path: Path, provider: ScriptedProvider) -> Iterator[RuntimeProcess]:
    root = tmp_path / "root"
    use_provider(root / "state" / "runtime-config.json", provider.url)
    with RuntimeProcess(root) as runtime:
        yield runtime


@pytest.mark.anyio
async def test_beside_a_server_exactly_one_run(
    served: RuntimeProcess, provider: ScriptedProvider, tmp_path: Path
) -> None:
    """The command waits for the run of the server and reports it; it never runs anything itself."""
    shell = Shell(tmp_path / "elsewhere", HB_SANDBOX_ROOT=str(served.root))
    held = pause_after(1, say("Reviewed by the server."))
    assert held.gate is not None
    provider.enqueue(held)

    session = shell.session("alpha", MESSAGE)
    waking = shell.start("agent", "wake", "--session", session)
    assert "waits for it" in waking.next_remark()
    await held.gate.wait_async()
    held.gate.release()
    woken = waking.wait()

    assert woken.code == 0, woken.err
    assert woken.out.startswith("Reviewed by the server.\n\nwake: executed\n"), woken.out
    status, stopped, again = shell.many(
        ["agent", "session", "status", session, "--json"],
        ["agent", "orchestrator", "--agent", "alpha", "--stop-when-idle", "--max-cycles", "12"],
        ["agent", "wake", session],
    )
    assert (status.data["status"], status.data["turns"], status.data["pending_events"]) == ("idle", 1, 0)
    assert stopped.field("executed") == "0"
    assert again.out.splitlines()[0] == "wake: no-op"
    assert again.field("skippedReason") == "idle"
    assert "shows what has run already" in again.err
    assert shell.answers(session) == ["Reviewed by the server."]
    assert len(provider.requests) == 1
    async with served.client() as client:
        history = await client.history(status.data["workspace_id"], session)
    assert [message.text for message in history.messages] == [MESSAGE, "Reviewed by the server."]
