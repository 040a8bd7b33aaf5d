"""Colours that can be read, a style sheet that Qt understands, icons that follow the theme."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton, QTreeView

from holaboss_app.theme import style
from holaboss_app.theme.icons import app_icon, icon
from holaboss_app.theme.resources import resource_path
from holaboss_app.theme.tokens import DARK, LIGHT, Tokens

THEMES = pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
SURFACES = ("window", "pane", "field", "sunken", "hover", "bubble")
PAIRS = [
    *((text, surface) for text in ("text", "text_muted") for surface in (*SURFACES[:4], "hover")),
    *(
        ("text", surface)
        for surface in (*SURFACES, "selected", "selection", "danger_surface", "warning_surface")
    ),
    *((text, "pane") for text in ("link", "danger", "success", "warning", "info")),
    ("danger", "danger_surface"),
    ("warning", "warning_surface"),
    ("on_accent", "accent_fill"),
    ("link", "bubble"),
]


def luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@THEMES
@pytest.mark.parametrize(("text", "surface"), PAIRS)
def test_text_can_be_read_on_its_surface(tokens: Tokens, text: str, surface: str) -> None:
    assert contrast(getattr(tokens, text), getattr(tokens, surface)) >= 4.5


@THEMES
@pytest.mark.parametrize("surface", ["window", "pane", "field"])
def test_focus_rings_and_icons_can_be_seen(tokens: Tokens, surface: str) -> None:
    assert contrast(tokens.accent, getattr(tokens, surface)) >= 3.0


@THEMES
def test_the_style_sheet_has_a_value_for_every_name(tokens: Tokens) -> None:
    sheet = style.style_sheet(tokens, 1.0)
    assert "$" not in sheet
    for path in re.findall(r"url\(([^)]+)\)", sheet):
        assert resource_path(path).exists()


def test_applying_a_theme_changes_colours_sizes_and_tells(qapp: QApplication) -> None:
    told: list[str] = []
    style.theme_notifier().theme_changed.connect(lambda: told.append(style.current_tokens().name))
    style.apply(qapp, "dark", 1.5)
    button = QPushButton("text")
    button.ensurePolished()
    assert button.palette().buttonText().color().name() == DARK.text
    large = qapp.font().pointSizeF()
    style.apply(qapp, "light", 1.0)
    assert told == ["dark", "light"]
    assert large == pytest.approx(1.5 * qapp.font().pointSizeF())
    assert (style.scale(), style.current_tokens()) == (1.0, LIGHT)
    style.theme_notifier().theme_changed.disconnect()
    button.deleteLater()


@pytest.mark.parametrize("asked", [0.1, 7.0])
def test_the_text_scale_has_limits(qapp: QApplication, asked: float) -> None:
    style.apply(qapp, "light", asked)
    assert style.SMALLEST_SCALE <= style.scale() <= style.LARGEST_SCALE
    style.apply(qapp, "light", 1.0)


def test_an_unknown_system_preference_is_light(qapp: QApplication) -> None:
    style.apply(qapp, "system", 1.0)
    assert style.current_tokens() == LIGHT


def test_an_icon_is_painted_in_the_colour_of_the_moment(qapp: QApplication) -> None:
    stop = icon("stop")
    for scheme, tokens in (("light", LIGHT), ("dark", DARK)):
        style.apply(qapp, scheme, 1.0)
        assert stop.pixmap(QSize(24, 24)).toImage().pixelColor(12, 12).name() == tokens.text
    style.apply(qapp, "light", 1.0)
    assert icon("stop", "accent").pixmap(QSize(24, 24)).toImage().pixelColor(12, 12).name() == LIGHT.accent
    with pytest.raises(FileNotFoundError):
        icon("no-such-icon")
    assert not app_icon().isNull()


def test_every_drawing_is_ours_to_colour() -> None:
    for path in resource_path("icons").glob("*.svg"):
        if not path.stem.startswith("field-"):  # parts of form fields, which a style sheet cannot colour
            assert "currentColor" in path.read_text()
            assert "#" not in path.read_text()


def test_what_stands_beside_text_grows_with_it(qapp: QApplication) -> None:
    style.apply(qapp, "light", 1.0)
    button, tree = QToolButton(), QTreeView()
    button.setIcon(icon("refresh"))
    for widget in (button, tree):
        widget.ensurePolished()
    small = (button.iconSize(), button.sizeHint(), tree.indentation())
    style.apply(qapp, "light", 2.0)
    assert (button.iconSize(), tree.indentation()) == (small[0] * 2, small[2] * 2)
    assert button.sizeHint().width() > small[1].width()
    sheet = style.style_sheet(LIGHT, 2.0)
    assert "width: 28px; height: 28px" in sheet
    style.apply(qapp, "light", 1.0)
    for widget in (button, tree):
        widget.deleteLater()


def test_a_selected_row_of_a_tree_has_one_colour_over_its_whole_width(qapp: QApplication) -> None:
    style.apply(qapp, "light", 1.0)
    model = QStandardItemModel()
    folder = QStandardItem("folder")
    folder.appendRow(QStandardItem("file"))
    model.appendRow(folder)
    tree = QTreeView()
    tree.setHeaderHidden(True)
    tree.setModel(model)
    tree.resize(240, 120)
    tree.expandAll()
    for index in (model.index(0, 0), model.index(0, 0, folder.index())):
        tree.setCurrentIndex(index)
        image, row = tree.grab().toImage(), tree.visualRect(index)
        edges = [(x, y) for y in (row.top(), row.bottom()) for x in range(image.width())]
        assert {image.pixelColor(x, y).name() for x, y in edges} == {LIGHT.selected}
    tree.deleteLater()
