"""The few things only the operating system can provide: Qt's shared libraries, a font, a virtual display.

Checks by trying (loading a library, looking for a program), installs through apt when that needs no password,
and otherwise prints the exact command. It knows no other package manager and does nothing on macOS.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

# Shared library -> Debian/Ubuntu package. The packages pull in every other library that Qt's wheel links to.
LIBRARIES = {
    "libdbus-1.so.3": "libdbus-1-3",
    "libEGL.so.1": "libegl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libGL.so.1": "libgl1",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}

# Program -> package: a display, a session bus and a keychain for the end-to-end tests, the sandbox of commands;
# binutils for freezing; what runs the MCP servers of the tests, and what commands of the tests get out with.
PROGRAMS = {
    "Xvfb": "xvfb",
    "xvfb-run": "xvfb",
    "xauth": "xauth",
    "dbus-daemon": "dbus",
    "dbus-send": "dbus",
    "dbus-run-session": "dbus",
    "gnome-keyring-daemon": "gnome-keyring",
    "bwrap": "bubblewrap",
    "objdump": "binutils",
    "node": "nodejs",
    "npm": "npm",
    "curl": "curl",
}

INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends"]
REPAIR = ["dpkg", "--configure", "-a"]
PATIENCE = ["-o", "DPkg::Lock::Timeout=300"]

FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


def missing_libraries() -> dict[str, str]:
    """What Qt needs and this machine lacks: library -> package."""
    if sys.platform != "linux":
        return {}
    missing = {name: package for name, package in LIBRARIES.items() if not _loads(name)}
    if not _has_font():
        missing["a font"] = "fonts-dejavu-core"
    return missing


def missing_programs(names: list[str]) -> dict[str, str]:
    """Those of the programs that are not on PATH: program -> package."""
    return {name: PROGRAMS[name] for name in names if shutil.which(name) is None}


def ensure(missing: dict[str, str]) -> bool:
    """Install what is missing if that needs no password; otherwise say how a person does it, and False."""
    if not missing:
        return True
    packages = sorted(set(missing.values()))
    prefix = _privilege() if shutil.which("apt-get") else None
    if prefix is None:
        print(_advice(missing, packages), file=sys.stderr)
        return False
    print(f"Installing system packages: {' '.join(packages)}", file=sys.stderr)
    # A list that cannot be renewed (somebody else's, out of date) may still be good enough.
    updated = _apt(prefix, ["apt-get", "update"])
    installed = _apt(prefix, [*INSTALL, *packages])
    if installed.returncode != 0 and shlex.join(REPAIR) in installed.stdout:
        # Somebody ended an earlier installation in the middle.
        repaired = _as_root(prefix, REPAIR)
        print(repaired.stdout, end="", file=sys.stderr)
        installed = _apt(prefix, [*INSTALL, *packages])
    if installed.returncode == 0:
        return True
    print(f"{updated.stdout}{installed.stdout}", end="", file=sys.stderr)
    print(f"apt could not install what is needed (see above): {', '.join(missing)}.", file=sys.stderr)
    return False


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_font() -> bool:
    folders = (Path(folder).expanduser() for folder in FONT_FOLDERS)
    return any(next(folder.rglob("*.[to]t[fc]"), None) for folder in folders if folder.is_dir())


def _privilege() -> list[str] | None:
    """The words that make a command run as root without asking for a password; None if there are none."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _apt(prefix: list[str], command: list[str]) -> subprocess.CompletedProcess[str]:
    # A new machine installs its updates by itself at first: wait for that.
    return _as_root(prefix, [*command, "--quiet=2", *PATIENCE])


def _as_root(prefix: list[str], command: list[str]) -> subprocess.CompletedProcess[str]:
    # `env` behind sudo: a plain environment would not survive it.
    return subprocess.run(
        [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _advice(missing: dict[str, str], packages: list[str]) -> str:
    what = f"Holaboss needs what this machine does not have: {', '.join(missing)}."
    if not shutil.which("apt-get"):
        return f"{what}\nInstall it with your package manager and start this command again."
    install = shlex.join([*INSTALL, *packages])
    if shutil.which("sudo"):
        how = f"sudo apt-get update && sudo {install}"
    else:
        how = f"su -c {shlex.quote(f'apt-get update && {install}')}"
    return f"{what}\nInstall it with\n  {how}\nand start this command again."


if __name__ == "__main__":
    sys.exit(0 if ensure(missing_programs(sys.argv[1:])) else 1)
