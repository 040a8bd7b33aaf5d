"""The skills of a workspace: which are found, in what order, and what is left out by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.plan import load_plan
from holaboss_runtime.workspace.skill_files import MAX_SKILL_BYTES, SkillError, read_skill
from holaboss_runtime.workspace.skills import (
    EMBEDDED_VARIABLE,
    MAX_NOTICES,
    MAX_SKILLS,
    embedded_skills_folder,
    find_skills,
    named,
)


def write(root: Path, place: str, front: str = "", body: str = "Do it.") -> Path:
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    front = front or f"name: {folder.name}\ndescription: About {folder.name}.\n"
    (folder / "SKILL.md").write_text(f"---\n{front}---\n{body}\n")
    return folder


def ids(workspace: Path, embedded: Path | None = None, enabled: list[str] | None = None) -> list[str]:
    return [skill.id for skill in find_skills(workspace, embedded, enabled).skills]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


def test_both_folders_and_those_that_come_with_holaboss(workspace: Path, tmp_path: Path) -> None:
    write(workspace, "skills/b")
    write(workspace, "skills/a")
    write(workspace, ".agents/skills/c")
    write(workspace, ".agents/skills/a", "description: shadowed\n")
    write(workspace, "skills/Ours", "description: from the workspace\n")
    write(tmp_path, "embedded/ours")
    (workspace / "skills/README.md").write_text("not a skill")
    (workspace / "skills/.hidden").mkdir()
    catalog = find_skills(workspace, tmp_path / "embedded")
    assert [(skill.id, skill.origin) for skill in catalog.skills] == [
        ("a", "workspace"),
        ("b", "workspace"),
        ("c", "workspace"),
        ("ours", "embedded"),
    ]
    assert catalog.skills[0].description == "About a."
    assert catalog.notices == (
        "The skill in 'skills/Ours' is not used: another Ours comes with Holaboss.",
        "The skill in '.agents/skills/a' is not used: another a is in skills/.",
    )
    assert ids(workspace / "nowhere") == []


def test_the_plan_enables_and_orders(workspace: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(workspace, f"skills/{name}")
    write(workspace, "skills/d", "name: The Fourth\ndescription: x\n")
    embedded = tmp_path / "embedded"
    write(tmp_path, "embedded/e")
    assert ids(workspace, embedded, ["c", "E", "the fourth", "a", "C"]) == ["c", "e", "d", "a"]
    assert ids(workspace, embedded, []) == []
    catalog = find_skills(workspace, embedded, ["gone", "a"])
    assert catalog.notices == ("workspace.yaml names the skill 'gone', which is not there.",)


def test_the_plan_reads_its_list(tmp_path: Path) -> None:
    def plan(text: str) -> tuple[str, ...] | None:
        (tmp_path / "workspace.yaml").write_text(f"agents: {{id: a}}\n{text}")
        return load_plan(tmp_path).skills

    assert plan("") is None
    assert plan("skills:\n") is None
    assert plan("skills: []\n") == ()
    assert plan("skills: [b, a]\n") == ("b", "a")
    for wrong in ("skills: all\n", "skills: {a: true}\n", "skills: [1]\n"):
        with pytest.raises(DomainError, match="list of skill ids") as raised:
            plan(wrong)
        assert raised.value.context["path"] == "skills"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (None, "it has no SKILL.md"),
        (b"no front matter", "does not begin with front matter"),
        (b"---\nname: x\n", "does not begin with front matter"),
        (b"---\nname: [\n---\n", "not valid YAML"),
        (b"---\n- a\n---\n", "not valid YAML"),
        (b"---\na: !!python/object/apply:os.getcwd []\n---\n", "not valid YAML"),
        (b"---\n" + b"[" * 3000 + b"\n---\n", "not valid YAML"),
        (b"---\nname: x\n---\nbody", "no description"),
        (b"---\ndescription: [a]\n---\n", "no description"),
        (b"---\ndescription: x\n---\n" + b"y" * MAX_SKILL_BYTES, "larger than"),
        (b"---\ndescription: " + b"x" * 20_000 + b"\n---\n", "does not begin with front matter"),
    ],
)
def test_a_broken_one_is_named_and_keeps_no_other_out(workspace: Path, raw: bytes | None, why: str) -> None:
    write(workspace, "skills/good")
    (workspace / "skills/broken").mkdir()
    if raw is not None:
        (workspace / "skills/broken/SKILL.md").write_bytes(raw)
    catalog = find_skills(workspace)
    assert [skill.id for skill in catalog.skills] == ["good"]
    (notice,) = catalog.notices
    assert notice.startswith("The skill in 'skills/broken' is not used: ")
    assert why in notice


def test_what_leads_out_is_refused(workspace: Path, tmp_path: Path) -> None:
    outside = write(tmp_path, "outside/secret")
    (workspace / "skills").mkdir()
    (workspace / "skills/folder").symlink_to(outside)
    (workspace / "skills/file").mkdir()
    (workspace / "skills/file/SKILL.md").symlink_to(outside / "SKILL.md")
    private = write(workspace, ".holaboss/inner")
    (workspace / "skills/private").symlink_to(private)
    (workspace / "skills/pipe").mkdir()
    os.mkfifo(workspace / "skills/pipe/SKILL.md")
    inside = write(workspace, "shared/here")
    (workspace / "skills/here").symlink_to(inside)
    catalog = find_skills(workspace)
    assert [skill.id for skill in catalog.skills] == ["here"]
    assert [notice.split("'")[1] for notice in catalog.notices] == [
        "skills/file",
        "skills/folder",
        "skills/pipe",
        "skills/private",
    ]
    (workspace / "skills").rename(workspace / "kept")
    (workspace / "skills").symlink_to(tmp_path / "outside")
    assert find_skills(workspace).skills == find_skills(workspace).notices == ()


def test_there_is_a_limit_to_how_many(workspace: Path) -> None:
    for number in range(MAX_SKILLS + 5):
        write(workspace, f"skills/s{number:03}")
    catalog = find_skills(workspace)
    assert len(catalog.skills) == MAX_SKILLS
    assert catalog.notices == (f"Only the first {MAX_SKILLS} of {MAX_SKILLS + 5} skills are used.",)
    for number in range(MAX_NOTICES + 5):
        (workspace / f"skills/x{number}").mkdir()
    assert len(find_skills(workspace).notices) == MAX_NOTICES


def test_reading_is_lenient_and_says_what_a_strict_reader_would(workspace: Path) -> None:
    front = "name: Sales Policy\ndescription: Use when: a lead comes in\nallowed-tools: [read]\nmetadata: x\n"
    skill, body = read_skill(write(workspace, "skills/sales_policy", front, "\nBe kind.\n"), root=workspace)
    assert (skill.id, skill.name, body) == ("sales_policy", "Sales Policy", "Be kind.")
    assert skill.description == "Use when: a lead comes in"
    assert len(skill.problems) == 4
    strict, _ = read_skill(write(workspace, "skills/sales-policy"), root=workspace)
    assert strict.problems == ()
    windows = workspace / "skills/windows"
    windows.mkdir()
    (windows / "SKILL.md").write_bytes(
        b"\xef\xbb\xbf---\r\nname: windows\r\ndescription: x\r\n---\r\nA\r\nB\r\n"
    )
    assert read_skill(windows, root=workspace)[1] == "A\nB"


@pytest.mark.parametrize(
    ("front", "tools", "commands", "allowed"),
    [
        ("holaboss_granted_tools: [bash, x]", ("bash", "x"), (), ()),
        ("holaboss-tools: bash, x", ("bash", "x"), (), ()),
        ("capability_grants: [a, 7, ' b ']", ("a", "b"), (), ()),
        ("holaboss: {granted_tools: [a], granted_commands: [c]}", ("a",), ("c",), ()),
        ("holaboss_granted_commands: c d", (), ("c", "d"), ()),
        ("holaboss_granted_tools: [a]\nholaboss-tools: [b, a]", ("a", "b"), (), ()),
        ("allowed-tools: Bash(git:*, npm run) mcp__x__y", (), (), ("Bash", "mcp__x__y")),
        ("holaboss_granted_tools: {a: b}\nholaboss: 3", (), (), ()),
    ],
)
def test_what_a_skill_opens(
    workspace: Path, front: str, tools: tuple[str, ...], commands: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    folder = write(workspace, "skills/s", f"name: s\ndescription: x\n{front}\n")
    skill, _ = read_skill(folder, root=workspace)
    assert (skill.granted_tools, skill.granted_commands, skill.allowed_tools) == (tools, commands, allowed)


def test_an_id_comes_before_a_name(workspace: Path) -> None:
    write(workspace, "skills/a", "name: b\ndescription: x\n")
    write(workspace, "skills/b")
    skills = find_skills(workspace).skills
    found = named(skills, " B ")
    assert found is not None
    assert found.id == "b"
    assert named(skills, "c") is None


def test_what_comes_with_holaboss_is_valid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(EMBEDDED_VARIABLE, raising=False)
    catalog = find_skills(tmp_path, embedded_skills_folder())
    assert [skill.id for skill in catalog.skills] == ["mcp-configurator", "skill-creator"]
    assert [skill.problems for skill in catalog.skills] == [(), ()]
    assert catalog.notices == ()
    monkeypatch.setenv(EMBEDDED_VARIABLE, str(tmp_path))
    assert embedded_skills_folder() == tmp_path


def test_a_skill_outside_its_root_is_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path, "elsewhere/s")
    (tmp_path / "root").mkdir()
    with pytest.raises(SkillError, match="leads out"):
        read_skill(folder, root=tmp_path / "root")


def test_one_that_comes_with_holaboss_is_read_again_when_its_file_is_another(tmp_path: Path) -> None:
    folder = write(tmp_path, "embedded/ours", body="First.")
    first = read_skill(folder, root=folder.parent, origin="embedded")
    assert read_skill(folder, root=folder.parent, origin="embedded") is first
    write(tmp_path, "embedded/ours", body="A second one.")
    assert read_skill(folder, root=folder.parent, origin="embedded")[1] == "A second one."
    (folder / "SKILL.md").unlink()
    with pytest.raises(SkillError):
        read_skill(folder, root=folder.parent, origin="embedded")


def test_one_of_a_workspace_is_looked_at_each_time(workspace: Path, tmp_path: Path) -> None:
    folder = write(workspace, "skills/a")
    read_skill(folder, root=workspace)
    (workspace / "skills").rename(tmp_path / "elsewhere")
    (workspace / "skills").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SkillError):  # the same file, of which nothing has changed
        read_skill(folder, root=workspace)
