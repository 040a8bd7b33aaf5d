"""A shell for every test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.cli.agent_shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "project")
