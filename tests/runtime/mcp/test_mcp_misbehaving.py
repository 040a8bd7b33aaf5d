"""Servers that hang, flood, die, lie and change: each becomes a sentence, and never a hang or endless memory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from holaboss_runtime.harness.host.tools.base import ToolError
from holaboss_runtime.processes import become_subreaper
from tests.runtime.harness.conftest import sleepers
from tests.runtime.mcp.conftest import Kept, bad, local
from tests.support.processes import PATIENCE_S, is_running, wait_until_gone

pytestmark = pytest.mark.anyio


async def test_a_server_that_never_answers_is_given_up(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, bad("silent", timeout_s=0.5)))["bad"]
    assert report["state"] in ("starting", "failed")
    connection = await kept.until("bad", "failed")
    assert connection.health.last_error == "It did not answer within 0.5 s."


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("garbage", "It writes to its standard output what is not the protocol."),
        ("endless_line", "It wrote a line of more than 8 MB."),
        ("dies_at_start", "It ended with code 7. It wrote: no configuration found"),
    ],
)
async def test_what_a_broken_server_did_is_named(kept: Kept, folder: Path, mode: str, said: str) -> None:
    report = (await kept.ensure(folder, bad(mode, timeout_s=20)))["bad"]
    assert report["state"] == "failed"
    assert report["last_error"] == said
    assert report["pid"] is None
    assert report["tools"] == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/no/such/program"], "The program “/no/such/program” cannot be found."),
        ([], "It has no command in workspace.yaml."),
    ],
)
async def test_a_command_that_cannot_be_started(
    kept: Kept, folder: Path, command: list[str], said: str
) -> None:
    report = (await kept.ensure(folder, local("bad", *command)))["bad"]
    assert report["state"] == "failed"
    assert report["last_error"].startswith(said)


async def test_a_flood_of_messages_ends_the_connection(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("floods_notifications", timeout_s=20))
    connection = await kept.until("bad", "failed")
    assert connection.health.last_error == "It floods its standard output."


async def test_a_flood_of_errors_is_kept_small_and_the_server_still_works(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("floods_stderr", timeout_s=20))
    connection = await kept.until("bad", "ready")
    async with asyncio.timeout(PATIENCE_S):
        while len(connection.errors.tail()) < 60 * 1024:
            await connection.call("read", {})
            await asyncio.sleep(0)
    assert len(connection.errors.tail()) <= 64 * 1024
    assert (await connection.call("work", {"text": "a"})).text == 'work: {"text": "a"}'
    await connection.close()
    (log,) = (folder.parent / ".holaboss").glob("bad__*.workspace-mcp-sidecar.stderr.log")
    assert 1024 < log.stat().st_size <= 256 * 1024


async def test_a_line_that_is_no_message_is_skipped_and_kept_in_the_log(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, bad("chatty")))["bad"]
    assert report["state"] == "ready"
    await kept.connection("bad").close()
    (log,) = (folder.parent / ".holaboss").glob("bad__*.workspace-mcp-sidecar.stdout.log")
    assert log.read_text() == "Server is starting, welcome!\n"


async def test_a_server_that_dies_in_a_call_is_started_again(kept: Kept, folder: Path) -> None:
    first = (await kept.ensure(folder, bad("dies_in_call")))["bad"]
    connection = kept.connection("bad")
    with pytest.raises(ToolError, match=r"^The MCP server bad failed\."):
        await connection.call("work", {})
    await kept.until("bad", "failed")
    assert connection.health.last_error == "It ended with code 3."
    await kept.until("bad", "ready")
    again = await kept.report("bad")
    assert again["restarts"] == 1
    assert again["pid"] != first["pid"]
    assert again["last_error"] is None


async def test_a_call_that_is_never_answered_ends_and_others_go_on(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("hangs_in_call", timeout_s=20))
    connection = kept.connection("bad")
    kept.grant("bad", timeout_s=0.5)
    with pytest.raises(
        ToolError, match=r"did not answer work within 0\.5 s\. Whether it did anything is not known\."
    ):
        await connection.call("work", {})
    kept.grant("bad", timeout_s=20)
    assert (await connection.call("read", {})).text == "read: {}"
    assert connection.health.restarts == 0


async def test_cancelling_a_call_does_not_wait_for_the_server(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("hangs_in_call", timeout_s=60))
    connection = kept.connection("bad")
    call = asyncio.create_task(connection.call("work", {}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert connection._calls
    os.kill(connection.health.pid or 0, signal.SIGSTOP)  # stopped: it will not even read that nobody waits
    call.cancel()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_huge_result_is_bounded(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("huge"))
    outcome = await kept.connection("bad").call("work", {"text": "much"})
    assert len(outcome.text) == 600_000
    with pytest.raises(ToolError):
        await kept.connection("bad").call("work", {"text": "line"})
    await kept.until("bad", "failed")
    assert kept.connection("bad").health.last_error == "It wrote a line of more than 8 MB."


async def test_a_result_without_form_is_a_tool_error(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("garbage_results"))
    with pytest.raises(ToolError, match="Its answer is not valid in the protocol"):
        await kept.connection("bad").call("work", {})


async def test_nobody_is_asked_for_a_server(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("asks"))
    outcome = await kept.connection("bad").call("work", {})
    assert "Elicitation not supported" in outcome.text


async def test_secrets_a_server_repeats_are_taken_out(kept: Kept, folder: Path) -> None:
    secret = "sk-live-7f3e9a1c"
    server = bad("tells_secrets", environment={"API_KEY": secret})
    await kept.ensure(folder, server)
    connection = kept.connection("bad")
    with pytest.raises(ToolError, match=r"key \[redacted\] refused"):
        await connection.call("work", {})
    assert (await connection.call("read", {})).text == "key [redacted] refused"
    await connection.close()
    assert connection.errors.tail() == "refused key [redacted]\nrefused key [redacted]"
    await kept.servers.close()
    written = b"".join(path.read_bytes() for path in folder.parent.rglob("*") if path.is_file())
    assert b"refused key" in written
    assert secret.encode() not in written
    assert secret not in json.dumps(kept.told)


async def test_a_list_that_changes_is_current_for_the_next_run(
    kept: Kept, folder: Path, tmp_path: Path
) -> None:
    await kept.ensure(folder, bad("changes", str(tmp_path / "changed")))
    connection = kept.connection("bad")
    assert [offer.name for offer in connection.health.offers] == ["change", "first"]
    await connection.call("change", {})
    async with asyncio.timeout(PATIENCE_S):
        while [offer.name for offer in connection.health.offers] != ["change", "second"]:
            await connection._news.wait()
    with pytest.raises(ToolError, match="no longer offers first"):
        await connection.call("first", {})
    assert (await connection.call("second", {})).text == "second: {}"


@pytest.mark.parametrize("mode", ["grandchildren", "polite_grandchildren"])
async def test_what_a_server_leaves_behind_is_ended(kept: Kept, folder: Path, mode: str) -> None:
    become_subreaper()
    await kept.ensure(folder, bad(mode))
    left = await sleepers(os.getpid(), 3)
    pid = kept.connection("bad").health.pid
    await kept.connection("bad").close()
    assert wait_until_gone([pid or 0, *left]) == []
    assert kept.groups == [(pid, True), (pid, False)]


async def test_a_server_that_does_not_want_to_go_is_ended(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, bad("stubborn")))["bad"]
    await kept.connection("bad").close(grace_s=0.1)
    assert not is_running(report["pid"])
    assert kept.states("bad")[-1] == "stopped"
