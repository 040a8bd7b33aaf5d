"""Servers that other people made, over pipes, Streamable HTTP and server-sent events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holaboss_runtime.harness.host.tools.base import ToolError
from tests.runtime.mcp.conftest import Kept, installed, local, remote
from tests.support.ports import free_port
from tests.support.processes import PATIENCE_S, is_running

pytestmark = pytest.mark.anyio

GLOBAL_CRYPTO = Path(__file__).parents[2] / "support" / "mcp_servers" / "global_crypto.cjs"


@asynccontextmanager
async def everything(kind: str) -> AsyncGenerator[int]:
    """The port on which the server answers in this way."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        installed("mcp-server-everything"),
        kind,
        env=os.environ | {"PORT": str(port), "NODE_OPTIONS": f'--require "{GLOBAL_CRYPTO}"'},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            while f"port {port}".encode() not in await process.stderr.readline():
                assert process.returncode is None
        yield port
    finally:
        process.kill()
        await process.communicate()


async def test_the_time_server_over_pipes_in_the_newest_revision(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, local("time", installed("mcp-server-time"), timeout_s=30)))["time"]
    assert report["state"] == "ready"
    assert report["transport"] == "stdio"
    assert report["protocol_revision"] == "2026-07-28"
    assert report["tool_count"] == 2
    assert report["memory_bytes"] > 10_000_000
    assert 50 < report["context_tokens"] < 1000
    arguments = {"time": "12:00", "source_timezone": "UTC", "target_timezone": "Asia/Tokyo"}
    outcome = await kept.connection("time").call("convert_time", arguments)
    assert not outcome.error
    assert "21:00" in outcome.text
    wrong = await kept.connection("time").call("get_current_time", {"timezone": "Nowhere/Land"})
    assert wrong.error
    assert "Nowhere/Land" in wrong.text


async def test_the_git_server_works_in_the_workspace(kept: Kept, folder: Path) -> None:
    made = await asyncio.create_subprocess_exec("git", "init", "-q", "-b", "main", str(folder))
    assert await made.wait() == 0
    (folder / "note.txt").write_text("hello")
    server = local("git", installed("mcp-server-git"), "--repository", str(folder), timeout_s=30)
    assert (await kept.ensure(folder, server))["git"]["state"] == "ready"
    connection = kept.connection("git")
    outcome = await connection.call("git_status", {"repo_path": str(folder)})
    assert "note.txt" in outcome.text
    by_name = {offer.name: offer for offer in connection.health.offers}
    assert by_name["git_status"].read_only is True
    assert by_name["git_reset"].destructive is True


async def test_the_filesystem_server_keeps_its_own_root(kept: Kept, folder: Path) -> None:
    (folder / "inside.txt").write_text("inside")
    server = local("files", installed("mcp-server-filesystem"), str(folder), timeout_s=30)
    report = (await kept.ensure(folder, server))["files"]
    assert report["state"] == "ready"
    assert report["protocol_revision"] == "2025-11-25"
    connection = kept.connection("files")
    assert (await connection.call("read_text_file", {"path": str(folder / "inside.txt")})).text == "inside"
    outside = await connection.call("read_text_file", {"path": "/etc/passwd"})
    assert outside.error
    assert "root:" not in outside.text


async def test_all_kinds_of_content(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, local("everything", installed("mcp-server-everything"), timeout_s=30))
    connection = kept.connection("everything")
    assert (await connection.call("echo", {"message": "hi"})).text == "Echo: hi"
    assert (await connection.call("get-sum", {"a": 2, "b": 40})).text.endswith("42.")
    structured = await connection.call("get-structured-content", {"location": "Chicago"})
    assert structured.details["structured"]["conditions"]
    shown = await connection.call("get-tiny-image", {}, pictures=True)
    assert [picture.media_type for picture in shown.pictures] == ["image/png"]
    assert "[image, image/png," in shown.text
    assert (await connection.call("get-tiny-image", {})).pictures == ()
    links = await connection.call("get-resource-links", {"count": 2})
    assert {part["type"] for part in links.details["parts"]} == {"resource_link"}
    refused = await connection.call("get-sum", {"a": "two"})
    assert refused.error


async def test_the_environment_of_a_server_is_built(
    kept: Kept, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-of-the-host")
    server = local(
        "everything", installed("mcp-server-everything"), environment={"MODE": "quiet"}, timeout_s=30
    )
    await kept.ensure(folder, server)
    outcome = await kept.connection("everything").call("get-env", {})
    assert '"MODE": "quiet"' in outcome.text
    assert "sk-of-the-host" not in outcome.text


@pytest.mark.parametrize(
    ("kind", "transport", "path", "spoken"),
    [
        ("streamableHttp", "auto", "mcp", "http"),
        ("streamableHttp", "http", "mcp", "http"),
        ("sse", "auto", "sse", "sse"),
        ("sse", "sse", "sse", "sse"),
    ],
)
async def test_a_server_at_an_address(
    kept: Kept, folder: Path, kind: str, transport: str, path: str, spoken: str
) -> None:
    async with everything(kind) as port:
        server = remote("far", f"http://127.0.0.1:{port}/{path}", transport=transport, timeout_s=20)
        report = (await kept.ensure(folder, server))["far"]
        assert report["state"] == "ready", report["last_error"]
        assert report["transport"] == spoken
        assert report["pid"] is None
        connection = kept.connection("far")
        assert (await connection.call("echo", {"message": "hi"})).text == "Echo: hi"
        await connection.close()


@pytest.mark.parametrize(("kind", "path"), [("streamableHttp", "mcp"), ("sse", "sse")])
async def test_an_address_that_goes_away(kept: Kept, folder: Path, kind: str, path: str) -> None:
    async with everything(kind) as port:
        await kept.ensure(folder, remote("far", f"http://127.0.0.1:{port}/{path}", timeout_s=20))
        connection = await kept.until("far", "ready")
    with pytest.raises(ToolError, match=r"^The MCP server far (failed|is not available)\."):
        await connection.call("echo", {"message": "hi"})
    await kept.until("far", "failed")
    assert connection.health.last_error is not None


async def test_nobody_at_an_address(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, remote("far", "http://127.0.0.1:9/mcp")))["far"]
    assert report["state"] == "failed"
    assert report["last_error"] == "Nobody answers at its address."


async def test_restarting_gives_another_process(kept: Kept, folder: Path) -> None:
    first = (await kept.ensure(folder, local("time", installed("mcp-server-time"), timeout_s=30)))["time"]
    again = (await kept.ask("mcp.restart", server="time"))["server"]
    assert again["state"] == "ready"
    assert again["pid"] != first["pid"]
    assert again["restarts"] == 1
    assert not is_running(first["pid"])
