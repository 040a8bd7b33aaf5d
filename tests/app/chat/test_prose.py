"""Prose: what a model writes can look as it likes, but it can do nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QImage,
    QTextDocument,
    QTextFormat,
    QTextFragment,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from holaboss_app.panes.chat.prose import ProseView
from holaboss_app.theme.style import current_tokens

Show = Callable[..., None]


@pytest.fixture
def prose(show: Show) -> ProseView:
    view = ProseView()
    show(view, 500, 300)
    return view


def test_a_local_image_is_never_read(prose: ProseView, tmp_path: Path) -> None:
    picture = tmp_path / "secret.png"
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("#00ff00"))
    assert image.save(str(picture))
    for address in (str(picture), QUrl.fromLocalFile(str(picture)).toString()):
        prose.set_markdown(f"before ![x]({address}) after")
        prose.fit(500)
        shot = prose.grab().toImage()
        colours = {shot.pixelColor(x, y).name() for x in range(0, 500, 4) for y in range(0, 60, 2)}
        assert "#00ff00" not in colours
        loaded = prose.document().resource(QTextDocument.ResourceType.ImageResource, QUrl(address))
        assert isinstance(loaded, QImage)
        assert loaded.width() == 1


def test_html_is_shown_and_not_obeyed(prose: ProseView) -> None:
    prose.set_markdown('<b>bold</b> <img src="/etc/passwd"> <a href="file:///etc">x</a>')
    assert "<b>bold</b>" in prose.toPlainText()
    assert '<img src="/etc/passwd">' in prose.toPlainText()


@pytest.mark.parametrize(
    ("address", "followed"),
    [
        ("https://example.com/a", True),
        ("mailto:a@example.com", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("relative/path", False),
    ],
)
def test_only_web_and_mail_links_are_followed(prose: ProseView, address: str, followed: bool) -> None:
    asked: list[str] = []
    prose.link_activated.connect(lambda url: asked.append(url.toString()))
    prose.anchorClicked.emit(QUrl(address))
    assert asked == ([address] if followed else [])
    assert prose.toPlainText() == ""


def test_blocks_get_their_looks(prose: ProseView) -> None:
    prose.set_markdown("# Title\n\nText with `code`.\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    document = prose.document()
    assert document.begin().blockFormat().headingLevel() == 1
    assert document.find("Title").charFormat().font().pointSizeF() == 15.0
    tables = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert tables[0].cellAt(0, 0).format().background().color() == QColor(current_tokens().sunken)
    found = document.find("quoted")
    assert found.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel) == 1
    assert found.charFormat().foreground().color() == QColor(current_tokens().text_muted)
    code = document.find("code").charFormat()
    assert code.background().color() == QColor(current_tokens().sunken)


def test_height_follows_the_width(prose: ProseView) -> None:
    prose.set_plain("word " * 200)
    assert prose.fit(200) > 2 * prose.fit(600)
    prose.set_plain("short")
    assert prose.natural_width(600) < 100


def test_keys_that_scroll_are_left_to_the_transcript(prose: ProseView) -> None:
    prose.set_plain("some text")
    seen: list[int] = []

    class Outer(ProseView):
        def keyPressEvent(self, event) -> None:  # noqa: ANN001
            seen.append(event.key())

    outer = Outer()
    prose.setParent(outer)
    QTest.keyClick(prose, Qt.Key.Key_PageDown)
    assert seen == [Qt.Key.Key_PageDown]
    prose.setParent(None)
    outer.deleteLater()


def test_a_hostile_depth_of_nesting_is_survived(prose: ProseView) -> None:
    prose.set_markdown(">" * 3_000 + " deep\n\n" + "".join(f"{'  ' * n}- x\n" for n in range(400)))
    assert prose.fit(500) > 0


WIDE = "| " + " | ".join(f"Column {n}" for n in range(14)) + " |\n|" + "---|" * 14 + "\n|" + " value |" * 14


def test_a_table_of_many_columns_scrolls_and_keeps_its_words_whole(show: Show) -> None:
    view = ProseView()
    view.set_markdown(WIDE)
    show(view, 400, view.fit(400))
    bar = view.horizontalScrollBar()
    assert bar.isVisible()
    assert bar.maximum() > 400
    assert bar.value() == 0, "it begins with its first column"
    line = view.fontMetrics().lineSpacing()
    assert view.fit(400) < 8 * line, "no word is broken into letters"
    view.set_markdown("Plain text")
    assert view.fit(400) < 3 * line
    assert bar.maximum() == 0


def test_a_table_that_fits_does_not_scroll(show: Show) -> None:
    view = ProseView()
    view.set_markdown("| a | b |\n|---|---|\n| " + "word " * 60 + "| 2 |")
    show(view, 400, view.fit(400))
    assert view.horizontalScrollBar().maximum() == 0
    assert not view.horizontalScrollBar().isVisible()


def test_the_wheel_moves_a_wide_table_sideways_and_nothing_else(show: Show) -> None:
    view = ProseView()
    view.set_markdown(WIDE)
    show(view, 400, view.fit(400))

    def turn(across: int, down: int) -> QWheelEvent:
        event = QWheelEvent(
            QPointF(50, 20),
            QPointF(50, 20),
            QPoint(),
            QPoint(across, down),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(view.viewport(), event)
        return event

    assert not turn(0, -120).isAccepted(), "the conversation scrolls"
    assert turn(-120, 0).isAccepted()
    assert view.horizontalScrollBar().value() > 0


def test_a_picture_is_a_link_with_its_name_and_is_not_loaded(prose: ProseView) -> None:
    view = prose
    view.set_markdown("See ![the chart](https://example.com/a.png) and ![local](file:///etc/passwd).")
    assert view.toPlainText() == "See the chart and local."
    links = [
        (piece.text(), piece.charFormat().anchorHref())
        for piece in _pieces(view)
        if piece.charFormat().isAnchor()
    ]
    assert links == [("the chart", "https://example.com/a.png")]


def _pieces(view: ProseView) -> list[QTextFragment]:
    found, pieces = [], view.document().begin().begin()
    while not pieces.atEnd():
        found.append(pieces.fragment())
        pieces += 1
    return found


def test_a_folded_text_ends_with_a_whole_line(prose: ProseView) -> None:
    view = prose
    view.set_plain("one line after the other\n" * 40)
    view.fit(300)
    ends = [view.whole_lines(height) for height in range(60, 160)]
    steps = sorted(set(ends))
    assert all(end <= height for end, height in zip(ends, range(60, 160), strict=True))
    assert len({b - a for a, b in itertools.pairwise(steps)}) <= 2, "lines of one height"
    assert view.whole_lines(1) == view.whole_lines(view.fontMetrics().lineSpacing()) > 0
