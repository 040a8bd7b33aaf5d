"""Draws the file pane as a person sees it. The pictures land in the test's temporary directory, to be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from holaboss_app.theme import style
from tests.app.files.conftest import Shelf

LOOKS = {
    "light": ("light", 1.0, 320),
    "dark": ("dark", 1.0, 520),
    "large": ("light", 1.5, 420),
    "narrow": ("dark", 1.0, 190),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_pane_can_be_drawn_in_every_state(
    shelf: Shelf, qapp: QApplication, tmp_path: Path, look: str
) -> None:
    scheme, scale, width = LOOKS[look]
    style.apply(qapp, scheme, scale)
    try:
        _fill(shelf)
        for state in ("conflict", "both", "closing"):
            if state == "both":
                shelf.click("show-both")
            if state == "closing":
                shelf.click("load-theirs")
                shelf.type("again")
                shelf.editor.ask_to_close()
            shelf.pane.resize(width, 900)
            qapp.processEvents()
            assert shelf.pane.grab().save(str(tmp_path / f"{look}-{state}.png"))
            assert _cut_off(shelf) == []
    finally:
        style.apply(qapp, "light", 1.0)


def _fill(shelf: Shelf) -> None:
    shelf.open()
    shelf.expand("notes")
    shelf.activate("workspace.yaml")
    shelf.activate("AGENTS.md")
    shelf.activate("picture.png")
    policy = (
        "# Policy\n\nAsk before anything is sent. Keep the notes of each week in one file of their own.\n"
    )
    shelf.type(policy)
    shelf.runtime.files["AGENTS.md"] = b"# Policy\n\nThe agent wrote this.\n"
    shelf.click("save-file")


def _cut_off(shelf: Shelf) -> list[str]:
    """Labels and buttons that reach out of the pane."""
    widgets = [*shelf.pane.findChildren(QLabel), *shelf.pane.findChildren(QPushButton)]
    return [
        widget.objectName() or widget.text()
        for widget in widgets
        if widget.isVisible() and widget.mapTo(shelf.pane, widget.rect().topRight()).x() >= shelf.pane.width()
    ]
