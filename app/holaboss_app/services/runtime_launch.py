"""How the runtime is started: which program, and the environment it is given. Pure; starts nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HOLABOSS_RUNTIME_CONFIG_PATH", "HOLABOSS_MODEL_PROXY_BASE_URL", "HOLABOSS_DEFAULT_MODEL",
    "HB_HARNESS_HOSTS", "HOLABOSS_LOCAL_SERVER_PORTS",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
    "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
)  # fmt: skip


COMMANDS = frozenset({"agent", "state-store"})
"""What the runtime's program does for a shell."""


def runtime_command(*arguments: str) -> list[str]:
    """The runtime beside this program: the sibling executable when frozen, else its module. It serves by default."""
    words = arguments or ("serve",)
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"holaboss-runtime{suffix}")), *words]
    return [sys.executable, "-m", "holaboss_runtime", *words]


def command_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command a person typed: theirs, without what a frozen start added to it."""
    kept = {name: value for name, value in inherited.items() if not name.startswith("_PYI_")}
    if getattr(sys, "frozen", False):
        original = kept.pop("LD_LIBRARY_PATH_ORIG", None)
        kept.pop("LD_LIBRARY_PATH", None)
        if original:
            kept["LD_LIBRARY_PATH"] = original
    return kept


def runtime_environment(sandbox_root: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """A built environment: what a program needs to run at all, and the launch contract of the runtime.

    No key and no token is ever in it, whatever `inherited` holds; they go down the pipe. `LD_LIBRARY_PATH`
    is what it was before a frozen start changed it.
    """
    passed = {name: inherited[name] for name in _PASSED_ON if name in inherited}
    passed |= {name: value for name, value in inherited.items() if name.startswith("LC_")}
    frozen = bool(getattr(sys, "frozen", False))
    library_path = inherited.get("LD_LIBRARY_PATH_ORIG" if frozen else "LD_LIBRARY_PATH")
    if library_path:
        passed["LD_LIBRARY_PATH"] = library_path
    if not frozen and "PYTHONPATH" in inherited:
        passed["PYTHONPATH"] = inherited["PYTHONPATH"]
    return passed | {
        "HB_SANDBOX_ROOT": str(sandbox_root),
        "SANDBOX_AGENT_BIND_HOST": "127.0.0.1",
        "SANDBOX_AGENT_BIND_PORT": "0",
        "SANDBOX_AGENT_HARNESS": "native",
        "HOLABOSS_EMBEDDED_RUNTIME": "1",
    }
