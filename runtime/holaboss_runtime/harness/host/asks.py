"""What the runtime may ask of this host outside any run: handlers by name, registered while the host starts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from holaboss_runtime.harness.frames import HostAnswer, HostAsk

logger = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


class AskError(Exception):
    """What was asked cannot be done. The message is a sentence for people, `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Asks:
    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def register(self, name: str, handler: Handler) -> None:
        self._handlers[name] = handler

    async def answer(self, ask: HostAsk) -> HostAnswer:
        """Never raises but for cancellation."""
        handler = self._handlers.get(ask.name)
        if handler is None:
            return HostAnswer(ask_id=ask.ask_id, error=f"There is no {ask.name} here.", code="unknown_ask")
        try:
            return HostAnswer(ask_id=ask.ask_id, result=await handler(ask.arguments))
        except AskError as error:
            return HostAnswer(ask_id=ask.ask_id, error=str(error), code=error.code)
        except Exception:
            logger.exception("answering %s failed", ask.name)
            return HostAnswer(ask_id=ask.ask_id, error=f"{ask.name} failed.", code="host_failed")
