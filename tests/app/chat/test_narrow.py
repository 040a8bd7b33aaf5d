"""A small pane with large text: everything keeps its place, gives up words before it overlaps, or scrolls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.queue_rail import QueueRow, Waiting
from holaboss_app.theme import style
from holaboss_app.theme.elided_button import ElidedButton
from tests.app.chat.fake_runtime import World, catalogue

SENTENCE = "Stopped. The messages that wait are kept."


@pytest.fixture
def pane(qapp: QApplication, show: Callable[..., None]) -> Iterator[ChatPane]:
    """Everything that can stand below the conversation at once."""
    pane = ChatPane()
    pane.composer.picker.set_catalogue(catalogue())
    pane.composer.permissions.show_permissions(World().permissions)
    pane.show_empty("Garden")
    pane.banners.say("held", SENTENCE, action="Resume")
    pane.rail.show_items([Waiting("a", "And then look at the importer, please", "Waiting", True)])
    show(pane, 850, 700)
    yield pane
    style.apply(qapp, "light", 1.0)


def look(qapp: QApplication, pane: ChatPane, scale: float, width: int, height: int) -> None:
    style.apply(qapp, "light", scale)
    pane.resize(width, height)
    for _ in range(3):  # words wrap, heights follow, and what follows from those
        qapp.processEvents()


def place(pane: ChatPane, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(pane, widget.rect().topLeft()), widget.size())


@pytest.mark.parametrize(("scale", "width", "height"), [(2.0, 475, 485), (2.0, 850, 700), (1.0, 420, 520)])
def test_nothing_below_the_conversation_is_squeezed(
    qapp: QApplication, pane: ChatPane, scale: float, width: int, height: int
) -> None:
    pane.trouble.describe("The runtime did not answer, and it is not clear why that is so. " * 8)
    look(qapp, pane, scale, width, height)
    assert pane.size().toTuple() == (width, height), "it can be that small"
    for part in (pane.banners, pane.rail, pane.composer):
        needed = part.heightForWidth(part.width()) if part.hasHeightForWidth() else part.sizeHint().height()
        assert part.height() >= needed, part.objectName()
    (sentence,) = [label for label in pane.banners.findChildren(QLabel) if label.text() == SENTENCE]
    assert sentence.height() >= sentence.heightForWidth(sentence.width())
    shown = [button for button in pane.composer.findChildren(QAbstractButton) if button.isVisible()]
    for one in shown:
        assert pane.rect().contains(place(pane, one)), one.objectName()
        assert not [two for two in shown if two is not one and place(pane, one).intersects(place(pane, two))]


def test_pickers_give_up_words_and_get_them_back(qapp: QApplication, pane: ChatPane) -> None:
    picker, permissions = pane.composer.picker, pane.composer.permissions
    whole = [button.text() for button in (picker, permissions)]
    assert whole == [picker.label, permissions.label]
    look(qapp, pane, 2.0, 500, 600)
    assert permissions.text() in ("", "…"), "the shield says it"
    assert len(picker.text()) < len(whole[0])
    assert permissions.toolTip().startswith(whole[1])
    assert whole[1] in permissions.accessibleName()
    look(qapp, pane, 1.0, 850, 700)
    assert [button.text() for button in (picker, permissions)] == whole


def test_the_invitation_scrolls_and_its_words_do_not_overlap(qapp: QApplication, pane: ChatPane) -> None:
    pane.banners.clear()
    look(qapp, pane, 2.0, 500, 500)
    starters = [button for button in pane.empty.findChildren(ElidedButton) if not button.isHidden()]
    inside = pane.empty.widget()
    labels = [label for label in inside.findChildren(QLabel) if label.text()]
    for label in labels:
        assert label.height() >= label.heightForWidth(label.width()), label.text()
    rows = sorted([*labels, *starters], key=lambda widget: widget.y())
    for above, below in pairwise(rows):
        assert above.geometry().bottom() < below.y()
    assert {button.width() for button in starters} == {pane.empty.viewport().width() - 48}
    assert pane.empty.verticalScrollBar().maximum() > 0


def test_a_message_that_waits_follows_the_text_size(qapp: QApplication, pane: ChatPane) -> None:
    row = pane.rail.findChild(QueueRow)
    before = (row.minimumHeight(), row._edit.iconSize())
    look(qapp, pane, 2.0, 850, 700)
    assert row.minimumHeight() == 2 * before[0]
    assert row._edit.iconSize() == 2 * before[1]
    look(qapp, pane, 1.0, 850, 700)
    assert (row.minimumHeight(), row._edit.iconSize()) == before
