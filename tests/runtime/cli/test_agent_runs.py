"""Runs of commands: side by side, cut off, stopped, refused, and later than they were asked for."""

from __future__ import annotations

import json
import os
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest

from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.cli.agent.looping import SERVER_RUNS
from holaboss_runtime.cli.agent.runs import GOES_ON, SERVER_GONE
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.database import Database
from tests.runtime.cli.agent_shell import Shell, use_provider
from tests.support.scripted_provider import Answer, Gate, ScriptedProvider, say
from tests.support.server import RuntimeProcess


def config_of(shell: Shell) -> Path:
    return shell.folder / ".openboa" / "state" / "runtime-config.json"


@pytest.fixture
def asking(shell: Shell, provider: ScriptedProvider) -> Shell:
    """A shell whose runs ask the scripted provider."""
    use_provider(config_of(shell), provider.url)
    return shell


def hold(provider: ScriptedProvider, text: str) -> Gate:
    """The next answer, held before its first word until the gate is released."""
    gate = Gate()
    provider.enqueue(Answer(say(text), gate=gate, after=0))
    return gate


def test_five_wakes_at_once_run_it_once(asking: Shell, provider: ScriptedProvider) -> None:
    session = asking.session("alpha", "hello")
    gate = hold(provider, "once")

    waking = [asking.start("agent", "wake", session, "--json") for _ in range(5)]
    with ThreadPoolExecutor(5) as waiting:
        ends = as_completed([waiting.submit(one.wait) for one in waking])
        refused = [next(ends).result() for _ in range(4)]
        gate.wait()
        refused += asking.many(["agent", "wake", session, "--json"])
        gate.release()
        winner = next(ends).result()

    assert (winner.code, winner.data["response"]) == (0, "once")
    assert [done.code for done in refused] == [0] * 5, [done.err for done in refused]
    assert [done.data["skipped"] for done in refused] == ["lease_contended"] * 5
    assert len(provider.requests) == 1
    assert asking.answers(session) == ["once"]


