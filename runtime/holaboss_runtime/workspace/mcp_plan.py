"""`mcp_registry` of `workspace.yaml`: which MCP servers a workspace has, and which of their tools it lets in.

What is written is checked here and stays as it was written: `{env:NAME}` is filled in when a run starts, by whoever may
know what NAME stands for (`harness.mcp_resolve`).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from holaboss_runtime.errors import DomainError

SECTION = "mcp_registry"
CATALOG_SERVER = "workspace"
"""Its tools would be modules of the workspace itself; it needs no entry, and this version has none."""

MAX_SERVERS = 64
MAX_TOOLS = 1_000
MAX_PARTS = 256
MAX_TEXT = 8 * 1024
DEFAULT_TIMEOUT_S = 30.0
LONGEST_TIMEOUT_MS = 600_000

PLACEHOLDER = re.compile(r"\{env:([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SERVER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TOOL_ID = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_./-]{1,128}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")

_RENAME = "Rename the server, or put its id in quotes: YAML reads some words as true or false."

Fields = dict[object, object]
Transport = Literal["auto", "http", "sse"]


@dataclass(frozen=True, slots=True)
class PlannedServer:
    """As it is written. A local one has a `command`, a remote one a `url`."""

    name: str
    type: Literal["local", "remote"]
    enabled: bool = True
    command: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    transport: Transport = "auto"
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class McpPlan:
    """`tool_ids` are `server.tool`, in the order of the file; a server that none names is let in with all its tools."""

    servers: tuple[PlannedServer, ...] = ()
    tool_ids: tuple[str, ...] = ()

    def find(self, name: str) -> PlannedServer | None:
        return next((server for server in self.servers if server.name == name), None)


def read_mcp(document: dict[str, Any]) -> McpPlan:
    """Raises `DomainError` (`unprocessable`) with a code of the workspace contract, `path` and `hint`."""
    registry = _mapping(document.get(SECTION), SECTION)
    written = _mapping(registry.get("servers"), f"{SECTION}.servers")
    if len(written) > MAX_SERVERS:
        raise _bad(f"{SECTION}.servers", f"There are more than {MAX_SERVERS} servers.", "Remove some.")
    allowlist = _mapping(registry.get("allowlist"), f"{SECTION}.allowlist")
    tool_ids = _tool_ids(allowlist.get("tool_ids"), {str(name) for name in written})
    return McpPlan(tuple(_server(name, entry) for name, entry in written.items()), tool_ids)


def placeholders(text: str) -> list[str]:
    """The names in it, in order."""
    return PLACEHOLDER.findall(text)


def _server(name: object, entry: object) -> PlannedServer:
    path = f"{SECTION}.servers.{str(name)[:80]}"
    if not isinstance(name, str) or not _SERVER_ID.fullmatch(name):
        raise _bad(path, "A server id has letters, digits, `_` and `-` only.", _RENAME)
    fields = _mapping(entry, path)
    kind: object = fields.get("type")
    if kind is None:
        kind = "remote" if "url" in fields else "local"
    enabled: object = fields.get("enabled", True)
    if not isinstance(enabled, bool):
        raise _bad(f"{path}.enabled", "This must be true or false.", "Write `enabled: true`.")
    if kind == "local":
        return PlannedServer(
            name,
            "local",
            enabled,
            command=_command(fields, path),
            environment=_environment(fields, path),
            timeout_s=_timeout(fields, path),
        )
    if kind == "remote":
        return PlannedServer(
            name,
            "remote",
            enabled,
            url=_url(fields.get("url"), f"{path}.url"),
            headers=_headers(fields.get("headers"), f"{path}.headers"),
            transport=_transport(fields.get("transport"), f"{path}.transport"),
            timeout_s=_timeout(fields, path),
        )
    raise _bad(f"{path}.type", "A server is `local` or `remote`.", "Write `type: local` with a `command`.")


def _command(fields: Fields, path: str) -> tuple[str, ...]:
    """The program and its arguments; a text is split as a shell would, and nothing else of a shell happens."""
    written: object = fields.get("command")
    path = f"{path}.command"
    hint = "Write the program and its arguments as a list, such as [uvx, mcp-server-time]."
    if isinstance(written, str):
        try:
            parts = shlex.split(written)
        except ValueError as error:
            raise _bad(path, "The quotes of this command do not match.", hint) from error
    else:
        parts = _texts(written, path, hint)
    parts += _texts(fields.get("args") or [], path.replace(".command", ".args"), hint)
    if not parts or not parts[0] or len(parts) > MAX_PARTS:
        raise _bad(path, "A local server needs a command.", hint)
    if placeholders(parts[0]):
        raise _bad(path, "The program itself must be written out.", "Use placeholders in its environment.")
    return tuple(_checked(part, path) for part in parts)


def _texts(written: object, path: str, hint: str) -> list[str]:
    parts = cast("list[object]", written) if isinstance(written, list) else [None]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts):
        raise _bad(path, "This must be a list of texts.", hint)
    return [str(part) for part in parts]


def _environment(fields: Fields, path: str) -> dict[str, str]:
    if "environment" in fields and "env" in fields:
        raise _bad(f"{path}.env", "`environment` and `env` are the same.", "Keep one of them.")
    key = "env" if "env" in fields else "environment"
    found: dict[str, str] = {}
    for name, value in _mapping(fields.get(key), f"{path}.{key}").items():
        where = f"{path}.{key}.{str(name)[:80]}"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _bad(where, "This is no name of a variable.", "Use letters, digits and `_`.")
        found[name] = _checked(_scalar(value, where), where)
    return found


def _headers(written: object, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _mapping(written, path).items():
        where = f"{path}.{str(name)[:80]}"
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise _bad(where, "This is no name of a header.", "Write it as in `Authorization`.")
        text = _checked(_scalar(value, where), where)
        if not text.isprintable():
            raise _bad(where, "A header is one line.", "Remove the line break.")
        found[name] = text
    return found


def _url(written: object, path: str) -> str:
    hint = "Write an address such as https://example.com/mcp."
    if not isinstance(written, str):
        raise _bad(path, "A remote server needs an address.", hint)
    text = _checked(written.strip(), path)
    try:
        parts = urlsplit(PLACEHOLDER.sub("x", text))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() for sign in text):
        raise _bad(path, "This is no http or https address, or it has a user name in it.", hint)
    if placeholders(text.partition("?")[0].partition("://")[2].partition("/")[0]):
        raise _bad(path, "The host must be written out.", "A placeholder may stand behind it.")
    return text


def _transport(written: object, path: str) -> Transport:
    if written is None:
        return "auto"
    if written not in ("auto", "http", "sse"):
        raise _bad(path, "This is `auto`, `http` or `sse`.", "Leave it out to have it found out.")
    return written


def _timeout(fields: Fields, path: str) -> float:
    """Both keys are milliseconds."""
    key = "timeout_ms" if "timeout_ms" in fields else "timeout"
    written: object = fields.get(key)
    if written is None:
        return DEFAULT_TIMEOUT_S
    fits = isinstance(written, int) and not isinstance(written, bool) and 100 <= written <= LONGEST_TIMEOUT_MS
    if not fits:
        raise _bad(
            f"{path}.{key}",
            f"This is a number of milliseconds from 100 to {LONGEST_TIMEOUT_MS}.",
            "Correct it.",
        )
    return cast("int", written) / 1000


def _tool_ids(written: object, servers: set[str]) -> tuple[str, ...]:
    path = f"{SECTION}.allowlist.tool_ids"
    if written is None:
        return ()
    listed = cast("list[object]", written) if isinstance(written, list) else None
    if listed is None or len(listed) > MAX_TOOLS:
        raise _bad_tool(path, "something else", "`tool_ids` must be a list, and not an endless one")
    found: list[str] = []
    for tool in listed:
        if not isinstance(tool, str) or not _TOOL_ID.fullmatch(tool):
            raise _bad_tool(path, tool, "A tool id looks like `server.tool`")
        if tool in found:
            raise _bad_tool(path, tool, "A tool is listed twice")
        server = tool.partition(".")[0]
        if server not in servers and server != CATALOG_SERVER:
            raise invalid(
                "workspace_mcp_server_unknown",
                path,
                f"`{tool}` names the server `{server}`, which is not under `{SECTION}.servers`.",
                "Add the server or remove the tool.",
            )
        found.append(tool)
    return tuple(found)


def _mapping(written: object, path: str) -> Fields:
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise invalid(
            "workspace_config_invalid", path, "This must be a mapping.", "Write keys and values below it."
        )
    return cast("Fields", written)


def _scalar(value: object, path: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise _bad(path, "This must be a text.", "Put it in quotes.")
    return str(value)


def _checked(text: str, path: str) -> str:
    if len(text) > MAX_TEXT or "\x00" in text:
        raise _bad(path, "This is too long, or has a NUL in it.", "Shorten it.")
    for name in placeholders(text):
        if not _NAME.fullmatch(name):
            raise invalid(
                "workspace_mcp_placeholder_invalid",
                path,
                f"`{{env:{name[:80]}}}` names nothing that could be there.",
                "A name has letters, digits and `_`, as in {env:GITHUB_TOKEN}.",
            )
    return text


def _bad(path: str, sentence: str, hint: str) -> DomainError:
    return invalid("workspace_mcp_server_invalid", path, sentence, hint)


def _bad_tool(path: str, tool: object, sentence: str) -> DomainError:
    return invalid(
        "workspace_mcp_tool_id_invalid", path, f"{sentence}; found {str(tool)[:80]!r}.", "Correct the entry."
    )


def invalid(code: str, path: str, sentence: str, hint: str) -> DomainError:
    return DomainError("unprocessable", code, f"{path}: {sentence} {hint}", path=path, hint=hint)
