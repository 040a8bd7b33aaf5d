"""The tools through the sandbox, in this process, with and without containment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.harness.host.output import MAX_OUTPUT_BYTES
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import ToolError
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.native import TOOL_NAMES
from holaboss_runtime.processes import become_subreaper
from tests.runtime.harness.conftest import local_sandbox
from tests.support.processes import descendants

pytestmark = pytest.mark.anyio


def sandbox(workspace: Path, containment: Containment | None = None) -> LocalSandbox:
    return local_sandbox(workspace, containment=containment)


@pytest.fixture
def use(workspace: Path) -> Callable[..., Any]:
    hand = sandbox(workspace)

    async def execute(name: str, **arguments: Any) -> ToolOutcome:
        return await hand.execute(name, arguments)

    return execute


@pytest.fixture
async def contained() -> Containment:
    containment = await probe()
    if not containment.active:
        pytest.skip("this machine cannot run bubblewrap")
    return containment


def test_the_runtime_knows_the_tools_by_the_same_names() -> None:
    assert tuple(TOOLS) == TOOL_NAMES


def test_a_missing_workspace_is_refused() -> None:
    with pytest.raises(ToolError, match="does not exist"):
        sandbox(Path("/nowhere/at/all"))


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        "link",
        "link/deeper",
        "dangling",
        "a\0b",
        ".holaboss/workspace_id",
        ".HOLABOSS/workspace_id",
        "inner/workspace_id",
        "C:\\secret",
        "~/secret/../../..",
    ],
)
@pytest.mark.parametrize("name", ["read", "write", "edit", "grep", "find", "ls"])
async def test_no_file_tool_leaves_the_workspace(
    use: Callable[..., Any], workspace: Path, tmp_path: Path, name: str, path: str
) -> None:
    (tmp_path / "secret").mkdir()
    (workspace / "link").symlink_to(tmp_path / "secret")
    (workspace / "dangling").symlink_to(tmp_path / "nothing-there")
    (workspace / "inner").symlink_to(workspace / ".holaboss")
    extra = {
        "write": {"content": "x"},
        "edit": {"old_text": "private", "new_text": "x"},
        "grep": {"pattern": "."},
        "find": {"pattern": "*"},
    }
    outcome = await use(name, path=path, **extra.get(name, {}))
    assert outcome.error
    assert (workspace / ".holaboss/workspace_id").read_text() == "private"
    assert list((tmp_path / "secret").iterdir()) == []
    assert not (tmp_path / "nothing-there").exists()


async def test_git_is_not_written_directly(use: Callable[..., Any], workspace: Path) -> None:
    (workspace / ".git/hooks").mkdir(parents=True)
    assert (await use("write", path=".git/hooks/pre-commit", content="evil")).error
    assert not (workspace / ".git/hooks/pre-commit").exists()


async def test_an_absolute_path_inside_is_understood(use: Callable[..., Any], workspace: Path) -> None:
    outcome = await use("write", path=f"{workspace}/a.txt", content="hello\n")
    assert outcome.changed_paths == ("a.txt",)
    assert "     1\thello" in (await use("read", path=f"{workspace}/a.txt")).text


async def test_read_shows_a_window_and_says_how_to_go_on(use: Callable[..., Any], workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    outcome = await use("read", path="long.txt", offset=10, limit=2)
    assert outcome.text == "    10\tline 10\n    11\tline 11\n[4989 more lines; continue with offset 12]"
    assert len((await use("read", path="long.txt")).text.splitlines()) == 2001
    (workspace / "wide.txt").write_text("x" * 1_000_000)
    assert len((await use("read", path="wide.txt")).text) < 3000
    assert (await use("read", path="long.txt", offset=6000)).error


@pytest.mark.parametrize(("content", "said"), [(b"a\0b", "binary"), (b"\xff\xfe", "not UTF-8")])
async def test_read_refuses_what_is_not_text(
    use: Callable[..., Any], workspace: Path, content: bytes, said: str
) -> None:
    (workspace / "file").write_bytes(content)
    outcome = await use("read", path="file")
    assert outcome.error
    assert said in outcome.text


async def test_read_does_not_wait_for_a_pipe(use: Callable[..., Any], workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    assert (await use("read", path="pipe")).error


async def test_write_keeps_permissions_and_shows_the_change(use: Callable[..., Any], workspace: Path) -> None:
    script = workspace / "run.sh"
    script.write_text("old\n")
    script.chmod(0o750)
    outcome = await use("write", path="run.sh", content="new\n")
    assert script.stat().st_mode & 0o777 == 0o750
    assert "-old\n+new" in outcome.text
    assert (await use("ls")).text == "run.sh"


async def test_edit_needs_one_match(use: Callable[..., Any], workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\none\r\n")
    assert (await use("edit", path="a.txt", old_text="one", new_text="1")).error
    assert (await use("edit", path="a.txt", old_text="three", new_text="3")).error
    assert not (await use("edit", path="a.txt", old_text="one\ntwo", new_text="1\n2")).error
    assert file.read_bytes() == b"1\r\n2\r\none\r\n"
    file.write_text("a a a")
    await use("read", path="a.txt")
    await use("edit", path="a.txt", old_text="a", new_text="b", replace_all=True)
    assert file.read_text() == "b b b"


async def test_grep_find_and_ls_skip_what_is_not_the_users(use: Callable[..., Any], workspace: Path) -> None:
    for path in ("src/a.py", "src/deep/b.py", "node_modules/c.py", ".git/d.py", ".venv/e.py", "f.txt"):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text("needle (x)\n")
    found = await use("grep", pattern="needle", glob="*.py")
    assert sorted(found.text.splitlines()) == ["src/a.py:1:needle (x)", "src/deep/b.py:1:needle (x)"]
    assert "f.txt:1" in (await use("grep", pattern="NEEDLE (X)", literal=True, ignore_case=True)).text
    assert (await use("grep", pattern="private", path=".")).text == "No matches."
    assert (await use("grep", pattern="(unclosed")).error
    assert (await use("grep", pattern="-e")).text == "No matches."
    assert (await use("find", pattern="*.py")).text == "src/a.py\nsrc/deep/b.py"
    assert (await use("find", pattern="src/*.py")).text == "src/a.py"
    assert (await use("find", pattern="**/b.py")).text == "src/deep/b.py"
    assert (await use("find", pattern="src/**")).text == "src/a.py\nsrc/deep/b.py"
    assert (await use("find", pattern="*", limit=1)).text.count("\n") == 1
    assert (await use("ls")).text == ".git/\n.venv/\nf.txt\nnode_modules/\nsrc/"


async def test_bash_gets_no_input_a_built_environment_and_bounded_output(
    use: Callable[..., Any], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-should-not-be-seen")
    assert "sk-should-not" not in (await use("bash", command="env; cat")).text
    long = await use("bash", command="head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end")
    assert "bytes of output left out" in long.text
    assert "\nthe end\n[the whole output is in /tool-results/" in long.text
    assert len(long.text) < MAX_OUTPUT_BYTES + 200
    failed = await use("bash", command="echo oops >&2; exit 7")
    assert failed.error
    assert failed.text == "oops\n[exit code 7]"
    assert (await use("bash", command="true")).text == "[no output]"
    assert (await use("bash", command="x", timeout=601)).error


async def test_nothing_outlives_a_command(use: Callable[..., Any]) -> None:
    become_subreaper()
    outcome = await use("bash", command="sleep 1000 & (setsid sleep 1000 > /dev/null &) ; echo started")
    assert outcome.text == "started"
    outcome = await use("bash", command="(setsid sleep 1000 &); sleep 1000", timeout=0.2)
    assert outcome.error
    assert outcome.text == "[stopped after 0.2 seconds]"
    assert not descendants(os.getpid())


async def test_contained_commands_see_the_workspace_and_no_home(
    contained: Containment, workspace: Path, home: Path, tmp_path: Path
) -> None:
    (home / "secret").write_text("top secret")
    (tmp_path / "neighbour").write_text("top secret")
    hand = sandbox(workspace, contained)
    outcome = await hand.execute("bash", {"command": "echo hello > made; pwd; ls -A; id -u; ls -A ~"})
    assert outcome.containment == "bubblewrap"
    assert (workspace / "made").read_text() == "hello\n"
    assert outcome.text.splitlines()[:2] == [str(workspace), ".holaboss"]
    for command in (
        f"cat {home}/secret",
        f"cat {tmp_path}/neighbour",
        "cat .holaboss/workspace_id",
        "touch .holaboss/x",
        "touch /usr/x",
        "cat /etc/shadow",
        "unshare --user true",
        "mount -t tmpfs none /usr",
    ):
        assert (await hand.execute("bash", {"command": command})).error, command
    environment = (await hand.execute("bash", {"command": "cat /proc/1/environ | tr '\\0' '\\n'"})).text
    assert "PATH=" not in environment
    assert not (
        await hand.execute("bash", {"command": "cat /proc/$$/status | grep -q 'CapEff:.*0000$'"})
    ).error


@pytest.fixture
def repository(workspace: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    return workspace


async def test_contained_commands_cannot_plant_what_git_would_run(
    contained: Containment, repository: Path
) -> None:
    workspace = repository
    before = (workspace / ".git/config").read_text()
    hand = sandbox(workspace, contained)
    for command in (
        "echo evil > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "rm -rf .git/hooks && mkdir .git/hooks",
        "mv .git .git-old && mkdir -p .git/hooks",
    ):
        assert (await hand.execute("bash", {"command": command})).error, command
    assert not (workspace / ".git/hooks/pre-commit").exists()
    assert (workspace / ".git/config").read_text() == before
    committed = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m work"
    assert not (await hand.execute("bash", {"command": committed})).error


async def test_a_contained_tree_ends_with_its_command(contained: Containment, workspace: Path) -> None:
    hand = sandbox(workspace, contained)
    outcome = await hand.execute("bash", {"command": "(setsid sleep 1000 &); sleep 1000 & echo started"})
    assert outcome.text == "started"
    outcome = await hand.execute("bash", {"command": "(setsid sleep 1000 &); sleep 1000", "timeout": 0.3})
    assert outcome.error
    assert not descendants(os.getpid())


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**", True), ("**/f.py", True), ("a/**/f.py", True), ("**/b/**", True), ("a/*/f.py", True), ("*.py", True),
        ("./a/b/[ef].py", True), ("a/f.py", False), ("*/f.py", False), ("b/**", False), ("**/c/**", False),
        ("a*", False),
    ],
)  # fmt: skip
async def test_globs(use: Callable[..., Any], workspace: Path, pattern: str, found: bool) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "b" / "f.py").touch()
    assert ("f.py" in (await use("find", pattern=pattern)).text) is found


async def test_no_glob_takes_for_ever(use: Callable[..., Any], workspace: Path) -> None:
    deep = workspace.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "f").touch()
    assert (await use("find", pattern="**/a/" * 30 + "g")).text == "No files match."


@pytest.mark.parametrize(("name", "arguments"), [("bash", {"command": "a\0"}), ("grep", {"pattern": "a\0"})])
async def test_a_nul_is_the_models_mistake_and_not_the_end_of_the_run(
    use: Callable[..., Any], name: str, arguments: dict[str, str]
) -> None:
    outcome = await use(name, **arguments)
    assert outcome.error
    assert "cannot be used" in outcome.text


async def test_texts_that_would_take_long_to_compare_are_only_counted(use: Callable[..., Any]) -> None:
    text = "\n".join("ab"[number % 2] for number in range(15_000))
    await use("write", path="f", content=text)
    outcome = await use("write", path="f", content=text[::-1])
    assert "15000 → 15000 lines" in outcome.text
