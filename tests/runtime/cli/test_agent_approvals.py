"""Approvals from a shell: changed, remembered, and at the same moment as somebody in a window."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest

from holaboss_client.agents import AppendEvent, DecideAction
from holaboss_client.problems import ProblemError
from holaboss_client.sessions import CreateSession
from tests.runtime.cli.agent_shell import Shell, use_provider
from tests.support.scripted_provider import ScriptedProvider, call, say
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio


def place_of(root: Path, agent: str, session: str) -> Path:
    return root / ".openboa" / "agents" / agent / "sessions" / session / "workspace"


def test_a_call_is_changed_and_remembered_from_a_shell(shell: Shell) -> None:
    session = shell.session("alpha", "Run `mkdir asked`")
    asked, status = shell.many(["agent", "wake", session], ["agent", "session", "status", session])
    assert status.field("pendingConfirmationReason")
    assert status.field("pendingConfirmationExpiresAt")
    assert json.loads(status.field("confirmRemember1")) == {"tool": "bash", "command": "mkdir asked"}
    program, *allow = shlex.split(asked.field("confirmAllow"))
    assert program == "openboa"
    refused = shell.many(
        [*allow, "--input", "mkdir"],
        [*allow, "--input", "[1]"],
        [*allow, "--remember", "9"],
        [*allow, "--remember", "0"],
    )
    assert [done.code for done in refused] == [1, 1, 1, 2]
    changed = json.dumps({"command": "mkdir changed"})
    confirmed, resumed = shell.many(
        [*allow, "--input", changed, "--remember", "1"], ["agent", "wake", session]
    )
    assert (confirmed.code, resumed.code) == (0, 0), confirmed.err + resumed.err
    place = place_of(shell.folder, "alpha", session)
    assert ((place / "changed").is_dir(), (place / "asked").exists()) == (True, False)

    again, done = shell.many(
        ["agent", "session", "send", session, "--message", "Run `mkdir asked`"], ["agent", "wake", session]
    )
    assert (again.code, done.code) == (0, 0), done.err
    assert (place / "asked").is_dir(), "what was remembered is not asked again"


async def test_a_window_and_a_shell_at_once(tmp_path: Path, provider: ScriptedProvider) -> None:
    root = tmp_path / "root"
    use_provider(root / "state" / "runtime-config.json", f"{provider.url}")
    provider.enqueue(call("bash", command="echo made >> log"), say("Done."), say("And more."))
    async with RuntimeProcess(root) as runtime, runtime.client() as client:
        session = (await client.create_session(CreateSession(agent_id="alpha"))).session_id
        body = AppendEvent(type="user.message", payload={"text": "Make it"})
        await client.append_event(session, body)
        await client.wake(session, wait=True)
        (action,) = (await client.pending_actions(session, only_open=True)).items
        shell = Shell(tmp_path / "elsewhere", HB_SANDBOX_ROOT=str(root))
        words = ("session", "confirm-tool", session, "--request", action.id, "--allowed", "true")

        async def window() -> str:
            try:
                await client.decide_action(session, action.id, DecideAction(allowed=True))
            except ProblemError as refused:
                return refused.problem.code
            return "accepted"

        commands = [asyncio.to_thread(shell.agent, *words, "--json") for _ in range(2)]
        first, second, clicked = await asyncio.gather(*commands, window())
        told = [clicked] + ["accepted" if done.code == 0 else done.data["code"] for done in (first, second)]
        assert sorted(told) == ["accepted", "action_not_open", "action_not_open"]
        await client.wake(session, wait=True)
        await client.append_event(session, AppendEvent(type="user.message", payload={"text": "Go on"}))
        await client.wake(session, wait=True)
        assert (place_of(root, "alpha", session) / "log").read_text() == "made\n"
