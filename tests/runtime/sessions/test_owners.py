"""Who is alive: owners of leases, in this process, in another one, and after their death."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holaboss_runtime.sessions.owners import CLI, SERVER, Owners

ROOT = Path(__file__).parents[3]
CHILD = """
import sys
from pathlib import Path
from holaboss_runtime.sessions.owners import Owners
print(Owners(Path(sys.argv[1])).register("cli"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runtime.db-owners"


def elsewhere(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT / "runtime")},
    )


def test_an_owner_lives_until_it_is_released(folder: Path) -> None:
    owners, others = Owners(folder), Owners(folder)
    name = owners.register(SERVER)
    assert name.startswith(f"server:{os.getpid()}:")
    assert owners.is_alive(name)
    assert others.is_alive(name)
    owners.release(name)
    assert not owners.is_alive(name)
    assert not others.is_alive(name)
    assert list(folder.iterdir()) == []
    owners.release(name)  # once more is harmless


def test_two_owners_of_one_process_are_two(folder: Path) -> None:
    owners = Owners(folder)
    first, second = owners.register(SERVER), owners.register(CLI)
    owners.release(first)
    assert not owners.is_alive(first)
    assert owners.is_alive(second)
    owners.release(second)


def test_the_owner_of_a_killed_process_is_dead_at_once(folder: Path) -> None:
    owners = Owners(folder)
    with elsewhere(folder) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        assert owners.is_alive(name)
        child.kill()
        child.wait()
        assert not owners.is_alive(name)
    assert len(list(folder.iterdir())) == 1
    mine = owners.register(SERVER)  # sweeps what the dead one left
    assert [path.stem for path in folder.iterdir()] == [mine.rpartition(":")[2]]
    owners.release(mine)


def test_a_new_owner_sweeps_no_living_one(folder: Path) -> None:
    with elsewhere(folder) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        owners = Owners(folder)
        owners.release(owners.register(SERVER))
        assert owners.is_alive(name)
        child.kill()


@pytest.mark.parametrize("name", ["", "server", "cli:1", "a:b:c", "server:1:../../etc/passwd"])
def test_what_is_no_owner_is_nobody(folder: Path, name: str) -> None:
    assert not Owners(folder).is_alive(name)
