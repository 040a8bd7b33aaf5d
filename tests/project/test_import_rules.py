"""The import contracts, tried on a skeleton of the rooms: they pass when it is clean and name what is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.project.repository import APP, ROOT, RUNTIME, is_room

CONTRACTS = ROOT / ".importlinter"
VIOLATIONS = [
    ("holaboss_app.services", "import holaboss_runtime.store", "never import each other"),
    ("holaboss_client", "import fastapi", "nothing but httpx and pydantic"),
    ("holaboss_runtime.store", "import holaboss_runtime.sessions", "A room of the runtime"),
    ("holaboss_runtime.harness.host", "import holaboss_runtime.runs", "A room of the runtime"),
    ("holaboss_runtime.harness.host", "import holaboss_runtime.store", "never opens the database"),
    ("holaboss_runtime.harness.native", "import holaboss_runtime.harness.host", "a program of its own"),
    ("holaboss_runtime.runs", "import pydantic_ai", "Only the harness host imports an AI SDK"),
    ("holaboss_runtime.harness.native", "import openai", "Only the harness host imports an AI SDK"),
    ("holaboss_runtime.config", "import keyring", "leaves the keychain to the desktop"),
    ("holaboss_runtime.sessions", "import fastapi", "in one room"),
    ("holaboss_runtime.api", "import apsw", "known to the store alone"),
    ("holaboss_app.core", "import holaboss_app.services", "A room of the desktop"),
    ("holaboss_app.core", "import PySide6", "no Qt, no HTTP and no disk"),
    ("holaboss_app.core", "import pathlib", "no Qt, no HTTP and no disk"),
    ("holaboss_app.panes.chat", "import holaboss_app.panes.files", "A pane knows no other pane"),
    ("holaboss_app.shell", "import keyring", "one door"),
    ("holaboss_app.panes.chat", "import httpx", "never over HTTP themselves"),
    ("holaboss_app.services", "import pydantic_ai", "no server, no database"),
]


def named_modules() -> set[str]:
    """Every module of ours that a contract names and that has to exist."""
    contracts = ConfigParser()
    contracts.read(CONTRACTS, encoding="utf-8")
    names = {"holaboss_app.panes.chat", "holaboss_app.panes.files"}
    for section in contracts.values():
        container = section.get("containers", "")
        names |= {f"{container}.{layer}" for layer in section.get("layers", "").split() if layer[0] != "("}
        for key in ("source_modules", "forbidden_modules", "modules", "protected_modules"):
            names |= {
                name for name in section.get(key, "").split() if re.fullmatch(r"holaboss_[a-z_.]+", name)
            }
    return names


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """The rooms, each an empty package."""
    for module in sorted(named_modules()):
        folder = tmp_path.joinpath(*module.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        for package in (folder, *folder.parents):
            if package.is_relative_to(tmp_path) and package != tmp_path:
                (package / "__init__.py").touch()
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [linter, "--config", CONTRACTS, "--no-cache", "--no-logo"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_clean_rooms_pass(skeleton: Path) -> None:
    result = lint(skeleton)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_violation_is_named(skeleton: Path) -> None:
    for module, line, _ in VIOLATIONS:
        with (skeleton.joinpath(*module.split(".")) / "__init__.py").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    result = lint(skeleton)
    assert result.returncode == 1
    broken = [line for line in result.stdout.splitlines() if line.endswith("BROKEN")]
    for _, _, contract in VIOLATIONS:
        assert any(contract in line for line in broken), f"not noticed: {contract}\n{result.stdout}"


def test_every_contract_is_tried() -> None:
    names = re.findall(r"^name = (.+)$", CONTRACTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert names
    assert [name for name in names if not any(words in name for _, _, words in VIOLATIONS)] == []


def test_only_the_host_may_import_an_ai_sdk() -> None:
    """The contract lists its sources: a new module that it does not list would be outside the rule."""
    section = (
        CONTRACTS.read_text(encoding="utf-8").split("contract:no-ai-in-the-server]")[1].split("[import")[0]
    )
    harness = {f"holaboss_runtime.harness.{path.stem}" for path in (RUNTIME / "harness").glob("*.py")}
    rooms = {f"holaboss_runtime.{path.stem}" for path in RUNTIME.iterdir() if is_room(path)}
    # The entry point starts the host, and the command line starts the entry point.
    expected = (harness | rooms) - {
        "holaboss_runtime.harness.__init__",
        "holaboss_runtime.harness",
        "holaboss_runtime.__main__",
        "holaboss_runtime.cli",
    }
    assert sorted(name for name in expected if f"    {name}\n" not in section) == []


def test_every_room_is_in_the_layers() -> None:
    text = CONTRACTS.read_text(encoding="utf-8")
    for package in (APP, RUNTIME):
        for path in package.iterdir():
            if is_room(path):
                assert f"    {path.stem}\n" in text or f"    ({path.stem})\n" in text, path
