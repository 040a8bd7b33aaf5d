from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.agents.place import Place, agent_place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with agent_place(tmp_path) as made:
        yield made
