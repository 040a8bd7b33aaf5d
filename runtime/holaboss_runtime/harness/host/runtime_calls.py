"""What this host asks of the runtime, and the answers it waits for: tools that run there, and services outside runs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from holaboss_runtime.harness.contract import ContractModel
from holaboss_runtime.harness.frames import ServiceCall, ServiceResult, ToolCall, ToolResult


class ServiceError(Exception):
    """The runtime could not do what was asked of it."""


class RuntimeCalls:
    """One per host. `send` takes a frame without waiting."""

    def __init__(self, send: Callable[[ContractModel], None]) -> None:
        self._send = send
        self._numbers = itertools.count()
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    async def call_tool(self, run_id: str, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Cancelled with the run; the runtime bounds the time."""
        call_id = f"tool-{next(self._numbers)}"
        return await self._answer(
            call_id, ToolCall(run_id=run_id, call_id=call_id, name=name, arguments=arguments)
        )

    async def serve(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
        """Raises `ServiceError`."""
        call_id = f"service-{next(self._numbers)}"
        result: ServiceResult = await self._answer(
            call_id, ServiceCall(call_id=call_id, name=name, arguments=arguments)
        )
        if result.error is not None:
            raise ServiceError(f"{name}: {result.error}")
        return result.result

    def tell(self, name: str, arguments: dict[str, Any]) -> None:
        """News that nobody answers."""
        self._send(ServiceCall(name=name, arguments=arguments))

    def receive(self, frame: ToolResult | ServiceResult) -> None:
        waiting = self._waiting.get(frame.call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)

    async def _answer(self, call_id: str, frame: ContractModel) -> Any:  # noqa: ANN401 - one of two frames
        self._waiting[call_id] = asyncio.get_running_loop().create_future()
        try:
            self._send(frame)
            return await self._waiting[call_id]
        finally:
            del self._waiting[call_id]
