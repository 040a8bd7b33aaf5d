"""What a command may not write although its workspace is writable: whatever the file tools would ask about."""

from __future__ import annotations

from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy

PLAN = "workspace.yaml"
_DECISIVE = {
    "AGENTS.md": "AGENTS.md",
    "skills": "skills/any/SKILL.md",
    ".agents": ".agents/skills/any/SKILL.md",
    "apps": "apps/any/app.runtime.yaml",
}
"""What decides about later runs, and a path in it as a tool would write it."""


def decisive_names(policy: PermissionPolicy) -> tuple[str, ...]:
    """Names in the workspace: the plan, which decides what runs, and whatever the file tools would not write without
    asking. They are the way to change it."""
    asked = (
        name for name, path in _DECISIVE.items()
        if decide(policy, CallFacts("write", writes=(path,))).effect != "always_allow"
    )  # fmt: skip
    return (PLAN, *asked)
