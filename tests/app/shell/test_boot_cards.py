"""Each trouble of a start as a person meets it: the real desktop over the real runtime, a card, and the way out."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QWidget

from holaboss_app.desktop import Desktop
from holaboss_app.services.diagnostics import Diagnostics
from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_supervisor import RuntimeState, Stage
from holaboss_app.shell.boot import BootPage, Failure
from holaboss_app.shell.main_window import MainWindow, Page
from holaboss_app.theme import style
from tests.app.conftest import QLoop

NEWER_SCHEMA = 9_999


def make_whole(database: Path) -> None:
    """A runtime that had to be killed, which takes but a slow machine, leaves some of it in a second file."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert not database.with_name(f"{database.name}-wal").exists()


def make_newer(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(f"PRAGMA user_version = {NEWER_SCHEMA}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def make_foreign(database: Path) -> None:
    database.unlink()
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE somebody_else (id INTEGER)")
    connection.close()


def make_damaged(database: Path) -> None:
    database.write_bytes(b"this is no database at all, whatever its name says\n" * 200)


async def card(desktop: Desktop) -> tuple[str, str]:
    """Title and reason of the card, once there is one."""
    gone = asyncio.Event()
    desktop.given_up.connect(gone.set)
    if desktop.supervisor.state.stage != Stage.GAVE_UP:
        await gone.wait()
    assert desktop.window.page == Page.BOOT
    boot = desktop.window.boot
    reason = boot.findChild(QLabel, "boot-reason")
    assert isinstance(reason, QLabel)
    assert reason.isVisible()
    return boot._title.text(), reason.text()


async def until(desktop: Desktop, stage: Stage) -> None:
    """Wait for a state of the supervisor, which may be over again soon."""
    entered = asyncio.Event()
    tell = desktop.supervisor.on_change
    assert tell is not None

    def follow(state: RuntimeState) -> None:
        tell(state)
        if state.stage == stage:
            entered.set()

    desktop.supervisor.on_change = follow
    if desktop.supervisor.state.stage != stage:
        await entered.wait()


def press(desktop: Desktop, name: str) -> None:
    button = desktop.window.findChild(QPushButton, name)
    assert button is not None
    assert button.isVisible()
    button.click()


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    profile = Profile.at(tmp_path / "profile")
    profile.create()
    return profile


Scenario = Callable[[Desktop], Coroutine[Any, Any, None]]


def begin(qloop: QLoop, qapp: QApplication, profile: Profile, scenario: Scenario) -> None:
    async def life() -> None:
        desktop = Desktop(qapp, profile, diagnostics)
        await desktop.open()
        try:
            await scenario(desktop)
        finally:
            await desktop.close()

    diagnostics = Diagnostics(profile.log_dir)
    try:
        qloop.run(life())
    finally:
        diagnostics.close()


@pytest.mark.parametrize(
    ("spoil", "title"),
    [
        (make_newer, "This data belongs to a newer Holaboss"),
        (make_foreign, "The database is not one of Holaboss"),
        (make_damaged, "The database is damaged"),
    ],
    ids=["newer", "foreign", "damaged"],
)
def test_a_database_that_is_not_ours_to_touch_is_left_alone_and_said(
    qloop: QLoop, qapp: QApplication, profile: Profile, spoil: Callable[[Path], None], title: str
) -> None:
    database = profile.sandbox_root / "state" / "runtime.db"

    async def first(desktop: Desktop) -> None:
        await desktop.ready.wait()

    begin(qloop, qapp, profile, first)
    make_whole(database)
    good = database.read_bytes()
    spoil(database)
    spoilt = database.read_bytes()

    async def second(desktop: Desktop) -> None:
        shown, reason = await card(desktop)
        assert shown == title
        assert reason.endswith(("start again.", "nothing was changed."))
        assert database.read_bytes() == spoilt
        details = desktop.window.boot.findChild(QPlainTextEdit)
        assert isinstance(details, QPlainTextEdit)
        assert "code: database_" in details.toPlainText()
        for rest in ("-wal", "-shm"):
            database.with_name(database.name + rest).unlink(missing_ok=True)
        database.write_bytes(good)
        press(desktop, "boot-restart")
        await desktop.ready.wait()
        assert desktop.window.page == Page.FIRST_RUN

    begin(qloop, qapp, profile, second)


def test_data_in_use_by_another_is_tried_again_until_it_is_free(
    qloop: QLoop, qapp: QApplication, profile: Profile
) -> None:
    from tests.support.server import RuntimeProcess

    with RuntimeProcess(profile.sandbox_root) as other:

        async def scenario(desktop: Desktop) -> None:
            await until(desktop, Stage.BACKOFF)
            note = desktop.window.boot._note
            assert note.isVisible()
            assert "Another Holaboss is using the data" in note.text()
            await asyncio.to_thread(other.stop)
            await desktop.ready.wait()
            assert desktop.window.page == Page.FIRST_RUN

        begin(qloop, qapp, profile, scenario)


def test_a_start_that_gave_up_still_opens_the_settings_and_the_card_is_found_again(
    qloop: QLoop, qapp: QApplication, profile: Profile
) -> None:
    database = profile.sandbox_root / "state" / "runtime.db"
    database.parent.mkdir(parents=True)
    make_damaged(database)

    async def scenario(desktop: Desktop) -> None:
        await card(desktop)
        desktop.presenter.open_settings("appearance")
        assert desktop.window.page == Page.SETTINGS
        desktop.presenter.open_space()
        assert desktop.window.page == Page.BOOT
        asked: list[bool] = []
        desktop.window.boot.quit_requested.connect(lambda: asked.append(True))
        press(desktop, "boot-failure-quit")
        assert asked == [True]

    begin(qloop, qapp, profile, scenario)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_card_is_read_whole_in_the_smallest_window(qapp: QApplication, scale: float) -> None:
    style.apply(qapp, "light", scale)
    window = MainWindow()
    try:
        window.resize(window.minimumSize())
        failure = Failure(
            "The database is damaged",
            "The database of Holaboss in /home/someone/.local/share/holaboss/sandbox-host/state cannot be read. It was"
            " kept as it is. Put a backup of runtime.db in its place, or move it away to begin with an empty one.",
            "\n".join(f"line {number} of the log" for number in range(40)),
        )
        window.boot.show_failure(failure)
        window.show()
        press_details = window.findChild(QPushButton, "boot-details")
        assert press_details is not None
        press_details.click()
        for _ in range(3):
            qapp.processEvents()
        assert _squeezed(window.boot) == []
    finally:
        window.boot.settle()
        window.hide()
        window.deleteLater()
        style.apply(qapp, "light", 1.0)


def _squeezed(boot: BootPage) -> list[str]:
    """Labels and buttons of the card that are less high than what they say."""
    card = boot.findChild(QWidget, "boot-failure")
    assert card is not None
    labels = [each for each in card.findChildren(QLabel) if each.isVisible() and each.text()]
    wrong = [each.text() for each in labels if each.height() < each.heightForWidth(each.width())]
    buttons = [each for each in card.findChildren(QPushButton) if each.isVisible()]
    return wrong + [each.text() for each in buttons if each.height() < each.minimumSizeHint().height()]
