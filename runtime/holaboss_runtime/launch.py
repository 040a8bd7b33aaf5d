"""How a server is started: the environment contract, the first line of its stdin, and what can be wrong with
them.

It opens nothing but the folders of the sandbox root and the token file.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from holaboss_client.handshake import Hello, StartFailure
from holaboss_runtime.config.environment import MCP_CONSENT, MCP_TRUSTED, Environment, take_environment
from holaboss_runtime.harness.registry import DEFAULT, HARNESSES

STANDALONE_ROOT = "/holaboss"
STANDALONE_PORT = 8080
MAX_HELLO_BYTES = 1024 * 1024
MIN_TOKEN = 16
APPROVAL_VARIABLE, APPROVAL_S = "HOLABOSS_APPROVAL_EXPIRY_S", 86_400


class StartError(Exception):
    """The server cannot start. Codes are those of `StartFailure`; the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def as_failure(self) -> StartFailure:
        return StartFailure(code=self.code, message=str(self))


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything the environment says. `port` 0: the system chooses; `token` is None when none was given; an approval
    that nobody gives within `approval_s` seconds is a no."""

    root: Path
    host: str
    port: int
    embedded: bool
    database_path: Path
    config_path: Path
    harness: str
    hosts: int
    concurrency: int
    approval_s: float
    allowed_hosts: tuple[str, ...]
    bridge_requested: bool
    environment: Environment = field(repr=False)
    token: str | None = field(default=None, repr=False)

    @property
    def state_folder(self) -> Path:
        return self.root / "state"


def read_launch(environ: MutableMapping[str, str]) -> Launch:
    """Read the environment and take the secrets out of it. Raises `StartError`."""
    embedded = _flag(environ, "HOLABOSS_EMBEDDED_RUNTIME")
    root = _path(environ, "HB_SANDBOX_ROOT", Path(STANDALONE_ROOT))
    harness = environ.get("SANDBOX_AGENT_HARNESS", "").strip() or DEFAULT
    if not HARNESSES.knows(harness):
        known = ", ".join(repr(name) for name in HARNESSES.names)
        raise StartError(
            "settings_invalid", f"SANDBOX_AGENT_HARNESS is {harness!r}; this version knows {known}."
        )
    _check_mcp_consent(environ, embedded=embedded)
    state = root / "state"
    return Launch(
        root=root,
        host=environ.get("SANDBOX_AGENT_BIND_HOST", "").strip() or "127.0.0.1",
        port=_number(environ, "SANDBOX_AGENT_BIND_PORT", 0 if embedded else STANDALONE_PORT, 0, 65535),
        embedded=embedded,
        database_path=_path(environ, "HOLABOSS_RUNTIME_DB_PATH", state / "runtime.db"),
        config_path=_path(environ, "HOLABOSS_RUNTIME_CONFIG_PATH", state / "runtime-config.json"),
        harness=harness,
        hosts=_number(environ, "HB_HARNESS_HOSTS", 1, 1, 64),
        concurrency=_number(environ, "HB_QUEUE_WORKER_CONCURRENCY", 5, 1, 256),
        approval_s=float(_number(environ, APPROVAL_VARIABLE, APPROVAL_S, 1, 30 * 86_400)),
        allowed_hosts=tuple(environ.get("HOLABOSS_ALLOWED_HOSTS", "").split(",")),
        bridge_requested=_flag(environ, "PROACTIVE_ENABLE_REMOTE_BRIDGE"),
        environment=take_environment(environ, embedded=embedded),
        token=environ.pop("HOLABOSS_RUNTIME_TOKEN", "").strip() or None,
    )


def prepare_root(launch: Launch) -> None:
    """Make the folders a server needs, private to its user. Raises `StartError` `root_not_writable`."""
    try:
        launch.root.mkdir(parents=True, exist_ok=True)
        for folder in (launch.state_folder, launch.root / "workspace"):
            folder.mkdir(mode=0o700, exist_ok=True)
        launch.state_folder.chmod(0o700)
        launch.database_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(launch.state_folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        is_file = isinstance(error, (FileExistsError, NotADirectoryError))
        reason = f"{error.filename} is not a folder" if is_file else error.strerror
        raise StartError(
            "root_not_writable",
            f"{launch.root} cannot be used ({reason}). Set HB_SANDBOX_ROOT to a writable folder.",
        ) from error


def read_hello() -> Hello:
    """The first line of stdin of an embedded runtime. Raises `StartError` `handshake_invalid`."""
    line = b""
    while b"\n" not in line and len(line) <= MAX_HELLO_BYTES:
        chunk = os.read(0, 65536)  # unbuffered: what watches stdin later must not find it half read
        if not chunk:
            break
        line += chunk
    try:
        hello = Hello.model_validate_json(line.partition(b"\n")[0])
    except ValidationError:
        hello = None
    if hello is None or not _usable(hello.token):
        # Neither the line nor the error is shown: they may hold the token.
        raise StartError("handshake_invalid", "The first line of stdin is not a valid handshake.")
    return hello


def standalone_token(launch: Launch) -> tuple[str, str]:
    """The token and where it comes from, for the log. Raises `StartError`."""
    if launch.token is not None:
        if not _usable(launch.token) or len(launch.token) < MIN_TOKEN:
            raise StartError(
                "settings_invalid",
                f"HOLABOSS_RUNTIME_TOKEN must be at least {MIN_TOKEN} characters of printable ASCII without spaces."
                " `openssl rand -hex 32` makes one.",
            )
        return launch.token, "HOLABOSS_RUNTIME_TOKEN"
    path = launch.state_folder / "runtime-token"
    try:
        token = _stored_token(path)
    except OSError as error:
        raise StartError("root_not_writable", f"{path} cannot be used ({error.strerror}).") from error
    if not _usable(token):
        raise StartError(
            "settings_invalid", f"{path} holds no valid token. Delete it; a new one is made at start."
        )
    return token, str(path)


def _stored_token(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            path.chmod(0o600)  # who can read it can do everything this server can
        return path.read_text("utf-8", errors="replace").strip()
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(token + "\n")
    return token


def _usable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _check_mcp_consent(environ: MutableMapping[str, str], *, embedded: bool) -> None:
    """To start what a file names unasked is for who runs a server and owns its files, never for a desktop."""
    wanted = environ.get(MCP_CONSENT, "").strip()
    if wanted not in ("", MCP_TRUSTED):
        raise StartError(
            "settings_invalid", f"{MCP_CONSENT} is {wanted!r}. It can be {MCP_TRUSTED!r}, or be left out."
        )
    if wanted and embedded:
        raise StartError(
            "settings_invalid",
            f"{MCP_CONSENT} is for servers that run by themselves. Remove it: under a desktop a person is asked.",
        )


def _flag(environ: MutableMapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def _path(environ: MutableMapping[str, str], name: str, default: Path) -> Path:
    given = environ.get(name, "").strip()
    try:
        return Path(given).expanduser().absolute() if given else default.absolute()
    except RuntimeError as error:  # a home nobody has
        raise StartError("settings_invalid", f"{name} is {given[:200]!r}, which leads nowhere.") from error


def _number(environ: MutableMapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or not low <= int(text) <= high:
        raise StartError(
            "settings_invalid", f"{name} is {text[:40]!r}; it must be a number from {low} to {high}."
        )
    return int(text)


def local_url(host: str, port: int) -> str:
    """Where programs on this machine reach a server that is bound to `host`: nobody can call "every address"."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def say(line: str) -> None:
    """Write the one line of the handshake to stdout; all further output goes to stderr."""
    try:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    finally:
        sys.stdout = sys.stderr
