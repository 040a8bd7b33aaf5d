"""A day of work with the demo model, by keyboard alone: plan, edit, approval, skill, question, report, undo.

Each step leaves a picture in `out/e2e`, so that somebody can look at what a person sees.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.desktop import REPOSITORY, Desktop
from tests.e2e.processes import eventually

Launch = Callable[..., Desktop]
PICTURES = REPOSITORY / "out" / "e2e"
ASKED = "Show me a day of work"


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[Desktop, str], Path]:
    """`record(desktop, "step")` takes a picture of the window."""
    folder = PICTURES / request.node.name
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[str] = []

    def picture(desktop: Desktop, step: str) -> Path:
        taken.append(step)
        return desktop.grab(folder / f"{len(taken):02}-{step}.png")

    return picture


def workspace_folder(home: Path) -> Path:
    [folder] = [f for f in (home / "profile" / "sandbox-host" / "workspace").iterdir() if f.name[0] != "."]
    return folder


def begin(launch: Launch, home: Path) -> Desktop:
    """The demo model connected, a workspace made, the first message sent: all of it with keys."""
    desktop = launch("--profile-dir", str(home / "profile"), "--demo")
    desktop.sees("What should happen in Demo?")
    desktop.type("composer", ASKED)
    desktop.key("Return", name="composer")
    return desktop


def allow(desktop: Desktop) -> None:
    desktop.key("Ctrl+.", name="composer")
    desktop.key("Return")


def answer(desktop: Desktop, number: int) -> None:
    desktop.has("request-question")
    desktop.key("Ctrl+.", name="composer")
    desktop.key(str(number))
    desktop.key("Return")


def test_a_day_of_work_by_keyboard_alone(
    launch: Launch, home: Path, record: Callable[[Desktop, str], Path]
) -> None:
    desktop = begin(launch, home)
    desktop.has("request-confirmation")
    desktop.sees("Run this command?", "cp demo/opening-hours.md")
    record(desktop, "approval")
    folder = workspace_folder(home)
    copy = folder / "demo" / "opening-hours-before.md"
    assert "Saturday" in (folder / "demo" / "opening-hours.md").read_text()
    assert not copy.exists(), "nothing is done before somebody has allowed it"

    desktop.key("Ctrl+.", name="composer")
    record(desktop, "approval-focused")
    desktop.key("Return")
    eventually(copy.exists, what="the approved command has run")
    desktop.sees("How should the report read?", "Warm and personal")
    desktop.key("Ctrl+.", name="composer")
    desktop.key("2")
    record(desktop, "question")
    desktop.key("Return")
    desktop.sees("That was a day of work.", "warm and personal", "3 of 3 done", "Scripted demo answer")
    record(desktop, "finished")
    [report] = (folder / "outputs" / "reports").iterdir()
    assert "Good news" in report.read_text()
    desktop.quit()


def test_a_denied_command_is_not_run_and_the_work_goes_on(
    launch: Launch, home: Path, record: Callable[[Desktop, str], Path]
) -> None:
    desktop = begin(launch, home)
    desktop.has("request-confirmation")
    desktop.key("Ctrl+.", name="composer")
    desktop.key("Alt+D")
    desktop.type("request-note", "No copies, please.")
    record(desktop, "denying")
    desktop.key("Return", name="request-note")
    answer(desktop, 1)
    desktop.sees("did not copy the page, as you decided")
    record(desktop, "finished")
    assert not (workspace_folder(home) / "demo" / "opening-hours-before.md").exists()
    desktop.quit()


def test_a_request_waits_until_the_window_is_open_again(
    launch: Launch, home: Path, record: Callable[[Desktop, str], Path]
) -> None:
    desktop = begin(launch, home)
    desktop.has("request-confirmation")
    desktop.quit()
    copy = workspace_folder(home) / "demo" / "opening-hours-before.md"
    assert not copy.exists()

    desktop = launch("--profile-dir", str(home / "profile"), "--demo")
    desktop.has("request-confirmation")
    desktop.sees("Run this command?")
    record(desktop, "still-there")
    allow(desktop)
    eventually(copy.exists, what="the approved command has run")
    answer(desktop, 1)
    desktop.sees("That was a day of work.")
    desktop.quit()
