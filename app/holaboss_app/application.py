"""The program: reads the command line, opens one desktop on one loop, and runs until it is told to quit.

Imports are late on purpose: what the first paint does not need is loaded after it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holaboss_app.services.profile import Profile
from holaboss_app.start_times import StartTimes

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from holaboss_app.desktop import Desktop
    from holaboss_app.services.diagnostics import Diagnostics
    from holaboss_app.services.single_instance import SingleInstance

MEASURE_WITHIN_S = 60.0
NO_DISPLAY = (
    "No display here (DISPLAY and WAYLAND_DISPLAY are not set), so no window can open. Start Holaboss on a desktop, "
    "or try it with --self-test, which needs none."
)
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def parse_options(argv: Sequence[str]) -> argparse.Namespace:
    """The command line. `--version` and mistakes end the program here."""
    from holaboss_client import PRODUCT_VERSION, PROTOCOL_VERSION

    parser = argparse.ArgumentParser("holaboss", description="The Holaboss desktop.")
    version = f"Holaboss {PRODUCT_VERSION} (protocol {PROTOCOL_VERSION})"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("--profile-dir", type=Path, help="keep everything in this directory")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="INFO", help="of logs/desktop.log")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--demo", action="store_true", help="open with the offline demo model connected")
    mode.add_argument(
        "--self-test", action="store_true", help="one demo turn in a throw-away profile, then a screenshot"
    )
    mode.add_argument("--measure-start", action="store_true", help="print start times as JSON, then quit")
    mode.add_argument("--screenshots", type=Path, metavar="DIR", help="save pictures of the demo there")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Run the program; the exit status."""
    times = StartTimes()
    options = parse_options(argv)
    if options.screenshots is not None:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    throw_away = options.self_test or options.screenshots is not None
    with ExitStack() as stack:
        if throw_away:
            if not _has_display():
                os.environ["QT_QPA_PLATFORM"] = "offscreen"  # the real application draws into memory
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="holaboss-"))
            profile = Profile.at(Path(directory))
        elif not _has_display():
            print(NO_DISPLAY, file=sys.stderr)  # noqa: T201
            return 1
        else:
            profile = Profile.at(options.profile_dir) if options.profile_dir else Profile.default()
        return _run(options, profile, times)


def _run(options: argparse.Namespace, profile: Profile, times: StartTimes) -> int:
    from PySide6.QtWidgets import QApplication

    app = QApplication(["holaboss"])
    app.setApplicationName("Holaboss")
    app.setDesktopFileName("holaboss")
    app.setQuitOnLastWindowClosed(False)
    try:
        profile.create()
    except OSError as error:
        sentence = unusable(error, profile)
        print(sentence, file=sys.stderr)  # noqa: T201
        return _show_and_end(app, sentence)

    from holaboss_app.services.diagnostics import Diagnostics
    from holaboss_app.services.single_instance import SingleInstance

    instance = SingleInstance(profile)
    if not instance.acquire():
        print("Holaboss is open already; its window was asked to come forward.", file=sys.stderr)  # noqa: T201
        return 0
    diagnostics = Diagnostics(profile.log_dir, options.log_level)
    try:
        return _loop(app, options, profile, diagnostics, instance, times)
    finally:
        diagnostics.close()
        instance.release()


def _loop(
    app: QApplication,
    options: argparse.Namespace,
    profile: Profile,
    diagnostics: Diagnostics,
    instance: SingleInstance,
    times: StartTimes,
) -> int:
    from holaboss_app.desktop import Desktop
    from holaboss_app.services.event_loop import EventLoop

    async def live() -> int:
        diagnostics.watch(asyncio.get_running_loop())
        desktop = Desktop(app, profile, diagnostics)
        instance.activated.connect(desktop.come_forward)
        quitting = asyncio.Event()
        desktop.quit_requested.connect(quitting.set)
        with suppress(NotImplementedError):  # Windows ends programs otherwise
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, quitting.set)
        try:
            return await _mode(options, desktop, quitting, times)
        finally:
            await desktop.close()

    with asyncio.Runner(loop_factory=lambda: EventLoop(app)) as runner:
        try:
            return runner.run(live())
        except KeyboardInterrupt:
            return 130


async def _mode(
    options: argparse.Namespace, desktop: Desktop, quitting: asyncio.Event, times: StartTimes
) -> int:
    """What this start is for, until it is over."""
    if options.measure_start:
        return await _measure(desktop, times)
    if options.self_test:
        from holaboss_app.self_test import run_self_test

        return await run_self_test(desktop)
    if options.screenshots is not None:
        from holaboss_app.self_test import take_screenshots

        return await take_screenshots(desktop, options.screenshots)
    await desktop.open()
    if options.demo:
        from holaboss_app.demo import prepare_demo

        desktop.once_ready(lambda: prepare_demo(desktop))
    await quitting.wait()
    return 0


async def _measure(desktop: Desktop, times: StartTimes) -> int:
    """Print when the milestones of the start were reached."""
    reached = asyncio.Event()

    def milestone(name: str) -> None:
        times.mark(name)
        if name == "interactive":
            reached.set()

    desktop.milestone.connect(milestone)
    await desktop.open()
    try:
        async with asyncio.timeout(MEASURE_WITHIN_S):
            await reached.wait()
    except TimeoutError:
        print(f"The runtime did not come up: {desktop.supervisor.state.reason}", file=sys.stderr)  # noqa: T201
        return 1
    print(times.as_json(), flush=True)  # noqa: T201
    return 0


def unusable(error: OSError, profile: Profile) -> str:
    """Which path is in the way, and what helps."""
    from PySide6.QtCore import QCoreApplication

    path = error.filename or profile.data_dir
    words = QCoreApplication.translate(
        "Application",
        "Holaboss cannot use {path} ({why}). Make it a folder that you may write to, or start with "
        "--profile-dir and another folder.",
    )
    if isinstance(error, FileExistsError | NotADirectoryError):
        words = QCoreApplication.translate(
            "Application",
            "Holaboss needs a folder at {path}, but there is a file in the way ({why}). Rename the file or move it "
            "away, then open Holaboss again.",
        )
    return words.format(path=path, why=error.strerror)


def _show_and_end(app: QApplication, sentence: str) -> int:
    """A card for trouble that comes before there can be a window."""
    from PySide6.QtWidgets import QMessageBox

    from holaboss_app.services.event_loop import EventLoop

    async def show() -> None:
        closed = asyncio.get_running_loop().create_future()
        box = QMessageBox(QMessageBox.Icon.Critical, "Holaboss", sentence)
        box.finished.connect(lambda: closed.done() or closed.set_result(None))
        box.open()
        await closed

    with asyncio.Runner(loop_factory=lambda: EventLoop(app)) as runner:
        runner.run(show())
    return 1


def _has_display() -> bool:
    """Whether the environment names one. Qt ends a program without one by a crash that names another reason."""
    named = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    return named or sys.platform != "linux"
