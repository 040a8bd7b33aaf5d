"""A running session core for every test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holaboss_runtime.sessions import subagent_reports
from tests.runtime.sessions.core import Core, running_core
from tests.runtime.sessions.subagent_office import TOGETHER_S, Office


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with running_core(tmp_path) as running:
        yield running


@pytest.fixture
async def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Office]:
    monkeypatch.setattr(subagent_reports, "COALESCE_S", TOGETHER_S)
    async with running_core(tmp_path, concurrency=20) as core:
        yield Office(core)
