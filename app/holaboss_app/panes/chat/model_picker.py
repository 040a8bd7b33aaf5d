"""Which model answers: a button with its name, and a searchable list of all that are connected.

The first entry is the default, which sends no model at all and lets the runtime decide. Any text can be
used as a model id, because providers add models faster than lists do.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core.models import DEMO_PROVIDER, is_demo, provider_names, short_name
from holaboss_app.panes.chat.popup import corner, room_around
from holaboss_app.theme import tokens as t
from holaboss_app.theme.drop_button import DropButton
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import scaled, ui_font
from holaboss_client.config import ProviderCatalogue, ProviderView

_MODEL = Qt.ItemDataRole.UserRole
_ROWS = 12
DEFAULT = ""
"""What stands for no explicit model."""


def connected(catalogue: ProviderCatalogue | None) -> list[ProviderView]:
    """Providers that can be used."""
    return [provider for provider in catalogue.providers if provider.connected] if catalogue else []


class SearchField(QLineEdit):
    """Arrow keys move in the list below while the text keeps the focus."""

    moved = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.moved.emit(step)


class ModelPopup(QFrame):
    chosen = Signal(str)
    settings_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._catalogue: ProviderCatalogue | None = None
        self._current = DEFAULT
        self.setObjectName("model-popup")
        self.setProperty("surface", "card")
        self._search = SearchField(self)
        self._search.setPlaceholderText(self.tr("Search, or type a model id"))
        self._search.setAccessibleName(self.tr("Search models"))
        self._list = QListWidget(self)
        self._list.setAccessibleName(self.tr("Models"))
        self._list.setIconSize(QSize(scaled(14), scaled(14)))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        edit = QPushButton(self.tr("Edit models…"), self)
        edit.setProperty("kind", "ghost")
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        for widget in (self._search, self._list, edit):
            column.addWidget(widget)
        self._search.textChanged.connect(self._fill)
        self._search.returnPressed.connect(self._choose_current)
        self._search.moved.connect(self._move)
        self._list.itemClicked.connect(self._choose)
        edit.clicked.connect(self._edit)

    def open_at(self, anchor: QWidget, catalogue: ProviderCatalogue | None, current: str) -> None:
        """Show the list with `current` ticked, above `anchor` or below it, wherever there is room."""
        self._catalogue, self._current = catalogue, current
        self._search.clear()
        self._fill()
        heights = (self._list.sizeHintForRow(row) for row in range(min(_ROWS, self._list.count())))
        self._list.setFixedHeight(sum(heights) + 4)
        self.setFixedWidth(min(scaled(340), room_around(anchor).width()))
        self.adjustSize()
        self.move(corner(anchor, self.size(), above=True))
        self.show()
        self._search.setFocus()

    def _fill(self) -> None:
        self._list.clear()
        typed = self._search.text().strip()
        wanted = typed.casefold()
        if not wanted:
            self._add(self.default_label(self._catalogue), DEFAULT)
        for provider in connected(self._catalogue):
            names = [(model, f"{provider.id}/{model}") for model in provider.models]
            matching = [item for item in names if wanted in f"{item[1]} {provider.name}".casefold()]
            demo = provider.id == DEMO_PROVIDER
            if matching:
                self._add_heading(self.tr("Demo") if demo else provider.name)
            for name, model in matching:
                self._add(provider.name if demo else name, model)
        known = (self._list.item(row).data(_MODEL) for row in range(self._list.count()))
        if typed and typed not in known:
            self._add(self.tr("Use “%s”").replace("%s", typed), typed)
        self._move(1)

    def default_label(self, catalogue: ProviderCatalogue | None) -> str:
        model = catalogue.default_model if catalogue else None
        if not model:
            return self.tr("Default model")
        name = self.tr("demo model") if is_demo(model) else short_name(model)
        return self.tr("Default (%s)").replace("%s", name)

    def _add(self, text: str, model: str) -> None:
        item = QListWidgetItem(_tick(ticked=model == self._current), text)
        item.setData(_MODEL, model)
        item.setSizeHint(QSize(0, scaled(t.CONTROL_HEIGHT)))
        if model == self._current:
            spoken = self.tr("%s, selected").replace("%s", text)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
        self._list.addItem(item)

    def _add_heading(self, text: str) -> None:
        item = QListWidgetItem(text)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setFont(ui_font(t.SMALL_POINTS))
        item.setSizeHint(QSize(0, scaled(t.CONTROL_HEIGHT)))
        self._list.addItem(item)

    def _move(self, step: int) -> None:
        """Select the next row that is a model."""
        row = self._list.currentRow() + step
        while 0 <= row < self._list.count():
            if self._list.item(row).flags() & Qt.ItemFlag.ItemIsSelectable:
                self._list.setCurrentRow(row)
                return
            row += step

    def _choose_current(self) -> None:
        if (row := self._list.currentRow()) >= 0:
            self._choose(self._list.item(row))

    def _choose(self, item: QListWidgetItem) -> None:
        model = item.data(_MODEL)
        if isinstance(model, str):
            self.close()
            self.chosen.emit(model)

    def _edit(self) -> None:
        self.close()
        self.settings_requested.emit()


class ModelPicker(DropButton):
    """`model` is `provider/model`, or null for the default."""

    model_changed = Signal()
    effective_changed = Signal(str)
    """The model that would answer now, chosen or default; empty when that is not known."""
    settings_requested = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._catalogue: ProviderCatalogue | None = None
        self._model = DEFAULT
        self._name = ""
        self._effective = ""
        self.setObjectName("model-picker")
        # Not below the button: Qt hands the colours of a styled button down to everything inside it.
        self._popup = ModelPopup(parent)
        self._popup.chosen.connect(self._choose)
        self._popup.settings_requested.connect(self._edit_models)
        self.clicked.connect(self._open)
        self._describe()

    @property
    def model(self) -> str | None:
        return self._model or None

    def set_model(self, model: str | None) -> None:
        self._model = model or DEFAULT
        self._describe()

    def set_catalogue(self, catalogue: ProviderCatalogue) -> None:
        self._catalogue = catalogue
        self._describe()

    def _open(self) -> None:
        self._popup.open_at(self, self._catalogue, self._model)

    def _choose(self, model: str) -> None:
        if model != self._model:
            self.set_model(model)
            self.model_changed.emit()

    def _edit_models(self) -> None:
        self.settings_requested.emit("models")

    def _describe(self) -> None:
        effective = self._model or (self._catalogue.default_model if self._catalogue else "") or ""
        self._name = self._name_of(effective)
        self.setAccessibleName(self.tr("Model: %s").replace("%s", self._name))
        self.setToolTip(self._model or self._name)
        self.set_label(self._name, Qt.TextElideMode.ElideMiddle)
        if effective != self._effective:
            self._effective = effective
            self.effective_changed.emit(effective)

    def _name_of(self, model: str) -> str:
        if is_demo(model):
            return provider_names(self._catalogue).get(DEMO_PROVIDER) or short_name(model)
        return short_name(self._model) if self._model else self._popup.default_label(self._catalogue)

    def sizeHint(self) -> QSize:
        return super().sizeHint().boundedTo(QSize(scaled(260), 10_000))


def _tick(*, ticked: bool) -> QIcon:
    """A tick, or an empty place as wide as one so that all names stand below each other."""
    if ticked:
        return icon("check", "accent")
    empty = QPixmap(16, 16)
    empty.fill(Qt.GlobalColor.transparent)
    return QIcon(empty)
