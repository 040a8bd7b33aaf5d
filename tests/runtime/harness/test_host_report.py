"""`write_report`: a file of its own, and an output of the turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.workspace.reports import MAX_REPORT_BYTES, report_stem
from tests.runtime.harness.asking import calls, ending, policy, told
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import ScriptedProvider, ToolCall, call, say

pytestmark = pytest.mark.anyio


@pytest.fixture
def hand(workspace: Path) -> LocalSandbox:
    return local_sandbox(workspace)


@pytest.fixture
def report(hand: LocalSandbox) -> Callable[..., Any]:
    async def use(content: str = "# Found\n\nNothing.", **arguments: Any) -> ToolOutcome:
        return await hand.execute("write_report", {"content": content, **arguments})

    return use


async def test_a_report_is_a_file_and_an_output(report: Callable[..., Any], workspace: Path) -> None:
    outcome = await report(title="Prices in May", summary="They rose.")
    assert outcome.text == "Wrote the report “Prices in May” to outputs/reports/Prices-in-May.md (17 bytes)."
    assert (workspace / "outputs/reports/Prices-in-May.md").read_text() == "# Found\n\nNothing."
    assert outcome.changed_paths == ("outputs/reports/Prices-in-May.md",)
    (output,) = outcome.outputs
    assert (output.output_type, output.title, output.file_path) == (
        "document",
        "Prices in May",
        "outputs/reports/Prices-in-May.md",
    )
    facts = {"mime_type": "text/markdown", "size_bytes": 17, "summary": "They rose."}
    assert output.metadata == {"artifact_type": "report"} | facts
    shown = dict(outcome.details["output"])
    assert shown.pop("created_at").endswith("Z")
    identity = {"output_id": output.output_id, "artifact_id": output.output_id}
    assert shown == identity | {"title": output.title, "file_path": output.file_path} | facts


async def test_nothing_is_ever_replaced(report: Callable[..., Any], workspace: Path, tmp_path: Path) -> None:
    folder = workspace / "outputs/reports"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("mine")
    (folder / "a-2.md").symlink_to(tmp_path / "nowhere")
    outcome = await report(filename="a.md")
    assert outcome.changed_paths == ("outputs/reports/a-3.md",)
    assert (folder / "a.md").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


async def test_the_title_is_found_in_the_text(report: Callable[..., Any]) -> None:
    assert (await report()).outputs[0].title == "Found"
    assert (await report("No heading.", filename="notes.md")).outputs[0].title == "notes"
    plain = (await report("No heading.")).outputs[0]
    assert (plain.title, plain.file_path) == ("report", "outputs/reports/report.md")


@pytest.mark.parametrize(
    ("wish", "stem"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot-ini"),
        ("/a/b/Weekly report.MD", "Weekly-report"),
        ("...", "report"),
        ("", "report"),
        ("con", "report-con"),
        ("Größe: 5 €?", "Größe-5"),
        (".hidden", "hidden"),
        ("a\0b\nc", "a-b-c"),
        ("x" * 300, "x" * 100),
        ("é" * 80, "é" * 50),
    ],
)
def test_a_wish_becomes_a_name(wish: str, stem: str) -> None:
    assert report_stem(wish) == stem


async def test_bounds_and_places(
    report: Callable[..., Any], hand: LocalSandbox, workspace: Path, tmp_path: Path
) -> None:
    assert "needs content" in (await report(" \n")).text
    large = await report("x" * (MAX_REPORT_BYTES + 1))
    assert large.error
    assert "2 MiB" in large.text
    assert not (workspace / "outputs").exists()
    (workspace / "outputs").symlink_to(tmp_path)
    outside = await report()
    assert outside.error
    assert not (tmp_path / "reports").exists()
    (workspace / "outputs").unlink()
    closed = local_sandbox(workspace, Mount(mount_path="/workspace", source=str(workspace)))
    refused = await closed.execute("write_report", {"content": "x"})
    assert "can only be read" in refused.text
    facts = hand.facts("write_report", {"content": "# The Title", "filename": ""})
    assert facts.writes == ("outputs/reports/The-Title.md",)


async def test_a_run_tells_of_its_reports(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage
) -> None:
    both = calls(
        ToolCall("write_report", {"content": "one", "title": "A"}),
        ToolCall("write_report", {"content": "two", "title": "A"}),
    )
    provider.enqueue(both, say("Two reports."))
    events = await listener.run(package())
    status, result = ending(events)
    assert status == "success"
    assert [output.file_path for output in result.outputs] == [
        "outputs/reports/A.md",
        "outputs/reports/A-2.md",
    ]
    assert result.changed_paths == ["outputs/reports/A.md", "outputs/reports/A-2.md"]
    shown = [payload["result"]["details"]["output"]["output_id"] for payload in told(events, "completed")]
    assert shown == [output.output_id for output in result.outputs]


async def test_a_rule_may_forbid_it(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    provider.enqueue(call("write_report", content="x"), say("Then not."))
    events = await listener.run(package(permissions=policy(write_report="deny")))
    assert ending(events)[1].outputs == []
    assert not (workspace / "outputs").exists()
