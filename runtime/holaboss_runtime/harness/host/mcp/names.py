"""What things of MCP servers are called: tools for the model, processes and log files, fingerprints of settings.

Names given by servers and by people are never trusted to be short, plain or unique. Nothing here knows a connection.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from holaboss_runtime.harness.contract import McpServerConfig
from holaboss_runtime.redaction import worth_hiding

LONGEST_NAME = 64
_LONGEST_SERVER = 28
_HASH_CHARS = 8
_ODD = re.compile(r"[^A-Za-z0-9_-]")
# Without a double or outer underscore: what stands between `mcp__` and the next `__` is one server, and only one.
_PLAIN_SERVER = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_PATH_OR_ADDRESS = re.compile(r"(?:[~./]|[A-Za-z]:[\\/]|[a-z]+://[^@]*$)")
_WORD = re.compile(r"[A-Za-z]+")


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name the model sees for each tool of a server: `mcp__<server>__<tool>`, at most `LONGEST_NAME` characters of
    `[A-Za-z0-9_-]`. A name that had to be cut, or is taken by another tool, ends with a hash of the real one."""
    start = f"mcp__{server_part(server)}__"
    plain: dict[str, str] = {}
    ordered = sorted(
        set(tools), key=lambda tool: (_ODD.search(tool) is not None, tool)
    )  # exact names come first
    taken: set[str] = set()
    for tool in ordered:
        name = _fitting(start + (_ODD.sub("_", tool) or "tool"), f"{server}\0{tool}", taken)
        taken.add(name)
        plain[tool] = name
    return plain


def server_part(server: str) -> str:
    """How a server is called within the names of its tools. Another server can never have the same."""
    if len(server) <= _LONGEST_SERVER and _PLAIN_SERVER.fullmatch(server):
        return server
    readable = re.sub(r"_+", "_", _ODD.sub("_", server)).strip("_")
    return f"{readable[: _LONGEST_SERVER - _HASH_CHARS - 1]}-{_short_hash(server)}".lstrip("-")


def _fitting(name: str, identity: str, taken: set[str]) -> str:
    if len(name) <= LONGEST_NAME and name not in taken:
        return name
    return f"{name[: LONGEST_NAME - _HASH_CHARS - 1]}-{_short_hash(identity)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]


def physical_id(server: str, folder: Path) -> str:
    """What the one instance of a server that belongs to a workspace folder is called."""
    return f"{_ODD.sub('_', server)[:40]}__{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


def fingerprint(config: McpServerConfig) -> str:
    """Changes with anything in the settings, secrets included. For memory only: short ones could be guessed from it."""
    return _digest(config.model_dump(mode="json"))


def public_fingerprint(config: McpServerConfig) -> str:
    """Of everything but the values that may be secret; for files."""
    hidden = {"environment": sorted(config.environment), "headers": sorted(config.headers)}
    command = [_masked(word, secrets_of(config)) for word in config.command]
    return _digest(config.model_dump(mode="json", exclude={"url"}) | hidden | {"command": command})


def secrets_of(server: McpServerConfig) -> list[str]:
    """The values of the settings that must not be shown, the longest first.

    Every header, and what the environment holds unless it is plainly a path, an address or a word: nobody says which
    of them are keys.
    """
    headers = [*server.headers.values(), *(value.partition(" ")[2] for value in server.headers.values())]
    environment = [
        value
        for value in server.environment.values()
        if not _PATH_OR_ADDRESS.match(value) and not _WORD.fullmatch(value)
    ]
    return worth_hiding([*headers, *environment])


def _masked(word: str, secrets: list[str]) -> str:
    return "…" if any(secret in word for secret in secrets) else word


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
