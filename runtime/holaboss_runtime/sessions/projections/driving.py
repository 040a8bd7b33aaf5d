"""One procedure for a server and for a program without a loop.

A procedure is a generator: it reads and writes the database itself, and yields each piece of file work, which gets
plain data and returns plain data. `drive` runs the work in threads, so that a slow disk does not hold up the loop;
`drive_now` runs it in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from holaboss_runtime.errors import DomainError

Work = Callable[[], Any]
_Result = TypeVar("_Result")
Procedure = Generator[Work, Any, _Result]


async def drive(procedure: Procedure[_Result]) -> _Result:
    """Cancelled, it ends once the piece of work in hand is done: nobody may write behind a lock that is gone."""
    try:
        work = next(procedure)
        while True:
            try:
                result = await _in_thread(work)
            except (OSError, DomainError) as error:
                work = procedure.throw(error)
            else:
                work = procedure.send(result)
    except StopIteration as end:
        return end.value
    finally:
        procedure.close()


def drive_now(procedure: Procedure[_Result]) -> _Result:
    try:
        work = next(procedure)
        while True:
            try:
                result = work()
            except (OSError, DomainError) as error:
                work = procedure.throw(error)
            else:
                work = procedure.send(result)
    except StopIteration as end:
        return end.value
    finally:
        procedure.close()


async def _in_thread(work: Work) -> Any:  # noqa: ANN401
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
