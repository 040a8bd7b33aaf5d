"""Turns tokens into what Qt draws with: a palette, a font and one style sheet for the whole application.

Widgets ask for looks by dynamic property and never carry a style sheet of their own:

- `QLabel[role=…]`: `title`, `heading`, `muted`, `small`, `danger`, `success`, `warning`, `mono`, `badge`, `strong`
- `QFrame[surface=…]`: `window`, `pane`, `card`, `sunken`, `bubble`, `danger`, `warning`,
  `rail`, `divider`, `request`
- `QPushButton[kind=…]`: none (tonal), `primary`, `danger`, `ghost`, `link`, and `drop` of a `DropButton`;
  `QToolButton` is always a quiet icon button, `[kind=rail]` the large one of the left rail
- `QMenu[round=true]`: see `theme.menus`

After changing such a property of a visible widget, call `repolish(widget)`.
"""

from __future__ import annotations

from dataclasses import asdict
from string import Template
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from holaboss_app.theme import tokens as t
from holaboss_app.theme.resources import resource_path
from holaboss_app.theme.sheet import SHEET

Scheme = Literal["light", "dark", "system"]
SMALLEST_SCALE, LARGEST_SCALE = 0.8, 2.0
_QT_SCHEMES = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}
_UI_FAMILIES = (
    "Inter",
    "Segoe UI Variable",
    "Segoe UI",
    "SF Pro Text",
    "Cantarell",
    "Noto Sans",
    "DejaVu Sans",
)
_FIELD_PARTS = {
    "tick": "field-tick",
    "arrow": "field-arrow",
    "branch_open": "field-branch-open",
    "branch_closed": "field-branch-closed",
}
_MONO_FAMILIES = ("JetBrains Mono", "SF Mono", "Cascadia Mono", "Consolas", "Menlo", "DejaVu Sans Mono")


class ThemeNotifier(QObject):
    """`theme_changed` follows every change of colours or text scale, after it has been applied."""

    theme_changed = Signal()


class _Current:
    tokens: t.Tokens = t.LIGHT
    scale: float = 1.0
    scheme: Scheme = "system"
    notifier: ThemeNotifier | None = None
    follows_system: bool = False


def current_tokens() -> t.Tokens:
    return _Current.tokens


def scale() -> float:
    """The text scale, 0.8 to 2.0."""
    return _Current.scale


def scaled(pixels: float) -> int:
    """A distance that grows with the text, in logical pixels."""
    return round(pixels * _Current.scale)


def theme_notifier() -> ThemeNotifier:
    if _Current.notifier is None:
        _Current.notifier = ThemeNotifier()
    return _Current.notifier


def apply(app: QApplication, scheme: Scheme, text_scale: float) -> None:
    """Dress the whole application. `system` follows the desktop's preference from then on; unknown: light."""
    _Current.scheme = scheme
    _Current.scale = min(LARGEST_SCALE, max(SMALLEST_SCALE, text_scale))
    hints = QGuiApplication.styleHints()
    if not _Current.follows_system:
        _Current.follows_system = True
        app.setStyle("Fusion")
        hints.colorSchemeChanged.connect(lambda: _system_changed(app))
    wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}[
        scheme
    ]
    hints.setColorScheme(wanted)
    _dress(app)


