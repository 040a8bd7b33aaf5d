"""What a subagent is given of what its owner has: fewer tools when it was handed only some, and less time.

It only ever takes away. What each call may do is decided by the permissions, which are those of the owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from holaboss_runtime.harness.contract import RunLimits
from holaboss_runtime.runs.policy import SUBAGENT
from holaboss_runtime.runs.profile import Executor
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

MCP = "mcp"
GROUPS: dict[str, tuple[str, ...]] = {
    "file": ("read", "write", "edit", "ls", "grep", "find", "write_report"),
    "terminal": ("bash", "terminal_*"),
    "web": ("web_search", "download_url"),
    MCP: (),
}
"""What a piece of work can be restricted to, as patterns of tool names."""

_ALWAYS = ("todo", "scratchpad", "skill", "question")
"""They touch nothing but the session itself."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """What one subagent was handed. Without `groups` everything."""

    groups: tuple[str, ...] = ()
    timeout_ms: int | None = None

    @property
    def allows_mcp(self) -> bool:
        return not self.groups or MCP in self.groups

    def narrowed(self, executor: Executor) -> Executor:
        """The executor with the tools that may be used."""
        if not self.groups:
            return executor
        return executor.without(*(name for name in executor.all_tools if not self._allows(name)))

    def limits(self) -> dict[str, Any]:
        """Fields of the package: never more time than any run has."""
        if self.timeout_ms is None:
            return {}
        usual = RunLimits()
        return {"limits": RunLimits(timeout_s=min(self.timeout_ms / 1000, usual.timeout_s))}

    def _allows(self, name: str) -> bool:
        patterns = (pattern for group in self.groups for pattern in GROUPS.get(group, ()))
        return name in _ALWAYS or any(fnmatchcase(name, pattern) for pattern in patterns)


def delegation_of(session: SessionRecord, records: Records) -> Delegation:
    """Of a session that is no subagent: everything."""
    record = records.subagents.get(session.session_id) if session.kind == SUBAGENT else None
    return Delegation() if record is None else Delegation(record.tools, record.timeout_ms)
