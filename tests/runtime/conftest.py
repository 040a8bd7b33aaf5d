"""Fixtures of the runtime's tests. They must import neither Qt nor the desktop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.scripted_provider import ScriptedProvider


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """A real model provider on loopback that answers with the demo script until told otherwise."""
    from tests.support.scripted_provider import ScriptedProvider

    with ScriptedProvider() as running:
        yield running
