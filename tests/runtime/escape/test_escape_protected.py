"""What decides what runs outside of every containment, in the workspace itself: git, the plan, our own part of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.runtime.escape.conftest import Attempt, Canary

pytestmark = pytest.mark.anyio

PROTECTED = [
    ".git/hooks/pre-commit", ".git/config", ".git/commondir", ".git/config.worktree", "tools/githooks/pre-commit",
    "shared.gitconfig", "nested/deep/.git/hooks/post-checkout", "nested/deep/.git/config", "module/.git",
    ".git/modules/module/hooks/pre-commit", ".git/modules/module/config", "bare.git/hooks/update", "bare.git/config",
    "workspace.yaml", "skills/mine/SKILL.md", "apps/one/app.runtime.yaml", ".agents/skills/x/SKILL.md",
    ".holaboss/workspace_id", ".holaboss/state/new", ".openboa/state/runtime.db",
]  # fmt: skip

TRICKS = {
    "write": "mkdir -p $(dirname %(path)s); echo evil > %(path)s",
    "append": "mkdir -p $(dirname %(path)s); echo evil >> %(path)s",
    "replace": "echo evil > new; mkdir -p $(dirname %(path)s); mv -f new %(path)s",
    "link": "echo evil > new; mkdir -p $(dirname %(path)s); ln -sf $PWD/new %(path)s",
    "swap the folder": "d=$(dirname %(path)s); [ $d = . ] || { mv $d moved; mkdir -p $d; }; echo evil > %(path)s",
    "swap from above": "t=$(echo %(path)s | cut -d/ -f1); mv $t moved; mkdir -p $(dirname %(path)s);"
    " echo evil > %(path)s",
    "remove first": "rm -rf $(echo %(path)s | cut -d/ -f1); mkdir -p $(dirname %(path)s); echo evil > %(path)s",
    "hard link": "ln %(path)s hard && echo evil > hard",
    "python": "python3 -c \"import os,sys; os.makedirs(os.path.dirname('./%(path)s'), exist_ok=True);"
    " open('%(path)s','w').write('evil')\"",
}


def git(*arguments: object) -> None:
    subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def repository(workspace: Path) -> Path:
    git("init", "-q", workspace)
    git("-C", workspace, "config", "core.hooksPath", "tools/githooks")
    git("-C", workspace, "config", "extensions.worktreeConfig", "true")
    git("-C", workspace, "config", "include.path", "../shared.gitconfig")
    (workspace / "tools" / "githooks").mkdir(parents=True)
    (workspace / "shared.gitconfig").write_text("[alias]\n")
    git("init", "-q", workspace / "nested" / "deep")
    git("init", "-q", "--bare", workspace / "bare.git")
    modules = workspace / ".git" / "modules" / "module"
    modules.parent.mkdir()
    git("init", "-q", f"--separate-git-dir={modules}", workspace / "module")
    (workspace / ".openboa" / "state").mkdir(parents=True)
    (workspace / ".openboa" / "state" / "runtime.db").write_text("rows")
    (workspace / "skills" / "mine").mkdir(parents=True)
    (workspace / "skills" / "mine" / "SKILL.md").write_text("mine")
    return workspace


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def clear(folder: Path) -> None:
    for name in ("new", "moved", "hard"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def content_of(path: Path) -> str | None:
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None


@pytest.mark.parametrize("trick", TRICKS)
async def test_what_decides_what_runs_stays_as_it_is(
    canary: Canary, hand: Callable[..., Attempt], repository: Path, trick: str
) -> None:
    before = {path: content_of(repository / path) for path in PROTECTED}
    attempt = hand(network="off", rules=["skills/**", "apps/**", ".agents/**"])
    for path in PROTECTED:
        outcome = await attempt("bash", command=TRICKS[trick] % {"path": path})
        after = {other: content_of(repository / other) for other in PROTECTED}
        assert after == before, (path, outcome.text)
        clear(repository)
    canary.check()
    assert not (repository / "apps").exists(), "what only stood there is taken away"
    assert not (repository / ".agents").exists()


async def test_git_itself_goes_on_working(hand: Callable[..., Attempt], repository: Path) -> None:
    attempt = hand(network="off")
    work = "git add a.txt && git -c user.name=a -c user.email=a@b commit -qm work && git gc -q && git log --oneline"
    for folder in (".", "nested/deep", "module"):
        outcome = await attempt("bash", command=f"cd {folder} && echo x >> a.txt && {work}")
        assert not outcome.error, outcome.text
        assert outcome.text.endswith("work")


async def test_without_any_of_it_nothing_is_left_behind(
    hand: Callable[..., Attempt], workspace: Path
) -> None:
    (workspace / "workspace.yaml").unlink()
    before = names(workspace)
    outcome = await hand(network="off", rules=["skills/**"])(
        "bash", command="echo evil > workspace.yaml; mkdir skills/x"
    )
    assert outcome.error
    assert names(workspace) == before


async def test_what_two_commands_need_stays_for_both(hand: Callable[..., Attempt], workspace: Path) -> None:
    (workspace / "workspace.yaml").unlink()
    attempt = hand(network="off")

    async def quick() -> None:
        while not (workspace / "started").exists():
            await anyio.lowlevel.checkpoint()
        await attempt("bash", command="true")
        (workspace / "go").touch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(quick)
        slow = "touch started; while [ ! -e go ]; do sleep 0.01; done; echo evil > workspace.yaml"
        assert (await attempt("bash", command=slow)).error
    assert not (workspace / "workspace.yaml").exists()


async def test_what_was_put_in_the_place_is_kept(hand: Callable[..., Attempt], workspace: Path) -> None:
    """A person saves the plan while a command runs that found none."""
    (workspace / "workspace.yaml").unlink()

    async def person() -> None:
        while not (workspace / "started").exists():
            await anyio.lowlevel.checkpoint()
        (workspace / "mine").write_text("name: saved\n")
        (workspace / "mine").replace(workspace / "workspace.yaml")
        (workspace / "go").touch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(person)
        wait = "touch started; while [ ! -e go ]; do sleep 0.01; done"
        assert not (await hand(network="off")("bash", command=wait)).error
    assert (workspace / "workspace.yaml").read_text() == "name: saved\n"
