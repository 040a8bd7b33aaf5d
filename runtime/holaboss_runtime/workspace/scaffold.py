"""What a new workspace contains: enough to run at once, and nothing a person has to delete first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holaboss_client.base import utc_now
from holaboss_runtime.workspace.marker import write_marker
from holaboss_runtime.workspace.plan import PLAN_FILE, POLICY_FILE

_POLICY = """\
# {name}

This file is the standing brief of this workspace. The agent reads it before every task.

Write here what it should know and hold to: what the workspace is for, how you want things done, what it must never do.
"""


def write_scaffold(folder: Path, workspace_id: str, name: str) -> None:
    """Create the folder and its first files; files that are there already are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    write_marker(folder, workspace_id)
    (folder / "skills").mkdir(exist_ok=True)
    _write_new(folder / PLAN_FILE, _plan(name))
    _write_new(folder / POLICY_FILE, _POLICY.format(name=name))


def _plan(name: str) -> str:
    import yaml

    document: dict[str, Any] = {
        "name": name,
        "created_at": utc_now(),
        "agents": {"id": "workspace.general", "model": None},
        "mcp_registry": {"allowlist": {"tool_ids": []}, "servers": {}},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _write_new(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text, "utf-8")
