"""Whether the command of a local MCP server may be started: a file that names a command has not allowed it.

A local server runs with the rights of the person and nothing holds it, so it starts only when they have allowed this
very command in this workspace. Servers elsewhere run nothing here and need no consent. It starts and stops nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex

from holaboss_client.mcp import McpConsent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.mcp_consents import McpConsentRecords
from holaboss_runtime.workspace.mcp_plan import PlannedServer

LONGEST_TEXT = 16_000
"""A command that is longer cannot be looked at, so it cannot be allowed."""

NEEDED = "Somebody has to look at its command and allow it first, under Connections in the settings."
CHANGED = "Its command has changed since it was allowed: look at it and allow it again, under Connections."

_DECIDES_CODE = re.compile(
    r"(LD_.*|DYLD_.*|PATH|HOME|PYTHON(PATH|HOME|STARTUP|USERBASE)|NODE_(OPTIONS|PATH)|PERL5(LIB|OPT|DB)"
    r"|RUBY(LIB|OPT)|(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|CLASSPATH|BASH_ENV|ENV|GIT_SSH(_COMMAND)?"
    r"|NPM_CONFIG_(REGISTRY|USERCONFIG|PREFIX)|(UV|PIP)_.*(INDEX|FIND_LINKS|CONFIG).*)",
    re.IGNORECASE,
)
"""Variables that make the same command run something else: of them the value counts too, and is shown."""
_ACCESS = re.compile(r"(?<=//)[^/@\s]+@")


class McpConsents:
    """`trusted`: who runs the server owns the files, and everything in them is allowed."""

    def __init__(self, records: McpConsentRecords, *, trusted: bool = False) -> None:
        self._records = records
        self._trusted = trusted

    def why_not(self, workspace_id: str, server: PlannedServer) -> str | None:
        """A sentence; None when it may be started."""
        consent = self.shown(workspace_id, server)
        return None if consent is None else refusal(consent)

    def shown(self, workspace_id: str, server: PlannedServer) -> McpConsent | None:
        """None for a server that needs no consent."""
        if server.type != "local":
            return None
        wanted, text = fingerprint_of(server), command_text(server)[: LONGEST_TEXT + 1]
        found = self._records.find(workspace_id, server.name)
        if self._trusted:
            return McpConsent(state="trusted", fingerprint=wanted, command_text=text)
        if found is None:
            return McpConsent(state="needed", fingerprint=wanted, command_text=text)
        if found.fingerprint == wanted:
            return McpConsent(
                state="allowed", fingerprint=wanted, command_text=text, allowed_at=found.created_at
            )
        return McpConsent(
            state="changed", fingerprint=wanted, command_text=text, earlier_command_text=found.command_text
        )

    def give(self, workspace_id: str, server: PlannedServer, fingerprint: str) -> None:
        """Allow what `fingerprint` is of. Raises `DomainError` (conflict) when that is not what would be started."""
        if server.type != "local":
            raise DomainError(
                "conflict",
                "mcp_consent_not_needed",
                f"{server.name} runs nothing on this computer, so there is nothing to allow.",
            )
        if fingerprint != fingerprint_of(server):
            raise DomainError(
                "conflict",
                "mcp_consent_outdated",
                f"The command of {server.name} has changed meanwhile. Look at it again.",
            )
        text = command_text(server)
        if len(text) > LONGEST_TEXT:
            raise DomainError(
                "conflict",
                "mcp_command_too_long",
                f"The command of {server.name} is too long to be looked at. Put it into a script.",
            )
        self._records.keep(workspace_id, server.name, fingerprint, text)

    def withdraw(self, workspace_id: str, name: str) -> bool:
        """False when nothing was allowed."""
        return self._records.remove(workspace_id, name)


def refusal(consent: McpConsent) -> str | None:
    """Why a server with this consent must not be started; None when it may."""
    return {"needed": NEEDED, "changed": CHANGED}.get(consent.state)


def fingerprint_of(server: PlannedServer) -> str:
    """Of the program, its arguments and the names of its variables; not of their values, which are most often keys
    and change without the command doing anything else."""
    deciding = {name: value for name, value in server.environment.items() if _decides(name)}
    facts = [list(server.command), sorted(server.environment), sorted(deciding.items())]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def command_text(server: PlannedServer) -> str:
    """What would be started, as a shell would be given it: one line, and nothing in it that cannot be seen. Values
    of variables are left out unless they decide what runs."""
    set_before = [
        f"{name}={shlex.quote(_ACCESS.sub('…@', value)) if _decides(name) else '…'}"
        for name, value in server.environment.items()
    ]
    return _visible(" ".join([*set_before, shlex.join(server.command)]))


def _decides(name: str) -> bool:
    return _DECIDES_CODE.fullmatch(name) is not None


def _visible(text: str) -> str:
    """Line breaks and signs that turn the direction of writing would show something else than what runs."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
