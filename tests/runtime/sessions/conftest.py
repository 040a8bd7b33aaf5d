"""A running session core for every test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runtime.sessions.core import Core, running_core
from tests.runtime.sessions.subagent_office import Office


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with running_core(tmp_path) as running:
        yield running


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with running_core(tmp_path, concurrency=20) as core:
        yield Office(core)
