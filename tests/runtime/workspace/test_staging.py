"""Copies for executors that look for skills and commands in a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from holaboss_runtime.workspace.staging import stage


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".holaboss").mkdir(parents=True)
    (folder / "commands").mkdir()
    (folder / "commands" / "review.md").write_text("Review it.")
    (folder / "skills" / "filing").mkdir(parents=True)
    (folder / "skills" / "filing" / "SKILL.md").write_text("---\nname: filing\n---\n")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_only_what_was_asked_for_is_copied(workspace: Path) -> None:
    skills = [workspace / "skills" / "filing"]
    both = stage(workspace, "toy", skills=skills, commands=True)
    assert names(both.folder) == ["commands/review.md", "skills/filing/SKILL.md"]
    assert both.commands == ("review",)
    assert names(stage(workspace, "toy", skills=None, commands=True).folder) == ["commands/review.md"]
    assert names(stage(workspace, "toy", skills=None, commands=False).folder) == []


def test_what_was_staged_before_is_gone(workspace: Path) -> None:
    stage(workspace, "toy", skills=None, commands=True)
    (workspace / "commands" / "review.md").unlink()
    assert names(stage(workspace, "toy", skills=None, commands=True).folder) == []


def test_a_command_that_leads_out_is_left_out(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (workspace / "commands" / "leak.md").symlink_to(tmp_path / "secret.md")
    assert stage(workspace, "toy", skills=None, commands=True).commands == ("review",)


def test_a_link_in_the_place_of_the_copies_is_refused(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "keep").write_text("mine")
    (workspace / ".holaboss" / "staged").symlink_to(elsewhere)
    with pytest.raises(OSError, match="link"):
        stage(workspace, "toy", skills=None, commands=True)
    assert names(elsewhere) == ["keep"]
