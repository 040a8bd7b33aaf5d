"""One process per server and workspace: shared by runs, kept warm, replaced with its settings, and ended for good."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.runtime.mcp.conftest import Kept, bad, kept_servers, ref
from tests.runtime.mcp.rig import package_of
from tests.support.processes import PATIENCE_S, is_running

pytestmark = pytest.mark.anyio


async def test_a_server_is_started_once_for_all_runs(kept: Kept, folder: Path, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    package = package_of(folder, bad("counts_starts", str(starts)))

    async def run() -> list[str]:
        async with kept.servers.serving(package) as served:
            return [tool.name for tool in served.tools]

    found = await asyncio.gather(*(run() for _ in range(5)))
    assert found == [["mcp__bad__read", "mcp__bad__work"]] * 5
    assert len(starts.read_text().split()) == 1
    async with kept.servers.serving(package):
        assert kept.connection("bad").users == 1
    assert kept.connection("bad").users == 0
    assert kept.connection("bad").health.state == "ready"  # still warm


async def test_a_server_nobody_uses_ends_after_a_while(folder: Path) -> None:
    async with kept_servers(idle_s=0.05) as kept:
        async with kept.servers.serving(package_of(folder, bad("normal"))):
            connection = kept.connection("bad")
            pid = connection.health.pid
            await asyncio.sleep(0.1)
            assert connection.health.state == "ready"
        async with asyncio.timeout(PATIENCE_S):
            while connection.health.state != "stopped":
                await connection._news.wait()
        assert kept.servers.connection("workspace", "bad") is None
        assert not is_running(pid or 0)


async def test_new_settings_get_a_new_process_and_running_runs_keep_theirs(kept: Kept, folder: Path) -> None:
    async with kept.servers.serving(package_of(folder, bad("normal"))) as before:
        old = kept.connection("bad")
        changed = bad("normal", environment={"MODE": "other"})
        async with kept.servers.serving(package_of(folder, changed)):
            new = kept.connection("bad")
            assert new is not old
            assert new.health.pid != old.health.pid
            assert (await old.call("work", {})).text == "work: {}"
        assert len(before.tools) == 2
    async with asyncio.timeout(PATIENCE_S):
        while old.health.state != "stopped":
            await old._news.wait()
    assert new.health.state == "ready"


async def test_closing_a_workspace_ends_its_servers(kept: Kept, folder: Path) -> None:
    report = (await kept.ensure(folder, bad("normal")))["bad"]
    state = folder.parent / ".holaboss" / "workspace-mcp-sidecar-state.json"
    await kept.servers._notes.join()
    found = json.loads(state.read_text())
    assert found["version"] == 1
    ((key, sidecar),) = found["sidecars"].items()
    assert set(sidecar) == {"physical_server_id", "url", "pid", "config_fingerprint", "updated_at"}
    assert (sidecar["pid"], sidecar["physical_server_id"]) == (report["pid"], key)
    assert key.startswith("bad__")
    await kept.ask("mcp.close")
    assert not is_running(report["pid"])
    assert (await kept.ask("mcp.status")) == {"servers": []}
    await kept.servers._notes.join()
    assert json.loads(state.read_text()) == {"version": 1, "sidecars": {}}
    assert state.stat().st_mode & 0o777 == 0o600


async def test_a_folder_of_the_persons_own_keeps_the_files_to_itself(kept: Kept, tmp_path: Path) -> None:
    project = tmp_path / "workspace" / "project"  # only looks like a workspace of a root
    project.mkdir(parents=True)
    await kept.ensure(project, bad("normal"))
    await kept.servers._notes.join()
    assert (project / ".holaboss" / "workspace-mcp-sidecar-state.json").is_file()
    assert not (project.parent / ".holaboss").exists()


async def test_a_link_in_place_of_the_folder_is_not_followed(kept: Kept, tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".holaboss").symlink_to(elsewhere)
    await kept.ensure(project, bad("chatty"))
    await kept.servers.close()
    assert list(elsewhere.iterdir()) == []


async def test_news_of_each_change(kept: Kept, folder: Path) -> None:
    await kept.ensure(folder, bad("normal"))
    await kept.servers.close()
    assert kept.states("bad") == ["starting", "ready", "stopped"]
    assert {news["news"] for news in kept.told} == {"mcp.changed"}
    assert kept.told[1]["tool_count"] == 2


async def test_settings_without_sense_are_refused(kept: Kept, folder: Path) -> None:
    from holaboss_runtime.harness.host.asks import AskError

    with pytest.raises(AskError):
        await kept.ask("mcp.ensure", workspace_dir=str(folder), servers=[{"name": "x"}])
    with pytest.raises(AskError):
        await kept.ask("mcp.restart", server="nobody")


async def test_a_server_that_was_switched_off_is_not_started(kept: Kept, folder: Path) -> None:
    async with kept.servers.serving(package_of(folder, bad("normal", enabled=False))) as served:
        assert served.tools == []
        assert served.notices == []
    assert kept.told == []


async def test_only_the_tools_that_are_named(kept: Kept, folder: Path) -> None:
    other = bad("many", name="other")
    package = package_of(folder, bad("normal"), other, mcp_tool_refs=[ref("bad", "read")])
    async with kept.servers.serving(package) as served:
        names = [tool.name for tool in served.tools]
    assert names[:2] == ["mcp__bad__read", "mcp__other__tool000"]
    assert len(names) == 41
    assert [tool.hidden for tool in served.tools] == [False] * 25 + [True] * 16
