"""What an operation is: a function from a request to something JSON can say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from holaboss_runtime.cli.state_store.context import Context
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.store.family import Record

Reply = Any


@dataclass(frozen=True, slots=True)
class Operation:
    """`asks_for_work`: a server beside us should look at its queue afterwards."""

    run: Callable[[Context, Request], Reply]
    asks_for_work: bool = False


def record(found: Record | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def records(found: Iterable[Record]) -> list[dict[str, Any]]:
    return [asdict(item) for item in found]
