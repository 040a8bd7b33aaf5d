"""Installs the real MCP servers that tests talk to into `.venv/mcp-servers`, pinned with hashes. Run by `scripts/test`.

Does nothing when nothing changed since the last time. Needs npm; says how to get it where it is missing.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import system

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv" / "mcp-servers"
REQUIREMENTS = ROOT / "requirements" / "mcp-servers.txt"
PACKAGE = ROOT / "tests" / "support" / "mcp_servers"


def main() -> int:
    """Returns a process exit code."""
    stamp, current = FOLDER / "stamp", _stamp()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == current:
        return 0
    if not system.ensure(system.missing_programs(["node", "npm"])):
        return 1
    print("Installing the MCP servers for the tests", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        _install()
    except subprocess.CalledProcessError as error:
        print(f"`{' '.join(error.cmd[:4])} …` failed with code {error.returncode}.", file=sys.stderr)
        return 1
    stamp.write_text(current, encoding="utf-8")
    return 0


def _install() -> None:
    venv.create(FOLDER / "python", with_pip=True, symlinks=True)
    python = FOLDER / "python" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _run([*pip, "install", "--require-hashes", "--requirement", str(REQUIREMENTS)], FOLDER)
    node = FOLDER / "node"
    node.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGE / name, node / name)
    _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], node)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, cwd=folder)


def _stamp() -> str:
    files = [REQUIREMENTS, PACKAGE / "package-lock.json"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files) + str(ROOT).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
