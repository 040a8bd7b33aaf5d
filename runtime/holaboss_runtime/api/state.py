"""What routes need: the services of one running server, found through the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from holaboss_runtime.config.service import ConfigService
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.profiles import Profiles
from holaboss_runtime.workspace.files import WorkspaceFiles
from holaboss_runtime.workspace.registry import WorkspaceRegistry

if TYPE_CHECKING:
    from holaboss_runtime.sessions.service import Sessions


@dataclass(slots=True)
class RuntimeState:
    """`lifetime` is set when the server begins to stop: streams end then. `stop` asks for that."""

    database: Database
    changes: ChangeLog
    config: ConfigService
    workspaces: WorkspaceRegistry
    files: WorkspaceFiles
    profiles: Profiles
    sessions: Sessions
    harness: Harness
    lifetime: asyncio.Event
    instance_id: str
    stop: Callable[[], None]


async def runtime_state(request: Request) -> RuntimeState:
    """A dependency; a coroutine, so that it runs on the loop and not in a thread."""
    return request.app.state.runtime


State = Annotated[RuntimeState, Depends(runtime_state)]
