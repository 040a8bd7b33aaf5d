"""The style sheet template: what a palette cannot say. `$names` are filled in by `style.style_sheet`."""

from __future__ import annotations

SHEET = """
QToolTip { color: $text; background: $pane; border: 1px solid $border; padding: 4px 8px;
    font-size: $small_pt; }

QLabel { background: transparent; }
QLabel[role="title"] { font-size: $title_pt; font-weight: 600; }
QLabel[role="heading"] { font-size: $heading_pt; font-weight: 600; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="muted"] { color: $text_muted; }
QLabel[role="small"] { color: $text_muted; font-size: $small_pt; }
QLabel[role="danger"] { color: $danger; }
QLabel[role="success"] { color: $success; }
QLabel[role="warning"] { color: $warning; }
QLabel[role="mono"] { font-family: $mono; font-size: $small_pt; }
QLabel[role="badge"] { color: $text_muted; background: $sunken; border: 1px solid $border;
    border-radius: 8px;
    padding: 1px 7px; font-size: $small_pt; }

QFrame[surface] { border: none; }
QFrame[surface="window"] { background: $window; }
QFrame[surface="pane"] { background: $pane; border: 1px solid $border; border-radius: $r_large; }
QFrame[surface="card"] { background: $pane; border: 1px solid $border; border-radius: $r; }
QFrame[surface="sunken"] { background: $sunken; border: 1px solid $border; border-radius: $r; }
QFrame[surface="request"] { background: $pane; border: 1px solid $accent; border-radius: $r_large; }
QFrame[surface="bubble"] { background: $bubble; border-radius: $r_bubble; }
QFrame[surface="danger"] { background: $danger_surface; border: 1px solid $danger; border-radius: $r; }
QFrame[surface="warning"] { background: $warning_surface; border: 1px solid $warning; border-radius: $r; }
QFrame[surface="rail"] { background: $window; }
QFrame[surface="divider"] { background: $border; }

QPushButton { color: $text; background: $pane; border: 1px solid $border_strong; border-radius: $r;
    padding: 5px 13px; min-height: $control; outline: none; }
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:checked { background: $selected; }
QPushButton:focus { border: 2px solid $accent; padding: 4px 12px; }
QPushButton:disabled { color: $text_muted; background: $sunken; border-color: $border; }
QPushButton[kind="primary"] { color: $on_accent; background: $accent_fill; border-color: $accent_fill;
    font-weight: 600; }
QPushButton[kind="primary"]:hover, QPushButton[kind="primary"]:pressed { border-color: $text; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; }
QPushButton[kind="primary"]:disabled { color: $text_muted; background: $selected; border-color: $selected; }
QPushButton[kind="danger"] { color: $danger; border-color: $danger; }
QPushButton[kind="danger"]:hover { background: $danger_surface; }
QPushButton[kind="danger"]:disabled, QPushButton[kind="link"]:disabled { color: $text_muted; }
QPushButton[kind="danger"]:disabled { border-color: $border; }
QPushButton[kind="ghost"] { background: transparent; border-color: transparent; }
QPushButton[kind="ghost"]:hover { background: $hover; }
QPushButton[kind="ghost"]:focus { border-color: $accent; }
QPushButton[kind="ghost"]:disabled { color: $text_muted; }
QPushButton[kind="link"] { color: $link; background: transparent; border-color: transparent;
    padding: 1px 3px;
    min-height: 0; text-align: left; }
QPushButton[kind="link"]:hover { text-decoration: underline; }
QPushButton[kind="link"]:focus { border: 2px solid $accent; padding: 0 2px; }
QPushButton, QToolButton, QMenu, QListView, QTreeView { icon-size: $icon; }
QPushButton[kind="drop"] { background: transparent; border-color: transparent;
    padding: 5px $drop_room 5px 9px; }
QPushButton[kind="drop"]:hover { background: $hover; }
QPushButton[kind="drop"]:focus { border-color: $accent; padding: 4px $drop_room_focused 4px 8px; }
QPushButton::menu-indicator { image: url($arrow); width: $arrow_size; height: $arrow_size;
    subcontrol-origin: padding; subcontrol-position: center right; right: 6px; }

QToolButton { color: $text; background: transparent; border: 1px solid transparent; border-radius: $r;
    padding: 4px; }
QToolButton:hover { background: $hover; }
QToolButton:pressed, QToolButton:checked { background: $selected; }
QToolButton:focus { border: 2px solid $accent; padding: 3px; }
QToolButton:disabled { color: $text_muted; }
QToolButton::menu-indicator { image: none; }
QToolButton[kind="rail"] { padding: 8px; border-radius: $r_large; }
QToolButton[kind="rail"]:focus { padding: 7px; }

QAbstractScrollArea { border: none; }
QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox { color: $text; background: $field;
    border: 1px solid $border_strong;
    border-radius: $r; padding: 5px 9px; placeholder-text-color: $text_muted;
    selection-background-color: $selection; selection-color: $text; }
QLineEdit, QSpinBox { min-height: $control; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus { border: 2px solid $accent;
    padding: 4px 8px; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled { color: $text_muted; background: $sunken;
    border-color: $border; }
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"] { border-color: $danger; }
QTextBrowser { background: transparent; border: none; padding: 0; }
QTextBrowser:focus { border: none; padding: 0; }
QPlainTextEdit[surface="sunken"] { background: $sunken; border-color: $border; }
QPlainTextEdit[surface="sunken"]:focus { border-color: $accent; }
QPlainTextEdit[bare="true"], QTextEdit[bare="true"] { background: transparent; border: none; padding: 0;
    border-radius: 0; }

QComboBox { color: $text; background: $field; border: 1px solid $border_strong; border-radius: $r;
    padding: 5px $combo_room 5px 9px; min-height: $control; }
QComboBox:hover { background: $hover; }
QComboBox:focus { border: 2px solid $accent; padding: 4px $combo_room_focused 4px 8px; }
QComboBox:disabled { color: $text_muted; background: $sunken; border-color: $border; }
QComboBox::drop-down { border: none; width: $combo_arrow; }
QComboBox::down-arrow { image: url($arrow); width: $arrow_size; height: $arrow_size; }
QComboBox QAbstractItemView { background: $pane; border: 1px solid $border;
    selection-background-color: $selected;
    selection-color: $text; padding: 4px; outline: none; }

QMenuBar { background: $window; color: $text; padding: 2px 6px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: $r_small; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $pane; color: $text; border: 1px solid $border; padding: 4px; }
QMenu[round="true"] { border-radius: $r; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: $r_small; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $text_muted; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }

#transcript { background: $pane; }
QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget[clear="true"] { background: transparent; }
QListView, QTreeView { background: transparent; border: none; outline: none; }
QListView::item, QTreeView::item { padding: 4px; border-radius: $r_small; color: $text; }
QListView::item:hover, QTreeView::item:hover { background: $hover; }
QListView::item:selected, QTreeView::item:selected { background: $selected; color: $text; }
QListView[ring="true"]::item { border: 2px solid transparent; padding: 2px; }
QListView[ring="true"]::item:focus { border-color: $accent; }
QTreeView { show-decoration-selected: 1; qproperty-indentation: $indent; }
QTreeView::item { border-radius: 0; }
QTreeView::branch:hover { background: $hover; }
QTreeView::branch:selected { background: $selected; }
QTreeView::branch:has-children:closed { image: url($branch_closed); }
QTreeView::branch:has-children:open { image: url($branch_open); }

QScrollBar:vertical { background: transparent; width: 10px; margin: 2px; border: none; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; border: none; }
QScrollBar::handle { background: $border_strong; border-radius: 3px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: $text_muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $border_strong; border-radius: 2px; }

QTabBar { background: transparent; }
QTabBar::tab { color: $text_muted; background: transparent; padding: 6px 12px; border: none;
    border-bottom: 2px solid transparent; }
QTabBar::tab:hover { color: $text; background: $hover; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { color: $text; background: $hover; }
QTabWidget::pane { border: none; border-top: 1px solid $border; }

QProgressBar { background: $sunken; border: none; border-radius: 2px; max-height: 4px; }
QProgressBar::chunk { background: $accent; border-radius: 2px; }
QCheckBox, QRadioButton { background: transparent; spacing: 8px; }
QCheckBox:focus, QRadioButton:focus { color: $link; }
QCheckBox:disabled, QRadioButton:disabled { color: $text_muted; }
QCheckBox::indicator, QListView::indicator, QTreeView::indicator { width: $box; height: $box;
    background: $field; border: 1px solid $border_strong; border-radius: 4px; }
QRadioButton::indicator { width: $box; height: $box; background: $field;
    border: 1px solid $border_strong; border-radius: $box_round; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox::indicator:checked, QListView::indicator:checked, QTreeView::indicator:checked {
    background: $accent_fill; border-color: $accent_fill; image: url($tick); }
QRadioButton::indicator:checked { background: $field; border: $radio_ring solid $accent_fill;
    width: $radio_hole; height: $radio_hole; }
QSlider { background: transparent; }
QDialog { background: $pane; }
"""
