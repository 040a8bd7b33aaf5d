"""Results too long for a model: what it gets, where the rest is, and that nobody fills the disk with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import WireProtocol
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.spill import (
    FOLDER,
    MAX_KEPT_CHARS,
    PLACE,
    QUOTA_BYTES,
    SHOWN_CHARS,
    Spill,
    make_room,
    readable,
)
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from tests.runtime.harness.asking import PROTOCOLS, ending, told
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import Answer, ScriptedProvider, call, say

pytestmark = pytest.mark.anyio

LINES = "".join(f"line {number}\n" for number in range(100_000))


def saying(text: str, **fields: Any) -> HostTool:
    async def say_it(workspace: Workspace, arguments: dict[str, Any]) -> ToolOutcome:
        return ToolOutcome(text, **fields)

    return HostTool("mcp__server__say", "", None, say_it)


def hand(workspace: Path, *tools: HostTool, **fields: Any) -> LocalSandbox:
    return local_sandbox(workspace, tools=TOOLS | {tool.name: tool for tool in tools}, **fields)


def kept(workspace: Path) -> list[Path]:
    return sorted(path for path in (workspace / FOLDER).rglob("*") if path.is_file())


async def test_a_long_result_is_cut_in_the_middle_and_kept_whole(workspace: Path) -> None:
    sandbox = hand(workspace, saying(LINES))
    outcome = await sandbox.execute("mcp__server__say", {})
    assert len(outcome.text) < SHOWN_CHARS + 300
    head, _, rest = outcome.text.partition("[…")
    assert LINES.startswith(head.rstrip("\n"))
    assert LINES.endswith(rest.rpartition("it.]\n")[2])
    assert 0.6 < len(head) / SHOWN_CHARS < 0.7
    handle = outcome.details["whole_result"]
    assert handle in outcome.text
    assert handle.startswith(f"{PLACE}/mcp__server__say/session/")
    (file,) = kept(workspace)
    assert file.read_text() == LINES
    assert file.stat().st_mode & 0o777 == 0o600
    assert (workspace / FOLDER).stat().st_mode & 0o077 == 0
    window = await sandbox.execute("read", {"path": handle, "offset": 50_000, "limit": 2})
    assert window.text.startswith(" 50000\tline 49999\n 50001\tline 50000\n")
    assert (await sandbox.execute("grep", {"path": handle, "pattern": "line 77777$"})).text.endswith(
        "line 77777"
    )
    found = await sandbox.execute("grep", {"path": PLACE, "pattern": "line 77777$"})
    assert found.text == f"{handle}:77778:line 77777"


async def test_what_fits_is_left_alone(workspace: Path) -> None:
    for text in ("", "short", "x" * SHOWN_CHARS):
        outcome = await hand(workspace, saying(text)).execute("mcp__server__say", {})
        assert (outcome.text, outcome.details) == (text, {})
    assert kept(workspace) == []


async def test_read_is_not_kept_a_second_time(workspace: Path) -> None:
    (workspace / "a.txt").write_text(LINES)
    outcome = await hand(workspace).execute("read", {"path": "a.txt"})
    assert "continue with offset" in outcome.text
    assert kept(workspace) == []


async def test_an_error_is_bounded_too(workspace: Path) -> None:
    async def fail(workspace: Workspace, arguments: dict[str, Any]) -> ToolOutcome:
        raise ToolError("no " * 100_000)

    outcome = await hand(workspace, HostTool("fail", "", None, fail)).execute("fail", {})
    assert outcome.error
    assert len(outcome.text) < SHOWN_CHARS + 300
    wrong = await hand(workspace).execute("read", {"x" * 1_000_000: 1})
    assert len(wrong.text) < SHOWN_CHARS + 300


async def test_details_are_bounded(workspace: Path) -> None:
    for details in ({"x": "y" * 200_000}, {"x": object()}):
        outcome = await hand(workspace, saying("ok", details=details)).execute("mcp__server__say", {})
        assert outcome.details == {"left_out": "too long to show"}


async def test_the_results_can_only_be_read(workspace: Path) -> None:
    sandbox = hand(workspace, saying(LINES))
    handle = (await sandbox.execute("mcp__server__say", {})).details["whole_result"]
    for name, arguments in (
        ("write", {"path": handle, "content": "x"}),
        ("edit", {"path": handle, "old_text": "line 0", "new_text": "x"}),
        ("write", {"path": f"{PLACE}/new", "content": "x"}),
    ):
        assert (await sandbox.execute(name, arguments)).error
    for path in (".holaboss/state", f"{PLACE}/../..", f"{PLACE}/../../workspace_id", f"{PLACE}/../todos"):
        assert (await sandbox.execute("ls", {"path": path})).error
    assert [path.read_text() for path in kept(workspace)] == [LINES]
    assert "tool-results" not in (await sandbox.execute("ls", {})).text


@pytest.mark.parametrize(
    ("tool", "session"), [("../../evil", "../.."), ("a/b", ""), ("x" * 500, "y" * 500), ("..", ".")]
)
async def test_no_name_leads_out_of_the_folder(workspace: Path, tool: str, session: str) -> None:
    handle = await Spill(workspace, session).save(tool, "text")
    (file,) = kept(workspace)
    assert len(file.relative_to(workspace / FOLDER).parts) == 3
    assert handle.count("/") == 4


async def test_a_folder_that_leads_elsewhere_gets_nothing(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / ".holaboss/state").mkdir()
    (workspace / ".holaboss/state/tool-results").symlink_to(outside)
    outcome = await hand(workspace, saying(LINES)).execute("mcp__server__say", {})
    assert "characters left out" in outcome.text
    assert len(outcome.text) < SHOWN_CHARS + 300
    assert list(outside.iterdir()) == []


async def test_a_folder_that_cannot_be_made_costs_only_the_rest(workspace: Path) -> None:
    (workspace / ".holaboss/state").write_text("a file")
    outcome = await hand(workspace, saying(LINES)).execute("mcp__server__say", {})
    assert not outcome.error
    assert "characters left out" in outcome.text


async def test_the_oldest_make_room(workspace: Path) -> None:
    spill = Spill(workspace, "session", quota_bytes=10_000)
    handles = [await spill.save("tool", "x\n" * 2_000) for _ in range(5)]
    names = [path.name for path in kept(workspace)]
    assert names == [handle.rpartition("/")[2] for handle in handles[-2:]]
    make_room(workspace / FOLDER, 0)
    assert kept(workspace) == []
    assert QUOTA_BYTES == 64 * 1024 * 1024


async def test_very_long_results_are_kept_up_to_a_bound(workspace: Path) -> None:
    outcome = await hand(workspace, saying("é\n" * 6_000_000)).execute("mcp__server__say", {})
    assert "its first 10,000,000 characters" in outcome.text
    (file,) = kept(workspace)
    assert len(file.read_text()) == MAX_KEPT_CHARS


def test_what_read_could_not_show_is_broken_into_lines() -> None:
    rows = [{"n": number, "text": "x" * 50} for number in range(1000)]
    lines = readable(json.dumps(rows)).split("\n")
    assert len(lines) > 1000
    assert json.loads("\n".join(lines)) == rows
    assert max(map(len, readable("x" * 10_000 + "\nshort").split("\n"))) <= 1_800
    assert readable("{" + "x" * 10_000).replace("\n", "") == "{" + "x" * 10_000
    deep = "[" * 100_000 + "]" * 100_000
    assert readable(deep).replace("\n", "") == deep
    assert readable("a\nb\n") == "a\nb\n"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_model_gets_the_excerpt_and_reads_the_rest(
    provider: ScriptedProvider,
    listener: Listener,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    for number in range(40):
        folder = workspace / ("d" * 100) / ("e" * 100) / f"{number:02}"
        folder.mkdir(parents=True)
        for name in range(20):
            (folder / f"{name:02}{'f' * 100}").touch()
    provider.enqueue(call("find", pattern="*", limit=5000), say("Many."))
    events = await listener.run(package(protocol=protocol))
    assert ending(events)[0] == "success"
    (shown,) = told(events, "completed")
    handle = shown["result"]["details"]["whole_result"]
    sent = json.dumps(provider.requests[1].body)
    assert handle in sent
    assert len(sent) < 2 * SHOWN_CHARS + 60_000
    provider.enqueue(call("read", path=handle, offset=799, limit=1), say("One."))
    events = await listener.run(package(protocol=protocol))
    (shown,) = told(events, "completed")
    assert f"39/18{'f' * 100}" in shown["result"]["content"][0]["text"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_ten_megabytes_of_arguments_end_in_a_bounded_run(
    provider: ScriptedProvider,
    listener: Listener,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    huge = call("web_search", query="x" * 10_000_000)
    provider.enqueue(Answer(huge, argument_size=1_000_000), say("Too much."))
    events = await listener.run(package(protocol=protocol))
    status, _ = ending(events)
    assert status in ("success", "request_too_large", "result_too_large", "tool_arguments_too_large"), events[
        -1
    ]
    assert sum(len(json.dumps(event.payload)) for event in events) < 1_000_000
