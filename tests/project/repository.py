"""Where things are in this repository, for the tests that read it."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RUNTIME = ROOT / "runtime" / "holaboss_runtime"
APP = ROOT / "app" / "holaboss_app"


def python_files(*folders: Path) -> list[Path]:
    """Every Python source below the folders."""
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def text_files() -> list[Path]:
    """Every text file that is, or would be, under version control."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    binary = {".png", ".ico", ".icns", ".ttf", ".otf", ".woff2"}
    paths = [ROOT / name for name in names if name]
    return [path for path in paths if path.suffix not in binary and path.is_file() and path.stat().st_size]


def documentation() -> str:
    """All documents in one string."""
    return "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)


def is_room(path: Path) -> bool:
    """Whether this is a module or a folder of modules of its package."""
    if path.is_dir():
        return any(path.glob("*.py"))
    return path.suffix == ".py" and path.stem != "__init__"


def load(path: Path) -> ModuleType:
    """A module that belongs to no package: one of the scripts' or of packaging."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
