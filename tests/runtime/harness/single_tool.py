"""The sandbox of a run that has one tool, for tests of that tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.base import HostTool
from tests.runtime.harness.conftest import local_sandbox


def sandbox_with(workspace: Path, *tools: HostTool, **fields: Any) -> LocalSandbox:
    """`fields` are of the package."""
    return local_sandbox(workspace, tools={tool.name: tool for tool in tools}, **fields)
