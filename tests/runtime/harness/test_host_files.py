"""The file tools: what they keep, what they refuse, what they look at and what they leave out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import Mount
from holaboss_runtime.harness.host.search import opening
from holaboss_runtime.harness.host.search.child import search
from holaboss_runtime.harness.host.search.globs import Glob
from holaboss_runtime.harness.host.search.matching import Matcher, PatternError
from holaboss_runtime.harness.host.throwaway import ask_helper
from holaboss_runtime.harness.host.tools import beneath
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.places import Area, Areas, Place
from holaboss_runtime.harness.host.tools.seen import MAX_FILES, SeenFiles
from tests.runtime.harness.conftest import local_sandbox

pytestmark = pytest.mark.anyio

Use = Callable[..., Any]


@pytest.fixture
def use(workspace: Path) -> Use:
    hand = local_sandbox(workspace)

    async def execute(name: str, **arguments: Any) -> ToolOutcome:
        return await hand.execute(name, arguments)

    return execute


def put(workspace: Path, **files: str) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Changing


async def test_a_change_comes_with_its_diff(use: Use, workspace: Path) -> None:
    put(workspace, **{"a.txt": "one\ntwo\nthree\n"})
    edited = await use("edit", path="a.txt", old_text="two", new_text="2")
    assert edited.details == {
        "path": "a.txt",
        "added": 1,
        "removed": 1,
        "diff": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
    }
    written = await use("write", path="b.txt", content="--- x\n+++ y\n")
    assert (written.details["added"], written.details["removed"]) == (2, 0)
    long = await use("write", path="c.txt", content="".join(f"{n}\n" for n in range(15_000)))
    assert len(long.details["diff"]) < 33_000
    assert len(long.text) < 7_000


async def test_several_edits_are_made_together_or_not_at_all(use: Use, workspace: Path) -> None:
    put(workspace, **{"a.txt": "one two three\n"})
    good = [{"old_text": "one", "new_text": "1"}, {"old_text": "1 two", "new_text": "1 2"}]
    assert not (await use("edit", path="a.txt", edits=good)).error
    assert (workspace / "a.txt").read_text() == "1 2 three\n"
    bad = [{"old_text": "three", "new_text": "3"}, {"old_text": "four", "new_text": "4"}]
    outcome = await use("edit", path="a.txt", edits=bad)
    assert outcome.error
    assert "edit 2 of 2; nothing was written" in outcome.text
    assert (workspace / "a.txt").read_text() == "1 2 three\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"old_text": "a"},
        {"new_text": "a"},
        {"old_text": "", "new_text": "a"},
        {"edits": []},
        {"edits": [{"old_text": "a"}]},
        {"edits": [{"old_text": "a", "new_text": "b"}], "old_text": "a", "new_text": "b"},
        {"edits": [{"old_text": "a", "new_text": "b"}] * 101},
        {"old_text": "a", "new_text": "a"},
    ],
)
async def test_an_edit_that_makes_no_sense_is_explained(
    use: Use, workspace: Path, arguments: dict[str, Any]
) -> None:
    put(workspace, **{"a.txt": "a\n"})
    outcome = await use("edit", path="a.txt", **arguments)
    assert outcome.error
    assert (workspace / "a.txt").read_text() == "a\n"


async def test_what_changed_since_it_was_read_is_refused_once(use: Use, workspace: Path) -> None:
    put(workspace, **{"a.txt": "one\n"})
    await use("read", path="a.txt")
    put(workspace, **{"a.txt": "one, by the person\n"})
    for name, arguments in (
        ("edit", {"old_text": "one", "new_text": "1"}),
        ("write", {"content": "mine\n"}),
    ):
        await use("read", path="a.txt")
        put(workspace, **{"a.txt": f"one, again by the person, before {name}\n"})
        refused = await use(name, path="a.txt", **arguments)
        assert refused.error
        assert "Read it again" in refused.text
        assert "person" in (workspace / "a.txt").read_text()
        assert not (await use(name, path="a.txt", **arguments)).error
        assert not (await use("edit", path="a.txt", old_text="\n", new_text="!\n")).error, (
            "its own change is known"
        )


async def test_a_file_that_vanished_is_named(use: Use, workspace: Path) -> None:
    put(workspace, **{"a.txt": "one\n"})
    await use("read", path="a.txt")
    (workspace / "a.txt").unlink()
    removed = await use("write", path="a.txt", content="x")
    assert removed.error
    assert "was removed" in removed.text
    assert "does not exist" in (await use("edit", path="a.txt", old_text="o", new_text="x")).text
    assert not (await use("write", path="a.txt", content="x")).error


async def test_one_run_knows_nothing_of_another(workspace: Path) -> None:
    put(workspace, **{"a.txt": "one\n"})
    first, second = local_sandbox(workspace), local_sandbox(workspace)
    await first.execute("read", {"path": "a.txt"})
    put(workspace, **{"a.txt": "two\n"})
    assert not (await second.execute("write", {"path": "a.txt", "content": "3"})).error
    assert (await first.execute("write", {"path": "a.txt", "content": "4"})).error


def test_what_was_seen_is_bounded() -> None:
    seen = SeenFiles()
    for number in range(MAX_FILES + 10):
        seen.remember(Path(f"/{number}"), b"x")
    assert not seen.has_changed(Path("/0"), b"y")
    assert seen.has_changed(Path(f"/{MAX_FILES}"), b"y")
    assert not seen.has_changed(Path(f"/{MAX_FILES}"), b"y")


async def test_line_ends_mark_and_mode_are_kept(use: Use, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    file.chmod(0o640)
    assert (await use("read", path="a.txt")).text == "     1\tone\n     2\ttwo"
    await use("edit", path="a.txt", old_text="two", new_text="2\n3")
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n2\r\n3\r\n"
    await use("write", path="a.txt", content="x\ny\n")
    assert file.read_bytes() == b"\xef\xbb\xbfx\r\ny\r\n"
    assert file.stat().st_mode & 0o777 == 0o640
    await use("write", path="new.txt", content="x\ny\n")
    assert (workspace / "new.txt").read_bytes() == b"x\ny\n"


async def test_what_is_no_file_is_not_replaced(use: Use, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "folder").mkdir()
    for path in ("pipe", "folder", "."):
        assert (await use("write", path=path, content="x")).error
    assert names(workspace) == [".holaboss", "folder", "pipe"]


async def test_a_hard_link_to_elsewhere_is_cut_off_and_not_written_through(
    use: Use, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("private\n")
    os.link(tmp_path / "outside", workspace / "a.txt")
    await use("write", path="a.txt", content="mine\n")
    assert (tmp_path / "outside").read_text() == "private\n"


# Races


def place(root: Path, path: str) -> Place:
    return Place(root / path, Area(root))


async def test_a_folder_that_becomes_a_link_after_it_was_located_is_not_followed(
    workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("private")
    (workspace / "d").mkdir()
    located = Areas(workspace).locate("d/f")
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    with pytest.raises(OSError):  # noqa: PT011 - which one is the system's business
        beneath.open_place(located)
    with pytest.raises(OSError), beneath.replacing(located) as file:  # noqa: PT011
        file.write(b"evil")
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("f", "private")]


async def test_a_file_that_becomes_a_link_is_neither_read_nor_written_through(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("private")
    (workspace / "f").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):  # noqa: PT011
        beneath.open_place(place(workspace, "f"))
    with pytest.raises(OSError), beneath.replacing(place(workspace, "f")) as file:  # noqa: PT011
        file.write(b"evil")
    assert (tmp_path / "secret").read_text() == "private"


def test_a_block_that_fails_leaves_what_was_there(workspace: Path) -> None:
    put(workspace, f="old")
    with pytest.raises(ZeroDivisionError), beneath.replacing(place(workspace, "f")) as file:
        file.write(b"half of" * (1 // 0))
    assert (workspace / "f").read_text() == "old"
    with pytest.raises(FileExistsError), beneath.replacing(place(workspace, "f"), overwrite=False):
        raise AssertionError("not reached")
    assert sorted(path.name for path in workspace.iterdir()) == [".holaboss", "f"]


def test_of_two_new_files_one_wins_and_none_is_lost(workspace: Path) -> None:
    won: list[str] = []
    ready = threading.Barrier(2)

    def write(name: str) -> None:
        try:
            with beneath.replacing(place(workspace, "f"), overwrite=False) as file:
                file.write(name.encode())
                ready.wait()
            won.append(name)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(workspace / "f").read_text()] == won


def test_a_search_does_not_follow_a_folder_that_was_swapped_for_a_link(
    workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    put(outside, **{"f.txt": "canary\n", "sub/g.txt": "canary\n"})
    put(workspace, **{"a.txt": "mine\n", "d/f.txt": "mine\n", "d/sub/g.txt": "mine\n"})
    said: list[Any] = []
    for found in search(GREP | {"root": str(workspace), "pattern": "canary|mine"}):
        said.append(found)
        if found.get("path") == "d/f.txt":  # now it knows of d/sub, and somebody is faster
            (workspace / "d").rename(workspace / "x")
            (workspace / "d").symlink_to(outside)
    assert [each.get("path") for each in said[:-1]] == ["a.txt", "d/f.txt"]
    assert "canary" not in str(said)
    assert said[-1]["summary"]["unreadable"] == 1
    for path, opened in (("d/f.txt", opening.open_file), ("d/sub", opening.list_folder)):
        with pytest.raises(OSError, match="of this folder"):
            opened(str(workspace), str(workspace / path))


# Reading


async def test_lines_are_counted_as_grep_counts_them(use: Use, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\x0bstill one\u2028still one\ntwo\n")
    assert (await use("read", path="a.txt")).text.splitlines()[-1].endswith("\ttwo")
    assert (await use("read", path="a.txt", offset=2)).text == "     2\ttwo"
    assert (await use("grep", pattern="two")).text == "a.txt:2:two"


async def test_ls_of_a_crowd_is_bounded(use: Use, workspace: Path) -> None:
    for number in range(1005):
        (workspace / f"f{number:04}").touch()
    lines = (await use("ls")).text.splitlines()
    assert len(lines) == 1001
    assert lines[-1].startswith("[5 more entries")


# Searching

GREP: dict[str, Any] = {
    "what": "grep",
    "top": [],
    "is_file": False,
    "glob": None,
    "type": None,
    "ignore_case": False,
    "literal": False,
    "multiline": False,
    "context": 0,
    "output": "lines",
    "hidden": False,
    "no_ignore": False,
    "limit": 200,
}


async def test_ignore_files_are_honoured_as_git_does(use: Use, workspace: Path) -> None:
    put(
        workspace,
        **{
            ".gitignore": "*.log\n!keep.log\n/build/\nsecret\n# a comment\n\nbad[\ndeep/**\n!deep/kept.txt\n",
            "a.log": "needle",
            "keep.log": "needle",
            "build/x": "needle",
            "sub/build/x": "needle",
            "sub/.gitignore": "!a.log\nx.tmp\n",
            "sub/a.log": "needle",
            "sub/x.tmp": "needle",
            "x.tmp": "needle",
            "sub/secret/y": "needle",
            "deep/gone.txt": "needle",
            "deep/kept.txt": "needle",
            "over/.gitignore": "one.txt\n",
            "over/.ignore": "!one.txt\ntwo.txt\n",
            "over/one.txt": "needle",
            "over/two.txt": "needle",
            ".git/info/exclude": "excluded\n",
            "excluded": "needle",
        },
    )
    seen = ["keep.log", "x.tmp", "deep/kept.txt", "over/one.txt", "sub/a.log", "sub/build/x"]
    assert (await use("grep", pattern="needle", output="files")).text.splitlines() == seen
    assert (await use("find", pattern="*")).text.splitlines() == seen
    below = (await use("grep", pattern="needle", output="files", path="sub")).text.splitlines()
    assert below == ["sub/a.log", "sub/build/x"], "what stands above counts below as well"
    everything = (await use("grep", pattern="needle", output="files", no_ignore=True)).text.splitlines()
    assert {"a.log", "build/x", "sub/secret/y", "excluded", "over/two.txt"} <= set(everything)
    assert (await use("grep", pattern="needle", path="a.log")).text == "a.log:1:needle", "named itself"


async def test_hidden_files_are_for_those_who_ask(use: Use, workspace: Path) -> None:
    put(workspace, **{".env": "needle", ".github/ci.yml": "needle", "a.txt": "hay"})
    outcome = await use("grep", pattern="needle")
    assert outcome.text.splitlines()[0] == "No matches."
    assert "2 hidden or ignored left out" in outcome.text
    assert (await use("grep", pattern="needle", hidden=True, output="files")).text == ".env\n.github/ci.yml"
    assert (await use("find", pattern=".github/*")).text == ".github/ci.yml"
    assert (await use("find", pattern="*.yml")).text.startswith("No files match.")
    assert (await use("find", pattern="*", hidden=True)).text.splitlines() == [
        ".env",
        "a.txt",
        ".github/ci.yml",
    ]


async def test_the_ways_to_show_what_was_found(use: Use, workspace: Path) -> None:
    put(workspace, **{"a.py": "x\nneedle 1\ny\nz\nneedle 2\n", "b.md": "Needle\n", "c.ts": "needle"})
    assert (await use("grep", pattern="needle", output="files")).text == "a.py\nc.ts"
    assert (await use("grep", pattern="needle", output="count")).text == "a.py:2\nc.ts:1"
    assert (await use("grep", pattern="needle", type="py", context=1)).text.splitlines() == [
        "a.py-1-x", "a.py:2:needle 1", "a.py-3-y", "a.py-4-z", "a.py:5:needle 2",
    ]  # fmt: skip
    spread = await use("grep", pattern=r"needle \d", context=0, limit=1)
    assert spread.text.splitlines()[0] == "a.py:2:needle 1"
    assert "more than 1" in spread.text
    assert (
        await use("grep", pattern="needle", glob="*.{md,ts}", ignore_case=True, output="files")
    ).text == "b.md\nc.ts"
    assert (await use("grep", pattern="1$\ny", multiline=True)).text.splitlines() == [
        "a.py:2:needle 1",
        "a.py:3:y",
    ]
    assert (await use("grep", pattern="^[[:upper:]][[:alpha:]]+$")).text == "b.md:1:Needle"
    assert (await use("grep", pattern=r"needle \d(?!.)", output="count")).text == "a.py:2"
    for wrong in ({"pattern": "["}, {"pattern": "[[:nonsense:]]"}, {"pattern": "x", "type": "nonsense"}):
        assert (await use("grep", **wrong)).error
    assert (await use("find", pattern="*", kind="folder")).text.startswith("No files match.")
    (workspace / "sub/deeper").mkdir(parents=True)
    assert (await use("find", pattern="*", kind="folder")).text == "sub/\nsub/deeper/"


async def test_binary_large_and_unreadable_files_are_left_out(use: Use, workspace: Path) -> None:
    (workspace / "a.bin").write_bytes(b"needle\0")
    with (workspace / "big.txt").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(
            33 * 1024 * 1024
        )  # zeros behind: also binary, but it is the size that is looked at for text
    (workspace / "text.txt").write_bytes(b"x" * 33 * 1024 * 1024)
    os.mkfifo(workspace / "pipe")
    outcome = await use("grep", pattern="needle")
    assert outcome.text.splitlines()[0] == "No matches."
    assert "larger than 32 MB" in outcome.text
    assert "could not be read" in outcome.text
    assert "binary" in (await use("grep", pattern="needle", path="a.bin")).text
    (workspace / "latin.txt").write_bytes(b"caf\xe9 needle\n")
    assert (await use("grep", pattern="needle")).text.startswith("latin.txt:1:")


async def test_a_pattern_that_never_ends_is_ended(workspace: Path) -> None:
    put(workspace, **{"a.txt": "a" * 5000 + "b\n", "0.txt": "aaa c\n"})
    answer = await ask_helper("search", GREP | {"root": str(workspace), "pattern": "(a+)+c|(a|a)*c"}, 1.0)
    assert answer.timed_out
    assert [said.get("path") for said in answer.said] == ["0.txt"], "what was found before is not lost"


async def test_an_ignore_file_cannot_hold_the_host_up(workspace: Path) -> None:
    put(workspace, **{".gitignore": "*a" * 40 + "b\n", "a" * 200: "x"})
    question = GREP | {"root": str(workspace), "pattern": "x"}
    answer = await ask_helper("search", question, 1.0)
    assert answer.timed_out or answer.finished


@pytest.mark.parametrize("answer", ["x" * 100, "\0"])
async def test_a_helper_that_is_asked_nonsense_just_ends(answer: str) -> None:
    assert not (await ask_helper("search", {"what": answer}, 10.0)).finished


async def test_a_mounted_file_and_folder_are_searched_under_their_names(
    workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    put(folder, **{"sub/a.txt": "needle\n", "one.txt": "needle\n"})
    mounts = [
        Mount(mount_path="/mnt/data", source=str(folder)),
        Mount(mount_path="/mnt/one.txt", source=str(folder / "one.txt")),
    ]
    hand = local_sandbox(workspace, *mounts)
    found = await hand.execute("grep", {"pattern": "needle", "path": "/mnt/data"})
    assert found.text == "/mnt/data/one.txt:1:needle\n/mnt/data/sub/a.txt:1:needle"
    assert (
        await hand.execute("grep", {"pattern": "n", "path": "/mnt/one.txt"})
    ).text == "/mnt/one.txt:1:needle"
    assert (
        await hand.execute("find", {"pattern": "*.txt", "path": "/mnt/data/sub"})
    ).text == "/mnt/data/sub/a.txt"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b.py", True), ("a/*.py", "a/b.py", True), ("a/*.py", "a/c/b.py", False), ("**/*.py", "b.py", True),
        ("*.{py,md}", "x/a.md", True), ("{a,b}/{c,d}.x", "b/d.x", True), ("{a,{b,c}}.x", "c.x", True),
        ("{a", "{a", True), ("a/", "a", True), ("", "a", False), ("**", "a/b/c", True),
    ],
)  # fmt: skip
def test_globs_of_a_search(pattern: str, path: str, fits: bool) -> None:
    assert Glob(pattern).matches(path.split("/")) is fits


def test_braces_without_end_are_bounded() -> None:
    assert not Glob("{a,b}" * 60).matches(["c"])


def test_a_prefilter_changes_no_result() -> None:
    text = "alpha\nbeta\n  gamma\n"
    for pattern, hits in {
        r"\Abeta": [1],
        r"beta\Z": [1],
        r"^\s+": [2],
        "a$": [0, 1, 2],
        r"\bbeta": [1],
    }.items():
        matcher = Matcher(pattern, literal=False, ignore_case=False, multiline=False)
        assert matcher.hits(text) == hits, pattern
    with pytest.raises(PatternError):
        Matcher("(" * 3000, literal=False, ignore_case=False, multiline=False)
