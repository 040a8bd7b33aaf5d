"""What a person does all the time, in one word each."""

from __future__ import annotations

from tests.e2e.desktop import Desktop


def create_workspace(desktop: Desktop, name: str) -> None:
    desktop.type("workspace-name", name, replace=True)
    desktop.click("create-workspace")
    desktop.sees(f"What should happen in {name}?")


def say_to(desktop: Desktop, text: str) -> None:
    desktop.type("composer", text)
    desktop.key("Return", name="composer")
