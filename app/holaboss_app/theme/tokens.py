"""Every colour, size and distance of the interface, by the name of its job. Widgets never spell a colour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """One palette. Colours are `#rrggbb`; every text colour reaches 4.5:1 on the surfaces it is used on."""

    name: str
    window: str
    """Behind the panes."""
    pane: str
    """Panes, cards and menus."""
    field: str
    """Inputs and the composer."""
    sunken: str
    """Code blocks, table heads, tool details."""
    hover: str
    selected: str
    bubble: str
    """What the person said."""
    border: str
    border_strong: str
    text: str
    text_muted: str
    accent: str
    """Focus rings, active icons, the caret of a running answer."""
    accent_fill: str
    """Filled buttons."""
    on_accent: str
    link: str
    selection: str
    danger: str
    danger_surface: str
    success: str
    warning: str
    warning_surface: str
    info: str


LIGHT = Tokens(
    name="light",
    window="#f1f1f2",
    pane="#ffffff",
    field="#ffffff",
    sunken="#f5f5f6",
    hover="#ececee",
    selected="#e4e4e7",
    bubble="#fdebe7",
    border="#e1e1e4",
    border_strong="#b9b9c0",
    text="#17171a",
    text_muted="#62626b",
    accent="#d92b0b",
    accent_fill="#d92b0b",
    on_accent="#ffffff",
    link="#b5290e",
    selection="#ffd9d0",
    danger="#c4000a",
    danger_surface="#fdecec",
    success="#137a34",
    warning="#8a5a00",
    warning_surface="#fff5dc",
    info="#0a66a8",
)

DARK = Tokens(
    name="dark",
    window="#0b0b0c",
    pane="#141416",
    field="#1b1b1e",
    sunken="#1e1e21",
    hover="#27272b",
    selected="#303036",
    bubble="#3a1d17",
    border="#2b2b30",
    border_strong="#4b4b53",
    text="#f4f4f5",
    text_muted="#a0a0a9",
    accent="#ff5a3c",
    accent_fill="#d92b0b",
    on_accent="#ffffff",
    link="#ff8a72",
    selection="#5a2a1f",
    danger="#ff7a7b",
    danger_surface="#331416",
    success="#4cc474",
    warning="#f2b544",
    warning_surface="#30240d",
    info="#5db5f2",
)

RADIUS_SMALL, RADIUS, RADIUS_LARGE, RADIUS_BUBBLE = 5, 8, 12, 16
CONTROL_HEIGHT, CONTROL_HEIGHT_LARGE = 30, 36
ICON, INDENT = 16, 20
"""An icon beside text, and a level of a tree, in logical pixels at 100 % text."""

MEASURE = 760
"""Widest line of an answer, in logical pixels at 100 % text."""

UI_POINTS, PROSE_POINTS, SMALL_POINTS, TITLE_POINTS = 10.0, 10.5, 9.0, 15.0
"""Text sizes at 100 %; the text scale of the settings (80 to 200 %) multiplies them."""
