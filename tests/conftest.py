"""The rules of every test: quiet logs, nothing left running, a home of its own, no network but loopback.

Deliberately free of Qt: `tests/runtime` runs where no Qt is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from holaboss_runtime.processes import keep_what_is_ignored
from tests.support.strictness import (
    KEPT,
    Homes,
    LogWatch,
    forbid_network,
    isolated_home,
    no_leaked_children,
    no_leaked_threads,
    no_unexpected_logs,
)

# How long an example takes says something about the machine, not about us. Each run looks at new examples, unless it is
# told a seed.
settings.register_profile(
    "holaboss", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("holaboss")


def pytest_configure(config: pytest.Config) -> None:
    keep_what_is_ignored()
    config.addinivalue_line(
        "markers", "allow_log(logger, substring): expect such records of WARNING and above"
    )
    forbid_network()


def pytest_collection_finish() -> None:
    KEPT.collect()


def pytest_sessionfinish() -> None:
    KEPT.look_again()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def nothing_runs_at_the_end() -> Iterator[None]:
    """What the fixtures of modules and packages started. It shows up as an error of the last test."""
    with no_leaked_children():
        yield


@pytest.fixture(scope="session")
def homes() -> Iterator[Homes]:
    homes = Homes()
    yield homes
    homes.close()


@pytest.fixture(autouse=True)
def strictness(request: pytest.FixtureRequest, homes: Homes) -> Iterator[tuple[LogWatch, Path]]:
    """Set up first, torn down last, so that it sees what every other fixture left behind."""
    with (
        isolated_home(homes) as home,
        no_leaked_threads(),
        no_leaked_children(),
        no_unexpected_logs() as logs,
    ):
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
