"""The only place that starts a task. Every object that runs coroutines owns one `Tasks` and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Report = Callable[[BaseException], None]


class Tasks:
    """Keeps tasks alive, reports what they raise, cancels what is left when its owner goes."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[Any]] = set()
        self._keyed: dict[str, asyncio.Task[Any]] = {}

    def start(self, coroutine: Coroutine[Any, Any, Any], *, key: str | None = None) -> asyncio.Task[Any]:
        """Run it in the background. A new task with the same `key` cancels the older one."""
        if key is not None and (older := self._keyed.pop(key, None)) is not None:
            older.cancel()
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        if key is not None:
            self._keyed[key] = task
        task.add_done_callback(self._finished)
        return task

    def cancel(self, key: str) -> None:
        if (task := self._keyed.pop(key, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Cancel everything and wait until it is gone."""
        self._keyed.clear()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        for key in [key for key, value in self._keyed.items() if value is task]:
            del self._keyed[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error)
