"""The rules of every test: quiet logs, nothing left running, a home of its own, no network but loopback.

Deliberately free of Qt: `tests/runtime` runs where no Qt is installed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.strictness import (
    LogWatch,
    forbid_network,
    isolated_home,
    no_leaked_children,
    no_leaked_threads,
    no_unexpected_logs,
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "allow_log(logger, substring): expect such records of WARNING and above"
    )
    forbid_network()


def pytest_collection_finish() -> None:
    # What is imported by now stays: freezing it makes the collection after each test cheap.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def strictness(request: pytest.FixtureRequest) -> Iterator[tuple[LogWatch, Path]]:
    """Set up first, torn down last, so that it sees what every other fixture left behind."""
    with isolated_home() as home, no_leaked_threads(), no_leaked_children(), no_unexpected_logs() as logs:
        for marker in request.node.iter_markers("allow_log"):
            logs.allow(*marker.args)
        yield logs, home


@pytest.fixture
def allow_log(strictness: tuple[LogWatch, Path]) -> Callable[..., None]:
    """`allow_log("logger", "part of the message")`: the records this test provokes on purpose."""
    return strictness[0].allow


@pytest.fixture
def home(strictness: tuple[LogWatch, Path]) -> Path:
    """The home directory of this test; `HOME` and the XDG variables point into it."""
    return strictness[1]
