"""What goes on while Qt handles events between two runs of the loop."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QApplication

from tests.app.conftest import QLoop


def test_a_coroutine_that_goes_on_between_two_runs_finds_its_loop(qapp: QApplication, qloop: QLoop) -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    tasks: list[asyncio.Task[str]] = []

    async def work() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
        return await asyncio.to_thread(lambda: "read")

    async def start() -> None:
        tasks.append(asyncio.create_task(work()))

    qloop.run(start())
    while len(loops) < 3 and not tasks[0].done():
        qapp.processEvents()
    assert loops == [qloop.loop] * 3

    async def finish() -> str:
        return await tasks[0]

    assert qloop.run(finish()) == "read"


def test_no_loop_runs_when_none_is_called(qapp: QApplication, qloop: QLoop) -> None:
    async def nothing() -> None:
        asyncio.get_running_loop().call_soon(lambda: None)

    qloop.run(nothing())
    qapp.processEvents()
    assert asyncio.events._get_running_loop() is None
