"""The pane in all its states, drawn to pictures that a person can open, and checked for what a program can see:
nothing outside its place, text that stands out from what is behind it, a name on everything that takes the focus."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QImage, QPixmap
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from holaboss_app.core.transcript import Transcript
from holaboss_app.panes.chat.code_block import CodeBlock
from holaboss_app.panes.chat.file_chips import ChipFlow, Face
from holaboss_app.panes.chat.outcome import ActivityLine, ErrorCard, Footer
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.panes.chat.queue_rail import Waiting
from holaboss_app.panes.chat.trace import TraceHeader
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_app.theme import style
from holaboss_app.theme.icons import icon_pixmap
from tests.app.chat.fake_runtime import catalogue
from tests.app.chat.scene import conversation, exchange
from tests.support.conversations import index

Show = Callable[..., None]
VARIANTS = [
    ("light", 1.0, 900),
    ("dark", 1.0, 900),
    ("light", 1.5, 900),
    ("dark", 1.0, 440),
    ("light", 2.0, 520),
]
STATES = ["conversation", "top", "files", "empty", "blocked", "loading", "trouble"]
PARTS = (ProseView, CodeBlock, TraceHeader, ActivityLine, ErrorCard, Footer, ChipFlow)


def prepare(pane: ChatPane, state: str) -> None:
    pane.composer.picker.set_catalogue(catalogue())
    pane.header.describe("Why does the nightly export sometimes come out empty?", usable=True)
    if state in ("conversation", "top"):
        transcript, turns = Transcript(), conversation()
        transcript.take_index(index(turns, live="d"))
        transcript.take_turns(turns)
        pane.show_conversation()
        pane.transcript.set_transcript(transcript)
        pane.rail.show_items(
            [
                Waiting("1", "And then have a look at the second exporter too, please " * 3, "Waiting", True),
                Waiting("2", "Thanks", "Sending…", False),
            ]
        )
        pane.composer.text = "A draft\nof two lines"
        pane.composer.set_busy(True)
        if state == "top":
            pane.transcript.verticalScrollBar().setValue(0)
    elif state == "files":
        show_files(pane)
    elif state == "empty":
        pane.show_empty("Nightly exports")
    elif state == "blocked":
        pane.show_empty("Nightly exports")
        pane.composer.set_blocked("No model is connected yet.", connectable=True)
        pane.banners.say(
            "runtime", "What you send now goes out as soon as the runtime is back.", surface="sunken"
        )
        pane.banners.say("key", "OpenAI needs a key before this message can run.", action="Add the key")
        pane.banners.say("notice", "The message was refused.", action="Dismiss", surface="danger")
    elif state == "loading":
        pane.show_loading()
    else:
        pane.show_trouble("The runtime did not answer. It may still be starting.")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("scheme", "scale", "width"), VARIANTS)
def test_every_state_in_every_dress(
    show: Show, qapp: QApplication, tmp_path: Path, state: str, scheme: style.Scheme, scale: float, width: int
) -> None:
    style.apply(qapp, scheme, scale)
    pane = ChatPane()
    pane.setAutoFillBackground(True)
    palette = pane.palette()
    palette.setColor(palette.ColorRole.Window, QColor(style.current_tokens().pane))
    pane.setPalette(palette)
    show(pane, width, 900)
    prepare(pane, state)
    qapp.processEvents()
    picture = pane.grab()
    assert picture.save(str(tmp_path / f"{state}-{scheme}-{scale}-{width}.png"))
    assert nameless(pane) == []
    assert cut_off(pane) == []
    assert overlapping(pane) == []
    colours = {
        picture.toImage().pixelColor(x, y).name() for x in range(0, width, 3) for y in range(40, 860, 7)
    }
    assert len(colours) > 3, "something is drawn"


def show_files(pane: ChatPane) -> None:
    """Files in a bubble, made by a turn, and about to be sent: of each kind, and with names of any length."""
    transcript, turns = Transcript(), exchange()
    pane.transcript.thumbnail_wanted.connect(
        lambda path: pane.transcript.show_thumbnail(path, QPixmap.fromImage(striped()))
    )
    transcript.take_index(index(turns))
    transcript.take_turns(turns)
    pane.show_conversation()
    pane.transcript.set_transcript(transcript)
    faces = [
        Face(
            "1",
            "Umsatz und Ergebnis nach Regionen, dritte Fassung (endgültig).xlsx",
            "1.2 MB",
            removable=True,
        ),
        Face("2", "photo.png", "340 KB", "image", removable=True),
        Face("3", "notes", "docs", "folder", removable=True),
        Face("4", "film.mp4", "attaching…", state="busy", removable=True),
        Face(
            "5", "broken.bin", "The attachments of this workspace fill 1 GiB.", state="failed", removable=True
        ),
    ]
    pane.composer.files.show_faces(faces, {"2": QPixmap.fromImage(striped())})
    pane.composer.set_files(len(faces), "Remove the file that could not be attached.")
    pane.composer.text = "And these"
    waiting = [
        Waiting("1", "", "Waiting", editable=True, files=("a.txt", "b.txt")),
        Waiting("2", "Then", "Waiting", True, ("c",)),
    ]
    pane.rail.show_items(waiting)


def striped() -> QImage:
    image = QImage(64, 64, QImage.Format.Format_RGB32)
    for y in range(64):
        for x in range(64):
            image.setPixelColor(x, y, QColor("#2277cc" if (x + y) // 8 % 2 else "#eecc66"))
    return image


def test_the_sign_of_a_banner_follows_the_theme(show: Show, qapp: QApplication) -> None:
    pane = ChatPane()
    show(pane)
    pane.banners.say("notice", "The message was refused.", surface="danger")
    sign = next(label for label in pane.banners.findChildren(QLabel) if not label.pixmap().isNull())
    for scheme, scale in (("dark", 1.0), ("light", 2.0)):
        style.apply(qapp, scheme, scale)
        fresh = icon_pixmap("alert", style.scaled(16), token="danger", ratio=sign.devicePixelRatioF())
        assert sign.pixmap().toImage() == fresh.toImage()


def nameless(pane: ChatPane) -> list[str]:
    """Widgets that take the keyboard and have nothing to be called by."""
    return [
        repr(widget)
        for widget in pane.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        and widget.isVisible()
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
    ]


def cut_off(pane: ChatPane) -> list[str]:
    """Buttons and labels that stick out of the pane, or buttons too small for their text."""
    inside = pane.rect()
    wrong: list[str] = []
    for widget in pane.findChildren(QWidget):
        if not widget.isVisible() or pane.transcript.isAncestorOf(widget):
            continue
        place = QRect(widget.mapTo(pane, QPoint(0, 0)), widget.size())
        if isinstance(widget, QAbstractButton | QLabel) and not inside.contains(place):
            wrong.append(f"{widget!r} at {place}")
        if (
            isinstance(widget, QAbstractButton)
            and widget.text()
            and widget.width() < widget.minimumSizeHint().width()
        ):
            wrong.append(f"{widget!r} {widget.text()} is {widget.width()} wide")
    return wrong


def overlapping(pane: ChatPane) -> list[str]:
    """Parts of a turn that lie on each other or leave it."""
    wrong: list[str] = []
    for turn in pane.transcript.viewport().findChildren(TurnWidget):
        if not turn.isVisible():
            continue
        parts = [part for part in turn.children() if isinstance(part, PARTS) and part.isVisible()]
        places = sorted((part.geometry() for part in parts), key=lambda place: place.top())
        wrong += [f"{a} and {b}" for a, b in itertools.pairwise(places) if a.bottom() >= b.top()]
        wrong += [f"{place} outside {turn.rect()}" for place in places if not turn.rect().contains(place)]
    return wrong