def repolish(widget: QWidget) -> None:
    """Make a changed dynamic property visible."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()


def ui_font(points: float = t.UI_POINTS) -> QFont:
    """The user interface font at `points`, scaled."""
    font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont))
    font.setFamilies([font.family(), *_UI_FAMILIES])
    font.setPointSizeF(points * _Current.scale)
    return font


def mono_font(points: float = t.UI_POINTS) -> QFont:
    """The fixed-width font at `points`, scaled."""
    font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
    font.setFamilies([font.family(), *_MONO_FAMILIES])
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPointSizeF(points * _Current.scale)
    return font


def _system_changed(app: QApplication) -> None:
    if _Current.scheme == "system":
        _dress(app)


def _dress(app: QApplication) -> None:
    dark = _Current.scheme == "dark" or (
        _Current.scheme == "system" and QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    )
    _Current.tokens = t.DARK if dark else t.LIGHT
    app.setFont(ui_font())
    app.setPalette(palette(_Current.tokens))
    app.setStyleSheet(style_sheet(_Current.tokens, _Current.scale))
    theme_notifier().theme_changed.emit()


def palette(tokens: t.Tokens) -> QPalette:
    """What Fusion draws with."""
    roles = QPalette.ColorRole
    colours = {
        roles.Window: tokens.window,
        roles.WindowText: tokens.text,
        roles.Base: tokens.field,
        roles.AlternateBase: tokens.sunken,
        roles.Text: tokens.text,
        roles.PlaceholderText: tokens.text_muted,
        roles.Button: tokens.pane,
        roles.ButtonText: tokens.text,
        roles.BrightText: tokens.danger,
        roles.Highlight: tokens.selection,
        roles.HighlightedText: tokens.text,
        roles.Accent: tokens.accent,
        roles.Link: tokens.link,
        roles.LinkVisited: tokens.link,
        roles.ToolTipBase: tokens.pane,
        roles.ToolTipText: tokens.text,
        roles.Light: tokens.pane,
        roles.Midlight: tokens.hover,
        roles.Mid: tokens.border_strong,
        roles.Dark: tokens.border_strong,
        roles.Shadow: tokens.border,
    }
    result = QPalette()
    for role, colour in colours.items():
        result.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.text_muted))
    return result


def style_sheet(tokens: t.Tokens, text_scale: float) -> str:
    """The one style sheet, filled in. A `$name` without a value is an error."""
    names: dict[str, str] = {key: str(value) for key, value in asdict(tokens).items()}
    for key, points in (("ui", t.UI_POINTS), ("small", t.SMALL_POINTS), ("title", t.TITLE_POINTS)):
        names[f"{key}_pt"] = f"{points * text_scale:.2f}pt"
    names["heading_pt"] = f"{(t.UI_POINTS + 1) * text_scale:.2f}pt"
    for key, pixels in (("control", t.CONTROL_HEIGHT), ("control_large", t.CONTROL_HEIGHT_LARGE)):
        names[key] = f"{round((pixels - 12) * text_scale)}px"
    names |= {"r_small": f"{t.RADIUS_SMALL}px", "r": f"{t.RADIUS}px", "r_large": f"{t.RADIUS_LARGE}px"}
    names["r_bubble"] = f"{t.RADIUS_BUBBLE}px"
    names |= {key: f"{pixels}px" for key, pixels in _sizes(text_scale).items()}
    names["indent"] = str(round(t.INDENT * text_scale))  # a property, not a length: it takes no unit
    for key, drawing in _FIELD_PARTS.items():
        names[key] = resource_path("icons", f"{drawing}.svg").as_posix()
    names["mono"] = ", ".join(f'"{family}"' for family in _MONO_FAMILIES)
    return Template(SHEET).substitute(names)


def _sizes(text_scale: float) -> dict[str, int]:
    """What is drawn beside text and must grow with it, in pixels."""

    def grown(pixels: float) -> int:
        return round(pixels * text_scale)

    box, hole = grown(15), grown(7)
    ring = (box - hole) // 2 + 1
    return {
        "icon": grown(t.ICON),
        "arrow_size": grown(14),
        "combo_arrow": grown(24),
        "combo_room": grown(26),
        "combo_room_focused": grown(26) - 1,
        "drop_room": grown(26),
        "drop_room_focused": grown(26) - 1,
        "box": box,
        # A circle whatever the rounding: half of the box and of its two borders.
        "box_round": (box + 2) // 2,
        "radio_hole": box + 2 - 2 * ring,
        "radio_ring": ring,
    }
