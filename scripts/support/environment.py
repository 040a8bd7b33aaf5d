"""Builds `.venv` for one part of the checkout. Run by `scripts/setup`, which decides whether there is work.

Standard library only, because it runs before anything is installed. It never changes anything outside the
checkout, except for system packages that `system.py` installs when it is allowed to.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import system

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# There while something changes the environment: what was interrupted is not repaired but built anew.
UNFINISHED = VENV / ".unfinished"
PARTS_WITH_QT = {"app", "dev", "package"}
INTERRUPTED = 130


def main(part: str, stamp: str, programs: list[str]) -> int:
    """Set the part up and write its stamp; returns a process exit code."""
    try:
        return _set_up(part, stamp, programs)
    except subprocess.CalledProcessError as error:
        reason = (
            f"`{' '.join(str(word) for word in error.cmd)}` failed with code {error.returncode} (see above)"
        )
    except OSError as error:
        reason = str(error)
    except KeyboardInterrupt:
        print("Set-up was interrupted. Start the same command again.", file=sys.stderr)
        return INTERRUPTED
    print(f"Set-up stopped: {reason}.\nOnce that is mended, start the same command again.", file=sys.stderr)
    return 1


def _set_up(part: str, stamp: str, programs: list[str]) -> int:
    began = time.monotonic()
    if not system.ensure(_needs(part, programs)):
        return 1
    with _alone():
        done = VENV / f".setup-{part}"
        if not (_works() and done.is_file() and done.read_text(encoding="utf-8").strip() == stamp):
            if not _works():
                _create()
            UNFINISHED.touch()
            _install(part)
            _write_stamp(done, stamp)
            UNFINISHED.unlink()
    print(f"Ready: .venv holds the part '{part}' ({time.monotonic() - began:.0f} s).", file=sys.stderr)
    return 0


def _needs(part: str, programs: list[str]) -> dict[str, str]:
    """What this machine lacks, all of it at once, so that a person is asked once: what it is -> its package."""
    needs = system.missing_programs(programs)
    if part in PARTS_WITH_QT:
        needs |= system.missing_libraries()
    if not _works() and importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        needs["the part of Python that makes environments"] = f"python{version}-venv"
    return needs


@contextmanager
def _alone() -> Generator[None]:
    """Two scripts started at once must not install into one environment together: the second one waits."""
    lock = os.open(ROOT / "requirements", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _works() -> bool:
    """Whether `.venv` is whole and can install; after an upgrade of the system its Python may be another one."""
    if UNFINISHED.exists() or not os.access(PYTHON, os.X_OK):
        return False
    asked = subprocess.run(
        [PYTHON, "-c", "import pip"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return asked.returncode == 0


def _create() -> None:
    # By its full name: `python3` may be another version one day, and the environment would not notice.
    python = Path(sys.executable).resolve()
    print(f"Creating .venv with Python {sys.version.split()[0]}", file=sys.stderr)
    if VENV.exists():
        shutil.rmtree(VENV)
    VENV.mkdir()
    UNFINISHED.touch()
    subprocess.run([python, "-m", "venv", "--symlinks", VENV], check=True, stdin=subprocess.DEVNULL)


def _install(part: str) -> None:
    """Install the pinned libraries of a part from the index pip is set up for, then our own packages."""
    print(f"Installing requirements/{part}.txt (the first time this takes minutes)", file=sys.stderr)
    _pip("install", "--require-hashes", "--requirement", str(ROOT / "requirements" / f"{part}.txt"))
    own = ["runtime", "app"] if part in PARTS_WITH_QT else ["runtime"]
    # pip takes no --editable beside hashes, so ours come second: without dependencies, which are all there.
    editable = [argument for name in own for argument in ("--editable", str(ROOT / name))]
    _pip("install", "--no-deps", "--no-build-isolation", *editable)


def _pip(*arguments: str) -> None:
    """Run the environment's pip; its settings (proxies, indexes, certificates) are the user's business."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _write_stamp(done: Path, stamp: str) -> None:
    """Say that the part is there, and no longer that parts of other pins are."""
    for other in VENV.glob(".setup-*"):
        if other.read_text(encoding="utf-8").strip() != stamp:
            other.unlink()
    done.write_text(f"{stamp}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
