"""What routes need: the services of one running server, found through the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated

from fastapi import Depends, Request

from holaboss_runtime.services import Services


@dataclass(frozen=True, slots=True)
class RuntimeState(Services):
    """`lifetime` is set when the server begins to stop: streams end then. `stop` asks for that."""

    lifetime: asyncio.Event
    instance_id: str
    stop: Callable[[], None]

    @classmethod
    def of(
        cls, services: Services, *, lifetime: asyncio.Event, instance_id: str, stop: Callable[[], None]
    ) -> RuntimeState:
        parts = {field.name: getattr(services, field.name) for field in fields(services)}
        return cls(**parts, lifetime=lifetime, instance_id=instance_id, stop=stop)


async def runtime_state(request: Request) -> RuntimeState:
    """A dependency; a coroutine, so that it runs on the loop and not in a thread."""
    return request.app.state.runtime


State = Annotated[RuntimeState, Depends(runtime_state)]
