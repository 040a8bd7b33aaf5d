"""What is mounted beside the workspace: who may read and write it, under which names, and that nothing leads out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio
Use = Callable[..., Any]


def hand(workspace: Path, *mounts: Mount, containment: Containment | None = None) -> Use:
    sandbox = local_sandbox(workspace, *mounts, containment=containment)

    async def execute(name: str, **arguments: Any) -> ToolOutcome:
        return await sandbox.execute(name, arguments)

    return execute


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one needle\n")
    (folder / "deep" / "b.txt").write_text("another needle\n")
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret needle\n")
    return folder


@pytest.fixture(params=["contained", "not contained"])
async def containment(request: pytest.FixtureRequest) -> Containment:
    if request.param == "not contained":
        return Containment()
    probed = await probe()
    if not probed.active:
        pytest.skip("this machine cannot run bubblewrap")
    return probed


def read_only(source: Path, at: str = "/mnt/data") -> Mount:
    return Mount(mount_path=at, source=str(source))


def writable(source: Path, at: str = "/mnt/data") -> Mount:
    return Mount(mount_path=at, source=str(source), access="read_write")


async def test_a_mount_is_read_under_its_virtual_path(
    workspace: Path, data: Path, containment: Containment
) -> None:
    use = hand(workspace, read_only(data), containment=containment)
    assert (await use("read", path="/mnt/data/a.txt")).text == "     1\tone needle"
    assert (await use("ls", path="/mnt/data/")).text == "a.txt\ndeep/"
    assert (await use("find", path="/mnt/data", pattern="*.txt")).text.splitlines() == [
        "/mnt/data/a.txt", "/mnt/data/deep/b.txt",
    ]  # fmt: skip
    found = (await use("grep", path="/mnt/data", pattern="needle")).text
    assert sorted(found.splitlines()) == [
        "/mnt/data/a.txt:1:one needle",
        "/mnt/data/deep/b.txt:1:another needle",
    ]
    found = (await use("grep", path="/mnt/data/deep/b.txt", pattern="needle")).text
    assert found == "/mnt/data/deep/b.txt:1:another needle"
    missing = await use("read", path="/mnt/data/c.txt")
    assert (missing.error, missing.text) == (True, "/mnt/data/c.txt does not exist.")
    assert names(workspace) == [".holaboss"]


async def test_a_file_can_be_mounted_alone(
    workspace: Path, data: Path, outside: Path, containment: Containment
) -> None:
    use = hand(workspace, writable(data / "a.txt", "/mnt/notes.txt"), containment=containment)
    assert (await use("read", path="/mnt/notes.txt")).text == "     1\tone needle"
    assert (await use("grep", path="/mnt/notes.txt", pattern="needle")).text == "/mnt/notes.txt:1:one needle"
    assert not (await use("edit", path="/mnt/notes.txt", old_text="one", new_text="1")).error
    assert (data / "a.txt").read_text() == "1 needle\n"
    for path in ("/mnt/notes.txt/deep/b.txt", "/mnt/deep/b.txt", "/mnt/notes.txt/../deep/b.txt"):
        assert (await use("read", path=path)).error, path


async def test_only_a_writable_mount_is_written(workspace: Path, data: Path) -> None:
    use = hand(workspace, read_only(data, "/ro"), writable(data, "/rw"))
    for name, arguments in (
        ("write", {"path": "/ro/a.txt", "content": "x"}),
        ("write", {"path": "/ro/new", "content": "x"}),
        ("edit", {"path": "/ro/a.txt", "old_text": "one", "new_text": "x"}),
    ):
        outcome = await use(name, **arguments)
        assert outcome.error
        assert "can only be read" in outcome.text
    assert names(data) == ["a.txt", "deep"]
    assert (data / "a.txt").read_text() == "one needle\n"
    written = await use("write", path="/rw/new/c.txt", content="x\n")
    assert written.text.startswith("Created /rw/new/c.txt")
    assert written.changed_paths == (), "only what lies in the workspace is reported as changed there"
    assert (data / "new" / "c.txt").read_text() == "x\n"
    assert (await use("edit", path="/rw/a.txt", old_text="one", new_text="1")).changed_paths == ()


@pytest.mark.parametrize("name", ["read", "write", "edit", "grep", "find", "ls"])
@pytest.mark.parametrize(
    "path",
    [
        "/mnt/data/link", "/mnt/data/link/secret", "/mnt/data/file-link", "/mnt/data/dangling",
        "/mnt/data/../outside/secret", "/mnt/data/deep/../../outside", "/mnt/../etc/passwd", "/mnt", "/mnt/data2",
        "/etc/passwd", "/", "//etc/passwd", "/mnt/data/a\0b", "../data/a.txt", "/mnt/data/.holaboss/x",
        "/workspace/../outside/secret", "/workspace/.holaboss/workspace_id",
    ],
)  # fmt: skip
async def test_nothing_leads_out_of_a_mount(
    workspace: Path, data: Path, outside: Path, name: str, path: str
) -> None:
    (data / "link").symlink_to(outside)
    (data / "file-link").symlink_to(outside / "secret")
    (data / "dangling").symlink_to(outside / "nothing")
    (data / ".holaboss").mkdir()
    (data / ".holaboss" / "x").write_text("needle")
    use = hand(workspace, writable(data))
    extra = {
        "write": {"content": "x"},
        "edit": {"old_text": "needle", "new_text": "x"},
        "grep": {"pattern": "."},
        "find": {"pattern": "*"},
    }
    outcome = await use(name, path=path, **extra.get(name, {}))
    assert outcome.error
    assert str(outside) not in outcome.text
    assert str(data) not in outcome.text
    assert names(outside) == ["secret"]
    assert (outside / "secret").read_text() == "secret needle\n"
    assert (data / ".holaboss" / "x").read_text() == "needle"


async def test_a_search_does_not_follow_links_out(workspace: Path, data: Path, outside: Path) -> None:
    (data / "link").symlink_to(outside)
    use = hand(workspace, read_only(data))
    assert "secret" not in (await use("grep", path="/mnt/data", pattern="needle")).text
    assert "secret" not in (await use("find", path="/mnt/data", pattern="*")).text


async def test_the_longest_path_wins(workspace: Path, data: Path, outside: Path) -> None:
    (workspace / "agent").mkdir()
    (workspace / "agent" / "hidden").touch()
    use = hand(workspace, writable(data, "/workspace/agent"), read_only(outside, "/workspace/agent/deep/out"))
    assert (await use("read", path="agent/a.txt")).text == "     1\tone needle"
    assert (await use("read", path="/workspace/agent/a.txt")).text == "     1\tone needle"
    assert (await use("read", path=f"{workspace}/agent/hidden")).text == "agent/hidden is empty."
    assert (await use("read", path="agent/deep/out/secret")).text == "     1\tsecret needle"
    assert (await use("write", path="agent/deep/out/x", content="")).error
    assert not (await use("write", path="agent/deep/x", content="")).error
    assert (data / "deep" / "x").exists()
    assert (await use("ls", path="agent/deep")).text == "b.txt\nout/\nx"


async def test_the_workspace_lists_what_is_mounted_in_it(workspace: Path, data: Path) -> None:
    use = hand(
        workspace, read_only(data, "/workspace/agent"), read_only(data / "a.txt", "/workspace/notes.txt")
    )
    assert (await use("ls")).text == "agent/\nnotes.txt"


@pytest.mark.parametrize("mounted", [True, False])
async def test_workspace_is_another_name_of_the_workspace(
    workspace: Path, outside: Path, mounted: bool
) -> None:
    use = hand(workspace, *([writable(outside, "/workspace")] if mounted else []))
    outcome = await use("write", path="/workspace/docs/a.md", content="hello\n")
    assert outcome.changed_paths == ("docs/a.md",)
    assert (workspace / "docs" / "a.md").read_text() == "hello\n"
    assert (await use("grep", path="/workspace", pattern="hello")).text == "docs/a.md:1:hello"
    assert (await use("ls", path="/workspace")).text == "docs/"
    assert (await use("write", path="/workspace/.git/config", content="x")).error


async def test_a_workspace_that_can_only_be_read(workspace: Path, containment: Containment) -> None:
    (workspace / "a.txt").write_text("one\n")
    (workspace / ".git").mkdir()
    use = hand(workspace, read_only(workspace, "/workspace"), containment=containment)
    assert (await use("read", path="a.txt")).text == "     1\tone"
    for path in ("a.txt", "/workspace/a.txt", f"{workspace}/a.txt"):
        assert (await use("write", path=path, content="x")).error, path
    outcome = await use("bash", command="echo two > a.txt")
    assert outcome.error
    assert (workspace / "a.txt").read_text() == "one\n"
    if containment.active:
        assert (await use("bash", command="cat a.txt")).text == "one"
    assert names(workspace / ".git") == []


@pytest.mark.parametrize(
    ("at", "source"),
    [
        ("relative", "."),
        ("/", "."),
        ("/mnt/../x", "."),
        ("/mnt/data", "relative"),
        ("/mnt/data", "/no\0where"),
    ],
)
async def test_a_mount_that_makes_no_sense_is_not_there(
    workspace: Path, data: Path, at: str, source: str
) -> None:
    use = hand(workspace, Mount(mount_path=at, source=str(data) if source == "." else source))
    for path in (f"{at}/a.txt", "/x/a.txt", "/a.txt"):
        assert (await use("read", path=path)).error
    assert not (await use("ls")).error


async def test_a_mount_whose_source_is_missing_says_so(workspace: Path, data: Path) -> None:
    use = hand(workspace, read_only(data / "gone", "/mnt/gone"))
    assert (await use("read", path="/mnt/gone/a.txt")).text == "/mnt/gone/a.txt does not exist."
    assert (await use("ls", path="/mnt/gone")).text == "/mnt/gone is not a folder."
    assert (await use("grep", path="/mnt/gone", pattern="x")).text == "/mnt/gone does not exist."


async def test_mounts_reach_the_tools_of_a_run(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, data: Path
) -> None:
    provider.enqueue(
        call("read", path="/mnt/data/a.txt"), call("write", path="/mnt/data/a.txt", content=""), say("Read.")
    )
    events = await listener.run(package(mounts=[read_only(data)]))
    assert events[-1].payload["status"] == "success"
    sent = provider.requests[-1].prompt.results
    assert sent == ("     1\tone needle", "/mnt/data/a.txt can only be read.")
    described = {
        tool["function"]["name"]: tool["function"]["description"]
        for tool in provider.requests[0].body["tools"]
    }
    assert "only the workspace" in described["bash"]
    provider.enqueue(say("ok"))
    await listener.run(package())
    described = {
        tool["function"]["name"]: tool["function"]["description"]
        for tool in provider.requests[-1].body["tools"]
    }
    assert "only the workspace" not in described["bash"]
