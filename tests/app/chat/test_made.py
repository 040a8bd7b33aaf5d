"""What a turn made stands under its answer and on its rows, and a click shows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from holaboss_app.core.reducer import TurnState
from holaboss_app.panes.chat.file_chips import Chip
from holaboss_app.panes.chat.highlight import Lexing
from holaboss_app.panes.chat.outcome import Footer
from holaboss_app.panes.chat.trace import TraceHeader
from holaboss_app.panes.chat.turn_widget import TurnWidget
from tests.support.conversations import Events

Show = Callable[..., None]
REPORT = {"output": {"title": "Sales", "file_path": "outputs/reports/sales.md", "size_bytes": 4_200}}


class Made:
    def __init__(self, parent: QWidget) -> None:
        self.state, self.events = TurnState("a", "Hello"), Events("a")
        self.opened: list[str] = []
        self.wanted: list[str] = []
        self.state.extend(self.events.started())
        self.widget = TurnWidget(parent, Lexing(parent))
        self.widget.file_requested.connect(self.opened.append)
        self.widget.thumbnail_wanted.connect(self.wanted.append)
        self.widget.bind(self.state, set())
        self.widget.show()

    def tool(
        self, part: int, name: str, path: str, details: dict[str, object] | None = None, **more: bool
    ) -> None:
        changed = [] if more.get("error") else [path]
        self.state.extend(
            self.events.tool(part, name, {"path": path}, "done", changed=changed, details=details, **more)
        )

    def finish(self) -> None:
        self.state.apply(self.events.completed())
        self.widget.refresh()
        self.widget.resize(600, self.widget.arrange(600))

    @property
    def chips(self) -> list[str]:
        return [face.name for face in self.widget._outputs.faces]


@pytest.fixture
def made(show: Show) -> Made:
    parent = QWidget()
    show(parent, 700, 700)
    return Made(parent)


def test_reports_pictures_and_downloads_stand_under_the_answer(made: Made) -> None:
    made.tool(0, "write_report", "outputs/reports/sales.md", REPORT)
    made.tool(1, "image_generate", "outputs/images/a.png", {"path": "outputs/images/a.png", "size_bytes": 9})
    made.tool(2, "download_url", "Downloads/b.pdf", {"path": "Downloads/b.pdf", "size_bytes": 9})
    made.tool(3, "write", "src/main.py", {})
    made.widget.refresh()
    assert made.chips == [], "while it works the rows say enough"
    made.finish()
    assert made.chips == ["Sales", "a.png", "b.pdf"]
    assert made.wanted == ["outputs/images/a.png"]
    chip = made.widget._outputs.findChildren(Chip)[0]
    assert chip.isVisible()
    QTest.mouseClick(chip, Qt.MouseButton.LeftButton)
    assert made.opened == ["outputs/reports/sales.md"]


def test_a_call_that_failed_made_nothing_and_the_same_file_is_listed_once(made: Made) -> None:
    made.tool(0, "write_report", "x.md", {"output": {"file_path": "x.md"}}, error=True)
    made.tool(1, "download_url", "Downloads/b.pdf", {"path": "Downloads/b.pdf"})
    made.tool(2, "download_url", "Downloads/b.pdf", {"path": "Downloads/b.pdf"})
    made.finish()
    assert made.chips == ["b.pdf"]


def test_a_row_that_wrote_a_file_leads_to_it(made: Made) -> None:
    made.tool(0, "write", "src/main.py")
    made.tool(1, "read", "README.md")
    made.finish()
    rows = sorted(made.widget.findChildren(TraceHeader), key=lambda row: row.y())
    ways = [row.findChild(QToolButton, "open-file") for row in rows]
    assert [way.isVisible() for way in ways] == [True, True]
    made.state.tools[1].changed_paths = ()
    made.widget.refresh()
    assert [way.isVisible() for way in ways] == [True, False]
    assert ways[0].accessibleName() == "Open src/main.py"
    QTest.mouseClick(ways[0], Qt.MouseButton.LeftButton)
    assert made.opened == ["src/main.py"]
    assert not rows[0].isChecked(), "it does not fold the row"


def test_tokens_are_said_in_short_and_in_full(made: Made) -> None:
    made.finish()
    label = made.widget.findChild(Footer).findChild(QLabel)
    read, written, cached = (QLocale().toString(number) for number in (1840, 356, 1200))
    assert f"{read} in, {written} out" in label.text()
    assert label.toolTip().splitlines() == [
        f"{read} tokens read by the model",
        f"{cached} of those it read were in its cache",
        f"{written} tokens written by it",
    ]