def test_a_killed_wake_is_taken_over_at_once(asking: Shell, provider: ScriptedProvider) -> None:
    session = asking.session("alpha", "hello")
    gate = hold(provider, "never heard")
    waking = asking.start("agent", "wake", session)
    gate.wait()
    waking.kill()
    gate.release()
    provider.enqueue(say("second try"))

    again = asking.agent("wake", session, "--json")

    assert (again.code, again.data["response"]) == (0, "second try"), again.err
    assert asking.answers(session) == ["second try"]
    (status,) = asking.many(["agent", "session", "status", session, "--json"])
    assert (status.data["status"], status.data["turns"], status.data["lease_owner"]) == ("idle", 1, None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run(asking: Shell, provider: ScriptedProvider, number: signal.Signals) -> None:
    session = asking.session("alpha", "hello")
    gate = hold(provider, "never heard")
    waking = asking.start("agent", "wake", session, "--json")
    gate.wait()
    waking.send_signal(number)
    done = waking.wait()
    gate.release()

    assert done.code == 130
    assert done.data["result"] == "aborted"
    (status, after) = asking.many(
        ["agent", "session", "status", session, "--json"], ["agent", "wake", session, "--json"]
    )
    assert (status.data["status"], status.data["lease_owner"]) == ("idle", None)
    assert after.data["skipped"] == "idle"


def test_an_interrupt_from_another_process_ends_a_long_tool(shell: Shell) -> None:
    """The whole way of an approval from a shell: pause, paste the command it offers, run, interrupt."""
    session = shell.session("alpha", "Run `echo > started; sleep 1000`")
    started = shell.folder / ".openboa" / "agents" / "alpha" / "sessions" / session / "workspace" / "started"
    os.mkfifo(started)
    asked, blocked = shell.many(["agent", "wake", session], ["agent", "wake", session])
    assert asked.field("stopReason") == "requires_action"
    assert blocked.field("skippedReason") == "requires_action"
    program, *allow = shlex.split(asked.field("confirmAllow"))
    assert program == "openboa"
    confirmed, twice = shell.many(allow, allow)
    assert confirmed.code == 0, confirmed.err
    assert (confirmed.field("tool"), confirmed.field("allowed")) == ("bash", "true")
    assert twice.code == 1
    assert "decided already" in twice.err

    waking = shell.start("agent", "wake", session, "--json")
    assert started.read_text() == "\n"  # the command runs
    (interrupted,) = shell.many(["agent", "session", "interrupt", session, "--json"])
    done = waking.wait()

    assert interrupted.data["event"]["type"] == "user.interrupt"
    assert (done.code, done.data["result"]) == (0, "aborted"), done.err
    (after, status) = shell.many(
        ["agent", "wake", session], ["agent", "session", "status", session, "--json"]
    )
    assert after.code == 0
    assert (status.data["status"], status.data["pending_events"]) == ("idle", 0)


def test_a_custom_tool_is_answered_from_a_shell(shell: Shell) -> None:
    session = shell.session("alpha", "Ask the operator for the code word")
    asked, status, lines = shell.many(
        ["agent", "wake", session],
        ["agent", "session", "status", session],
        ["agent", "session", "events", session],
    )
    assert asked.field("stopReason") == status.field("status") == "requires_action"
    request, tool = status.field("pendingCustomToolRequest"), status.field("pendingCustomTool")
    assert f" agent.custom_tool_use {tool} request={request} input={{" in lines.out
    program, *submit = shlex.split(status.field("submit").replace("<result>", "open sesame"))
    assert program == "openboa"

    submitted, resumed, after = shell.many(
        submit, ["agent", "wake", session], ["agent", "session", "status", session]
    )
    assert submitted.out == (
        f"session event appended\n- session: {session}\n- event: user.custom_tool_result\n"
        f"- request: {request}\n- tool: {tool}\n"
    )
    assert (resumed.code, resumed.field("processedEvents")) == (0, "1"), resumed.err
    assert after.field("status") == "idle"
    assert "pendingCustomTool" not in after.out


def fall_due_soon(shell: Shell) -> None:
    """Let most of the time pass that a wake waits for: in a second, so that whoever watches for it has to wait."""
    database = Database.open(shell.folder / ".openboa" / "state" / "runtime.db")
    database.execute("UPDATE session_wakes SET due_at = ?", (from_now(1),))
    database.close()


def test_a_delayed_wake_fires_under_the_orchestrator(shell: Shell) -> None:
    session = shell.session("alpha", "Please check again in 3600 seconds.")

    (now,) = shell.many(["agent", "orchestrator", "--agent", "alpha", "--stop-when-idle"])
    fall_due_soon(shell)
    (watched,) = shell.many(
        ["agent", "orchestrator", "--name=alpha", "--watch", "--log", "--max-cycles", "1"]
    )
    assert (now.code, now.field("executed"), now.field("stopReason")) == (0, "1", "idle"), now.err
    assert (watched.code, watched.field("executed")) == (0, "1"), watched.err
    assert watched.out.startswith("orchestrator: watching\n- agent: alpha\n")
    block = watched.out.partition("orchestrator: activity\n")[2].splitlines()
    assert block[:2] == ["- cycle: 1", f"- session: {session}"]
    assert any("session.wake_due" in line and "processed=2" in line for line in block)
    assert "- input[1]: runtime.wake: demo.revisit: The demo model was asked to look once more." in block
    assert watched.field("stopReason") is not None
    assert watched.out.splitlines()[-3:] == ["- stopReason: max_cycles", "- cycles: 1", "- executed: 1"]

    (idle,) = shell.many(["agent", "orchestrator", "alpha", "--watch", "--idle-timeout-ms", "1", "--json"])
    assert idle.out.splitlines()[0] == "{"
    assert (idle.code, idle.data["stop_reason"], idle.data["executed"]) == (0, "idle_timeout", 0)


def test_an_interrupt_stops_one_run_and_not_the_loop(asking: Shell, provider: ScriptedProvider) -> None:
    first, second = asking.session("alpha", "hello"), asking.session("alpha", "hello")
    gate = hold(provider, "never heard")
    provider.enqueue(say("the other one"))
    looping = asking.start("agent", "orchestrator", "alpha", "--json")
    gate.wait()
    (interrupted,) = asking.many(["agent", "session", "interrupt", first])
    done = looping.wait()
    gate.release()

    assert interrupted.code == 0
    assert (done.code, done.data["stop_reason"], done.data["failed"]) == (0, "idle", 0), done.err
    assert (asking.answers(first), asking.answers(second)) == ([], ["the other one"])


def test_the_orchestrator_drains_an_agent_and_leaves_the_others_alone(asking: Shell) -> None:
    mine = [asking.session("alpha", "hello", "and again"), asking.session("alpha", "hello")]
    other = asking.session("beta", "hello")

    (done,) = asking.many(["agent", "orchestrator", "--agent", "alpha", "--json"])

    assert (done.code, done.data["executed"], done.data["stop_reason"]) == (0, 2, "idle")
    assert [len(asking.answers(session)) for session in mine] == [1, 1]
    assert asking.answers(other) == []


def test_a_failed_run_exits_2(asking: Shell, provider: ScriptedProvider) -> None:
    session = asking.session("alpha", "hello")
    refusal = Answer(status=401, message="Incorrect API key provided.")
    provider.enqueue(refusal, refusal)

    once, again, sent, looped = asking.many(
        ["agent", "wake", session],
        ["agent", "wake", session],
        ["agent", "session", "send", session, "hello"],
        ["agent", "orchestrator", "alpha", "--max-cycles", "12", "--json"],
    )

    assert once.code == 2
    assert once.err.startswith("Wake failed: ")
    assert once.out.startswith("wake: executed\n")
    assert (again.code, again.field("skippedReason")) == (0, "idle")
    assert sent.code == 0
    assert (looped.code, looped.data["executed"], looped.data["failed"]) == (2, 1, 1)


def test_a_retry_is_said_and_waits(asking: Shell, provider: ScriptedProvider) -> None:
    session = asking.session("alpha", "hello")
    provider.enqueue(Answer(status=503, message="Too busy.", retry_after="250"))

    once, again, loop = asking.many(
        ["agent", "wake", session],
        ["agent", "wake", session],
        ["agent", "orchestrator", "alpha", "--json"],
    )

    assert once.code == 2
    assert once.field("activationRequeued") == "true"
    assert once.field("immediateRetryAt") > "20"
    assert (again.code, again.field("skippedReason")) == (0, "deferred")
    assert (loop.code, loop.data["executed"], loop.data["stop_reason"]) == (0, 0, "idle")
    assert len(provider.requests) == 1


def test_a_key_in_a_keychain_is_waited_for(shell: Shell) -> None:
    """Whatever needs a key of the desktop says so and stays where it is."""
    config = config_of(shell)
    config.parent.mkdir(parents=True)
    document = {
        "providers": {"openai_direct": {"kind": "openai_compatible", "api_key": "keychain:openai_direct"}},
        "runtime": {"default_provider": "openai_direct", "default_model": "openai_direct/gpt-5.4"},
    }
    config.write_text(json.dumps(document))
    session = shell.session("alpha", "hello")

    woken, looped = shell.many(
        ["agent", "wake", session], ["agent", "orchestrator", "alpha", "--stop-when-idle", "--json"]
    )

    assert woken.code == 2
    assert woken.field("skippedReason") == "waits_for_key"
    assert "start Holaboss, or put the key into OPENAI_API_KEY." in woken.err
    assert looped.code == 2
    assert looped.data["waiting_for_key"] == [session]
    assert "OPENAI_API_KEY" in looped.err
    assert shell.types(session) == ["user.message"]


@pytest.mark.anyio
async def test_a_desktop_session_and_an_agent_session_take_both(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    root = tmp_path / "root"
    use_provider(root / "state" / "runtime-config.json", provider.url)
    shell = Shell(tmp_path / "elsewhere")
    with RuntimeProcess(root) as runtime:
        async with runtime.client() as client:
            workspace = await client.create_workspace(CreateWorkspace(name="bench"))
            first = await client.queue(QueueRequest(workspace_id=workspace.id, text="hello"))
            # A run that is under way is the one that a wake is answered with.
            stream = client.output_stream(workspace.id, first.session_id, stop_on_terminal=True)
            assert [event async for event in stream if event is not None][-1].event_type == "run_completed"
            sent, woken = shell.many(
                [
                    "agent",
                    "--root",
                    str(root),
                    "session",
                    "send",
                    first.session_id,
                    "Reply with exactly: two",
                ],
                ["--root", str(root), "agent", "wake", first.session_id],
            )
            assert (sent.code, woken.code) == (0, 0), sent.err + woken.err
            history = await client.history(workspace.id, first.session_id)
            assert [message.role for message in history.messages] == ["user", "assistant"] * 2
            assert history.messages[-1].text == "two"

            (created,) = shell.many(["agent", "session", "create", "alpha", "--root", str(root), "--json"])
            agent = created.data
            asked = QueueRequest(
                workspace_id=agent["workspace_id"],
                session_id=agent["session_id"],
                text="Reply with exactly: yes",
            )
            await client.queue(asked)
            (looped, events) = shell.many(
                ["agent", f"--root={root}", "orchestrator", "alpha", "--json"],
                ["agent", f"--root={root}", "session", "events", agent["session_id"], "--json"],
            )
            assert looped.code == 0
            assert SERVER_RUNS in looped.err
            said = [
                item["payload"]["message"] for item in events.data["items"] if item["type"] == "agent.message"
            ]
            assert said == ["yes"]


def test_when_the_server_dies_the_command_goes_on(tmp_path: Path, provider: ScriptedProvider) -> None:
    root = tmp_path / "root"
    use_provider(root / "state" / "runtime-config.json", provider.url)
    shell = Shell(tmp_path / "elsewhere", HB_SANDBOX_ROOT=str(root))
    gate = hold(provider, "never heard")
    runtime = RuntimeProcess(root)
    runtime.start()
    session = shell.session("alpha", "hello")
    stopped = shell.start("agent", "wake", session)
    waking = shell.start("agent", "wake", session)
    assert "waits for it" in stopped.next_remark()
    assert "waits for it" in waking.next_remark()
    gate.wait()
    stopped.send_signal(signal.SIGINT)
    ended = stopped.wait()
    provider.enqueue(say("alone"))
    runtime.kill()
    done = waking.wait()
    gate.release()

    assert ended.code == 130
    assert GOES_ON in ended.err
    assert done.code == 0, done.err
    assert SERVER_GONE in done.err
    assert done.out.startswith("alone\n\nwake: executed\n")
    assert shell.answers(session) == ["alone"]
