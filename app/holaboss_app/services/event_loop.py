"""Qt's event loop as asyncio's: what `qasync` gives, and a running loop for every callback.

Qt handles events between two runs too: qasync itself does so once after each. A coroutine that goes on there would
find no running loop and end with an error that has nothing to do with it.
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Callable
from contextvars import Context
from typing import cast

import qasync


class EventLoop(qasync.QEventLoop):
    def call_later(
        self, delay: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        later = cast("Callable[..., asyncio.Handle]", super().call_later)  # pyright: ignore[reportUnknownMemberType]
        return later(delay, self._call, callback, args, context=context)

    def _call(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        if events._get_running_loop() is not None:
            callback(*args)
            return
        events._set_running_loop(self)
        try:
            callback(*args)
        finally:
            events._set_running_loop(None)
