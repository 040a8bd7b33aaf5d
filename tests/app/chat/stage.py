"""The chat pane, its presenter, and the runtime in memory that they look at, with words for what a person sees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QStackedWidget

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.banners import Banner
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.presenter import ChatPresenter
from holaboss_app.panes.chat.queue_rail import QueueRow
from holaboss_app.services.kept_pictures import KeptPictures
from holaboss_app.services.waiting_files import WaitingFile
from holaboss_client.attachments import MessageAttachment
from holaboss_client.events import Change
from tests.app.chat.fake_runtime import FakeRuntime, FakeSession, World, catalogue, workspace
from tests.app.conftest import QLoop
from tests.support.processes import PATIENCE_S

Show = Callable[..., None]


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for what nothing announces."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - it is said nowhere
                await asyncio.sleep(0.001)
    except TimeoutError:
        pytest.fail(f"it never happened: {what}")


class Drafts:
    def __init__(self) -> None:
        self.drafts: dict[str, str] = {}
        self.models: dict[str, str] = {}
        self.kept: dict[str, list[MessageAttachment]] = {}
        self.late: dict[str, list[WaitingFile]] = {}
        self.given_up: list[tuple[str, str]] = []
        self.pictures = KeptPictures(Path("/nowhere/at/all"))

    def draft(self, key: str) -> str:
        return self.drafts.get(key, "")

    def save_draft(self, key: str, text: str) -> None:
        self.drafts[key] = text

    def files(self, key: str) -> list[MessageAttachment]:
        return list(self.kept.get(key, []))

    def waiting(self, key: str) -> list[WaitingFile]:
        return list(self.late.get(key, []))

    def save_files(
        self, key: str, files: Sequence[MessageAttachment], waiting: Sequence[WaitingFile]
    ) -> None:
        self.kept[key], self.late[key] = list(files), list(waiting)

    def discarded(self) -> list[tuple[str, str]]:
        return list(self.given_up)

    def save_discarded(self, files: Sequence[tuple[str, str]]) -> None:
        self.given_up = list(files)

    def last_model(self, workspace_id: str) -> str | None:
        return self.models.get(workspace_id)

    def save_last_model(self, workspace_id: str, model: str) -> None:
        self.models[workspace_id] = model


class Chat:
    """The pane, its presenter and the world they look at."""

    def __init__(self, qloop: QLoop, pane: ChatPane) -> None:
        self.qloop, self.pane, self.world = qloop, pane, World()
        self.drafts = Drafts()
        self.errors: list[BaseException] = []
        self.settings: list[str] = []
        self.opened: list[str] = []
        self.busy: list[bool] = []
        self.presenter = ChatPresenter(pane, self.drafts, self.errors.append)
        self.presenter.settings_requested.connect(self.settings.append)
        self.presenter.file_requested.connect(self.opened.append)
        self.presenter.busy_changed.connect(self.busy.append)
        self.presenter.set_catalogue(catalogue())

    def run(self, condition: Callable[[], object], what: str = "") -> None:
        """Let everything go on until `condition` holds."""
        self.qloop.run(until(condition, what))

    def rest(self) -> None:
        """Let everything that can happen now happen."""
        self.in_loop()

    def in_loop(self, *steps: Callable[[], object]) -> None:
        """Call `steps` on the running loop, and let everything happen that follows from them."""

        async def call() -> None:
            for step in steps:
                step()
            for _ in range(80):
                await asyncio.sleep(0)

        self.qloop.run(call())

    def wait_for(self, work: Coroutine[Any, Any, object]) -> None:
        async def finish() -> None:
            await work
            for _ in range(80):
                await asyncio.sleep(0)

        self.qloop.run(finish())

    def start(self, name: str = "one") -> FakeSession:
        """Attached, in a workspace, its main session open."""
        self.in_loop(lambda: self.presenter.attach(FakeRuntime(self.world)))
        self.wait_for(self.presenter.show_workspace(workspace(name)))
        return self.world.sessions[f"main-w-{name}"]

    def write(self, text: str) -> None:
        self.pane.composer.text = text
        self.in_loop(self.pane.composer.field.submitted.emit)

    def change(self, kind: Change, session: FakeSession) -> None:
        self.in_loop(lambda: self.presenter.on_change(self.world.change(kind, session)))

    def converse(self, session: FakeSession, text: str, answer: str = "Fine.") -> None:
        """One message, answered."""
        self.write(text)
        self.world.claim(session)
        self.world.say(session, answer)
        self.world.finish(session)
        self.rest()

    @property
    def page(self) -> str:
        stack = self.pane.findChild(QStackedWidget)
        return type(stack.currentWidget()).__name__

    @property
    def turns(self) -> list[tuple[str, str, Status]]:
        """What the conversation shows: message, answer, status."""
        transcript = self.pane.transcript._transcript
        states = [transcript.state(row) for row in range(len(transcript))]
        return [(s.text, s.answer, s.status) if s else ("?", "?", Status.WAITING) for s in states]

    @property
    def waiting(self) -> list[str]:
        rows = [row for row in self.pane.rail.findChildren(QueueRow) if row.isVisibleTo(self.pane.rail)]
        return [row._text for row in rows]

    def banner(self, name: str) -> str:
        found = self.pane.findChild(Banner, f"banner-{name}")
        if found is None or not found.isVisible():
            return ""
        return " ".join(label.text() for label in found.findChildren(QLabel) if label.text())

    def press(self, banner: str) -> None:
        button = self.pane.findChild(Banner, f"banner-{banner}").findChild(QPushButton)
        self.in_loop(button.click)
