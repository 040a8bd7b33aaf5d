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
# binutils for freezing; what runs the MCP servers of the tests.
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
}

STANDARD_ERROR = 2

FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


def ensure_libraries() -> bool:
    """True when Qt can start here, after installing what was missing if that is possible."""
    if sys.platform != "linux":
        return True
    missing = {name: package for name, package in LIBRARIES.items() if not _loads(name)}
    if not _has_font():
        missing["a font"] = "fonts-dejavu-core"
    return _ensure(missing, "Qt")


def ensure_programs(names: list[str]) -> bool:
    """True when the named programs are on PATH, after installing what was missing if that is possible."""
    if sys.platform != "linux":
        return True
    return _ensure({name: PROGRAMS[name] for name in names if shutil.which(name) is None}, "this command")


def ensure_package(package: str, purpose: str) -> bool:
    """Install one package that is known to be missing."""
    return _ensure({purpose: package}, "Set-up")


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_font() -> bool:
    folders = (Path(folder).expanduser() for folder in FONT_FOLDERS)
    return any(next(folder.rglob("*.[to]t[fc]"), None) for folder in folders if folder.is_dir())


def _ensure(missing: dict[str, str], who: str) -> bool:
    if not missing:
        return True
    packages = sorted(set(missing.values()))
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    prefix = _privilege() if shutil.which("apt-get") else None
    if prefix is None:
        print(_advice(missing, who, install), file=sys.stderr)
        return False
    print(f"Installing system packages: {' '.join(packages)}", file=sys.stderr)
    updated = _apt([*prefix, "apt-get", "update"])
    if updated and _apt([*prefix, *install]):
        return True
    print(f"{who} needs: {', '.join(missing)}. apt could not install it (see above).", file=sys.stderr)
    return False


def _privilege() -> list[str] | None:
    """The words that make a command run as root without asking for a password; None if there are none."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _apt(command: list[str]) -> bool:
    # `env` behind sudo: a plain environment would not survive it.
    at = command.index("apt-get")
    quiet = [*command[:at], "env", "DEBIAN_FRONTEND=noninteractive", *command[at:], "--quiet=2"]
    # apt reports on stdout; ours belongs to the command that needed set-up.
    return subprocess.run(quiet, stdin=subprocess.DEVNULL, stdout=STANDARD_ERROR, check=False).returncode == 0


def _advice(missing: dict[str, str], who: str, install: list[str]) -> str:
    what = f"{who} needs what this machine does not have: {', '.join(missing)}."
    if shutil.which("apt-get"):
        how = f"  sudo apt-get update && sudo {shlex.join(install)}"
        return f"{what}\nInstall it with\n{how}\nand start this command again."
    return f"{what}\nInstall it with your package manager and start this command again."


if __name__ == "__main__":
    sys.exit(0 if ensure_programs(sys.argv[1:]) else 1)
