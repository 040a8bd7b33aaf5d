"""Builds `.venv` for one part of the checkout. Run by `scripts/setup`, which decides whether there is work.

Standard library only, because it runs before anything is installed. It never changes anything outside the
checkout, except for system packages that `system.py` installs when it is allowed to.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import system

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PARTS_WITH_QT = {"app", "dev", "package"}


def main(part: str, stamp: str) -> int:
    """Set the part up and write its stamp; returns a process exit code."""
    began = time.monotonic()
    if part in PARTS_WITH_QT and not system.ensure_libraries():
        return 1
    # Two scripts started at once must not install into one environment together.
    lock = os.open(ROOT / "requirements", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        if not ensure_venv():
            return 1
        install(part)
    except subprocess.CalledProcessError as error:
        print(
            f"Set-up stopped: `{' '.join(error.cmd[1:6])} …` failed with code {error.returncode}.",
            file=sys.stderr,
        )
        return 1
    finally:
        os.close(lock)
    (VENV / f".setup-{part}").write_text(f"{stamp}\n", encoding="utf-8")
    print(f"Ready: .venv holds the part '{part}' ({time.monotonic() - began:.0f} s).", file=sys.stderr)
    return 0


def ensure_venv() -> bool:
    """Create `.venv` unless a usable one is there; False when this Python cannot make one."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return True  # scripts/setup chose its interpreter, so it works
    if importlib.util.find_spec("ensurepip") is None and not system.ensure_package(
        f"python{sys.version_info[0]}.{sys.version_info[1]}-venv",
        "the part of Python that creates environments",
    ):
        return False
    print(f"Creating .venv with Python {sysconfig.get_python_version()}", file=sys.stderr)
    venv.create(VENV, clear=True, with_pip=True, symlinks=True)
    return True


def install(part: str) -> None:
    """Install the pinned libraries of a part, then our own packages on top of them."""
    print(f"Installing requirements/{part}.txt", file=sys.stderr)
    pip("install", "--require-hashes", "--requirement", str(ROOT / "requirements" / f"{part}.txt"))
    own = ["runtime", "app"] if part in PARTS_WITH_QT else ["runtime"]
    # pip takes no --editable beside hashes, so ours come second: without dependencies, which are all there.
    editable = [argument for name in own for argument in ("--editable", str(ROOT / name))]
    pip("install", "--no-deps", "--no-build-isolation", *editable)


def pip(*arguments: str) -> None:
    """Run the environment's pip; its settings (proxies, indexes, certificates) are the user's business."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
