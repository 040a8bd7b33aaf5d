"""The eight files of an agent, and the one part of them that the runtime writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from holaboss_runtime.agents.substrate import (
    MAX_CHARS,
    NAMES,
    read_prompts,
    read_substrate,
    seed_substrate,
    update_learnings_section,
)
from holaboss_runtime.agents.substrate_texts import (
    LEARNINGS_END,
    LEARNINGS_HEADING,
    LEARNINGS_START,
    NOTES_START,
)
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError


@dataclass(frozen=True)
class Lesson:
    title: str
    detail: str = "why"
    kind: str = "lesson"


SECTION = f"{LEARNINGS_START}\n- [lesson] One\n  - why\n{LEARNINGS_END}"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "MEMORY.md"


def test_what_is_missing_is_seeded_and_nothing_else(tmp_path: Path) -> None:
    tree = AgentTree(tmp_path)
    folder = tree.make_folder(tree.agent_workspace("alpha"))
    (folder / "SOUL.md").write_text("mine")
    (folder / "USER.md").write_text("")
    seed_substrate(tree, "alpha")
    assert {path.name for path in folder.iterdir()} == set(NAMES)
    assert ((folder / "SOUL.md").read_text(), (folder / "USER.md").read_text()) == ("mine", "")
    assert "You are alpha." in (folder / "AGENTS.md").read_text()
    (folder / "TOOLS.md").unlink()
    seed_substrate(tree, "alpha")
    assert (folder / "TOOLS.md").exists()


def test_a_memory_of_the_other_name_is_not_doubled(tmp_path: Path) -> None:
    tree = AgentTree(tmp_path)
    folder = tree.make_folder(tree.agent_workspace("alpha"))
    (folder / "memory.md").write_text("old memory")
    seed_substrate(tree, "alpha")
    assert "MEMORY.md" not in {path.name for path in folder.iterdir()}
    assert dict(read_substrate(folder))["MEMORY.md"] == "old memory"


def test_files_are_read_in_their_order(tmp_path: Path) -> None:
    for name in reversed(NAMES):
        (tmp_path / name).write_text(f"\ufeff  {name} says so\n\n", "utf-8")
    (tmp_path / "HEARTBEAT.md").write_text(" \n")
    (tmp_path / "USER.md").unlink()
    expected = [(name, f"{name} says so") for name in NAMES if name not in ("HEARTBEAT.md", "USER.md")]
    assert [(name, text.strip()) for name, text in read_substrate(tmp_path)] == expected


def test_the_other_memory_counts_while_the_first_is_empty(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("\n")
    (tmp_path / "memory.md").write_text("other")
    assert read_substrate(tmp_path) == [("MEMORY.md", "other")]


@pytest.mark.parametrize("letter", ["a", "ä", "😀"])
def test_a_long_file_is_cut_and_says_so(tmp_path: Path, letter: str) -> None:
    (tmp_path / "AGENTS.md").write_text(letter * MAX_CHARS, "utf-8")
    assert read_substrate(tmp_path) == [("AGENTS.md", letter * MAX_CHARS)]
    (tmp_path / "AGENTS.md").write_text(letter * (MAX_CHARS + 1), "utf-8")
    [(_, text)] = read_substrate(tmp_path)
    assert text.startswith(letter * MAX_CHARS + "\n\n[AGENTS.md is longer")


def test_what_cannot_be_read_is_named_and_a_link_leads_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("not for a prompt")
    (folder / "SOUL.md").symlink_to(tmp_path / "secret")
    with pytest.raises(DomainError, match=r"SOUL\.md cannot be used: it leads out") as raised:
        read_substrate(folder)
    assert raised.value.code == "substrate_unreadable"
    (folder / "SOUL.md").unlink()
    (folder / "SOUL.md").mkdir()
    with pytest.raises(DomainError, match=r"SOUL\.md cannot be used"):
        read_substrate(folder)


def test_prompts_of_the_tree(tmp_path: Path) -> None:
    tree = AgentTree(tmp_path)
    assert read_prompts(tree, "alpha") == []
    tree.make_folder(tree.agent_prompt("alpha").parent)
    tree.base_prompt.write_text("for all")
    tree.agent_prompt("alpha").write_text("for one")
    assert read_prompts(tree, "alpha") == [("base", "for all"), ("agent", "for one")]
    assert read_prompts(tree, "beta") == [("base", "for all")]


def test_the_managed_part_is_replaced_and_nothing_around_it(memory: Path) -> None:
    before, after = b"# Mine \xff\r\n$1 \\0 \\g<1>\r\n", b"\r\ntail\\1\n"
    memory.write_bytes(before + f"{LEARNINGS_START}\nold\n{LEARNINGS_END}".encode() + after)
    assert update_learnings_section(memory, [Lesson("One")]) is True
    assert memory.read_bytes() == before + SECTION.encode() + after


def test_a_pattern_in_a_learning_is_only_text(memory: Path) -> None:
    memory.write_text(f"{LEARNINGS_START}\n{LEARNINGS_END}\n")
    update_learnings_section(memory, [Lesson(r"\1 $& \g<0>", "two\nlines\n# heading")])
    assert memory.read_text() == (
        f"{LEARNINGS_START}\n- [lesson] \\1 $& \\g<0>\n  - two lines # heading\n{LEARNINGS_END}\n"
    )


def test_the_same_again_is_not_written(memory: Path) -> None:
    update_learnings_section(memory, [Lesson("One")])
    inode = memory.stat().st_ino
    assert update_learnings_section(memory, [Lesson("One")]) is False
    assert memory.stat().st_ino == inode
    assert update_learnings_section(memory, []) is True
    assert "One" not in memory.read_text()


@pytest.mark.parametrize("text", ["", "mine", "mine\n", "mine\n\n"])
def test_without_markers_the_part_comes_last(memory: Path, text: str) -> None:
    memory.write_text(text)
    update_learnings_section(memory, [Lesson("One")])
    gap = "" if not text else "\n\n"
    assert memory.read_text() == f"{text.rstrip()}{gap}{LEARNINGS_HEADING}\n{SECTION}\n"
    update_learnings_section(memory, [])
    assert memory.read_text().count(LEARNINGS_START) == 1


def test_a_missing_memory_is_made(memory: Path) -> None:
    assert update_learnings_section(memory, [Lesson("One")]) is True
    assert memory.read_text() == f"# Memory\n\n{LEARNINGS_HEADING}\n{SECTION}\n"


def test_half_a_pair_of_markers_never_swallows_what_people_wrote(memory: Path) -> None:
    memory.write_text(f"{LEARNINGS_END}\n{LEARNINGS_START}\nmine\n")
    update_learnings_section(memory, [Lesson("One")])
    assert (
        memory.read_text() == f"{LEARNINGS_END}\n{LEARNINGS_START}\nmine\n\n{LEARNINGS_HEADING}\n{SECTION}\n"
    )
    update_learnings_section(memory, [])
    assert "\nmine\n" in memory.read_text()
    memory.write_text(f"a\n{LEARNINGS_START}\nold\n{LEARNINGS_END}\nb\n{LEARNINGS_START}\nmine\n")
    update_learnings_section(memory, [Lesson("One")])
    assert memory.read_text() == f"a\n{SECTION}\nb\n{LEARNINGS_START}\nmine\n"


@pytest.mark.parametrize("marker", [LEARNINGS_END, NOTES_START])
def test_a_marker_in_a_learning_is_refused(memory: Path, marker: str) -> None:
    memory.write_text("mine\n")
    for lesson in (Lesson(f"One {marker}"), Lesson("One", f"{marker} two"), Lesson("One", kind=marker)):
        with pytest.raises(DomainError, match="Leave the marker out") as raised:
            update_learnings_section(memory, [lesson])
        assert raised.value.code == "memory_marker_in_text"
    assert memory.read_text() == "mine\n"


def test_a_memory_that_is_no_file_or_too_long_is_left_alone(tmp_path: Path, memory: Path) -> None:
    memory.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(DomainError, match="larger than 1 MiB"):
        update_learnings_section(memory, [])
    memory.unlink()
    (tmp_path / "other").write_text("x")
    memory.symlink_to(tmp_path / "other")
    with pytest.raises(DomainError, match="cannot be used"):
        update_learnings_section(memory, [])
    assert (tmp_path / "other").read_text() == "x"
