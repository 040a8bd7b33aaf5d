"""`--self-test` and `--screenshots`: the real application driven through its own widgets, in a throw-away
profile.

Nothing here is simulated: a real runtime, a real harness host and the demo model that ships with it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QWidget

from holaboss_app.demo import prepare_demo
from holaboss_app.desktop import Desktop
from holaboss_app.services.runtime_supervisor import Stage
from holaboss_client.events import OutputEvent, RunEvent
from holaboss_client.workspaces import Workspace

WITHIN_S = 90.0
SETTLE_S = 0.6
"""For highlighting and fades, which come a moment after the text. Only pictures depend on it."""

PICTURE_SIZE = QSize(1280, 820)
TOOL_PROMPT = "List the files"
TALK_PROMPT = "Show markdown"


W = TypeVar("W", bound=QWidget)


class SelfTestError(Exception):
    """The demo turn did not end as it must. The text says what was missing."""


async def run_self_test(desktop: Desktop) -> int:
    """Boot, connect the demo model, send one prompt that calls a tool, save a picture. The exit status."""
    try:
        async with asyncio.timeout(WITHIN_S):
            await _begin(desktop)
            events = await _converse(desktop, await prepare_demo(desktop), TOOL_PROMPT)
            _check(events)
            await asyncio.sleep(SETTLE_S)
    except (SelfTestError, TimeoutError) as error:
        reason = str(error) or f"no end within {WITHIN_S:.0f} seconds ({desktop.supervisor.state.reason})"
        print(f"self-test failed: {reason}", file=sys.stderr)  # noqa: T201
        print("\n".join(desktop.supervisor.log.tail()), file=sys.stderr)  # noqa: T201
        return 1
    picture = Path(tempfile.mkdtemp(prefix="holaboss-self-test-")) / "screenshot.png"
    _picture(desktop, picture)
    print(f"self-test passed: one demo turn with a tool. Screenshot: {picture}", flush=True)  # noqa: T201
    return 0


async def take_screenshots(desktop: Desktop, directory: Path) -> int:
    """Pictures for the documentation, light and dark: first run, main window, settings. The exit
    status. `directory` exists."""
    async with asyncio.timeout(WITHIN_S):
        await _begin(desktop)
        await _both(desktop, directory, "first-run")
        workspace = await prepare_demo(desktop)
        for prompt in (TALK_PROMPT, TOOL_PROMPT):
            await _converse(desktop, workspace, prompt)
        await _both(desktop, directory, "main-window")
        desktop.presenter.open_settings("models")
        await _both(desktop, directory, "settings")
    return 0


async def _begin(desktop: Desktop) -> None:
    await desktop.open()
    desktop.window.resize(PICTURE_SIZE)  # also where the screen in memory is smaller
    gone = asyncio.Event()
    desktop.given_up.connect(gone.set)
    if desktop.supervisor.state.stage == Stage.GAVE_UP:
        gone.set()
    waits = [asyncio.ensure_future(event.wait()) for event in (desktop.ready, gone)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if not desktop.ready.is_set():
        raise SelfTestError(desktop.supervisor.state.reason)


async def _converse(desktop: Desktop, workspace: Workspace, prompt: str) -> list[OutputEvent]:
    """Type the prompt, press the button, and wait for the end of the turn; everything the run said."""
    async with _following(desktop, workspace) as events:
        composer = _find(desktop, QPlainTextEdit, "composer")
        composer.setPlainText(prompt)
        _find(desktop, QAbstractButton, "send").click()
        return await events


@asynccontextmanager
async def _following(
    desktop: Desktop, workspace: Workspace
) -> AsyncGenerator[asyncio.Task[list[OutputEvent]]]:
    client = desktop.presenter.client
    if client is None:
        raise SelfTestError("the runtime went away")
    session = await client.ensure_main_session(workspace.id)
    page = await client.output_events(workspace.id, session.session_id)
    connected = asyncio.Event()

    async def follow() -> list[OutputEvent]:
        seen: list[OutputEvent] = []
        stream = client.output_stream(
            workspace.id, session.session_id, after_event_id=page.last_event_id, stop_on_terminal=True
        )
        async for event in stream:
            if event is None:
                connected.set()
            else:
                seen.append(event)
        return seen

    task = asyncio.ensure_future(follow())
    try:
        await connected.wait()
        yield task
    finally:
        task.cancel()


def _check(events: Sequence[OutputEvent]) -> None:
    kinds = {event.event_type for event in events}
    if RunEvent.RUN_FAILED in kinds:
        failed = next(event for event in events if event.event_type == RunEvent.RUN_FAILED)
        raise SelfTestError(f"the run failed: {failed.payload.get('message')}")
    for needed in (RunEvent.TOOL_CALL, RunEvent.OUTPUT_DELTA, RunEvent.RUN_COMPLETED):
        if needed not in kinds:
            raise SelfTestError(f"the run ended without {needed}")


def _find(desktop: Desktop, kind: type[W], name: str) -> W:
    found = desktop.window.findChild(kind, name)
    if found is None:
        raise SelfTestError(f"the window has no {name}")
    return found


async def _both(desktop: Desktop, directory: Path, name: str) -> None:
    for theme in ("light", "dark"):
        desktop.appearance.set_theme(theme)
        await asyncio.sleep(SETTLE_S)
        _picture(desktop, directory / f"{name}-{theme}.png")


def _picture(desktop: Desktop, path: Path) -> None:
    if not desktop.window.grab().save(str(path)):
        raise SelfTestError(f"{path} could not be written")
