"""The `Watch` of a run: keeps what each call changes in the workspace, so that the turn can be taken back.

Calls of `write` and `edit` name their files; everything else that may change something is watched as a whole, because
its own word is no proof. A record that cannot be kept never keeps a tool from working.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.tools.places import Areas, PlaceError
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.undo.model import State, Turn
from holaboss_runtime.workspace.undo.recording import Recorder
from holaboss_runtime.workspace.undo.store import BusyError, once_free
from holaboss_runtime.workspace.undo.tree import is_recordable

logger = logging.getLogger(__name__)

NAMING_TOOLS = frozenset({"write", "edit"})
STATE_TOOLS = frozenset({"todo", "question", "scratchpad"})
"""They change nothing but what the runtime keeps for the session."""

MAX_WORKSPACES = 64
STOPPED_S = 0.4


class Recorders:
    """One recorder for each workspace of this host: what it saw serves all its runs."""

    def __init__(self) -> None:
        self._recorders: dict[Path, Recorder] = {}

    def of_run(self, package: RunPackage) -> TurnRecorder:
        root = Path(package.workspace_dir).resolve()
        recorder = self._recorders.pop(root, None) or Recorder(root)
        self._recorders[root] = recorder
        for oldest in list(self._recorders)[:-MAX_WORKSPACES]:
            del self._recorders[oldest]
        return TurnRecorder(recorder, package, root)


class TurnRecorder:
    """`watch` is entered around each call that may change files; `close` once the run is over."""

    def __init__(self, recorder: Recorder, package: RunPackage, root: Path) -> None:
        self._recorder = recorder
        self._turn = Turn(package.input_id, package.session_id)
        self._areas = Areas(root, package.mounts)
        self._used = False
        self._going: set[asyncio.Task[None]] = set()

    def watch(self, facts: CallFacts) -> AbstractAsyncContextManager[None]:
        return self._watched(facts)

    async def close(self) -> None:
        if self._used:
            await self._kept(self._recorder.close)

    @asynccontextmanager
    async def _watched(self, facts: CallFacts) -> AsyncGenerator[None]:
        named = self._named(facts)
        if named is not None and not named:
            yield
            return
        self._used = True
        opened: list[dict[str, State]] = []
        begun = self._own(self._kept(lambda: opened.append(self._before(named))))
        try:
            await _or_stopped(begun)
            yield
        finally:
            await _or_stopped(self._own(self._finished(begun, opened, named)))

    async def _finished(
        self, begun: asyncio.Task[None], opened: list[dict[str, State]], named: list[str] | None
    ) -> None:
        await asyncio.wait({begun})
        if opened:
            await self._kept(lambda: self._after(opened[0], named))

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return task

    def _before(self, named: list[str] | None) -> dict[str, State]:
        if named is not None:
            return self._recorder.before_named(self._turn, named)
        self._recorder.before_any(self._turn)
        return {}

    def _after(self, states: dict[str, State], named: list[str] | None) -> None:
        if named is not None:
            self._recorder.after_named(self._turn, states)
        else:
            self._recorder.after_any(self._turn)

    def _named(self, facts: CallFacts) -> list[str] | None:
        """The files a call will change; None when it may be any. Those outside of the workspace are not ours."""
        if facts.tool in STATE_TOOLS:
            return []
        if facts.tool not in NAMING_TOOLS or not facts.writes:
            return None
        found: list[str] = []
        for path in facts.writes:
            try:
                place = self._areas.locate(path, for_writing=True)
            except PlaceError:  # the tool will say so
                continue
            if place.in_workspace and is_recordable(place.shown):
                found.append(place.shown)
        return found

    async def _kept(self, work: Callable[[], object]) -> None:
        """Do it in a thread, as soon as nobody else works with the record; a note where that fails."""
        try:
            await once_free(work)
            return
        except (OSError, BusyError) as error:
            why = str(error) or "another one records"
            logger.warning("changes of %s are not recorded: %s", self._turn.input_id, why)
        except Exception:  # the boundary: whatever lies in the record, tools go on
            logger.exception("changes of %s are not recorded", self._turn.input_id)
        try:
            await once_free(lambda: self._recorder.failed(self._turn))
        except Exception:  # noqa: BLE001 - what was wrong is said above
            logger.warning("nor could that be noted")


async def _or_stopped(task: asyncio.Task[None]) -> None:
    """Wait for its end. A run that is being stopped waits a moment only: a look at a large workspace takes longer than
    a stop may, and goes on by itself."""
    waiting = asyncio.current_task()
    if waiting is not None and waiting.cancelling():
        await asyncio.wait({task}, timeout=STOPPED_S)
        return
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=STOPPED_S)
        raise
