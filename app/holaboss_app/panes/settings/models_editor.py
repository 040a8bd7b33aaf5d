"""The model ids of one provider: typed, one per line, or ticked in the list that the provider gives."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QPlainTextEdit, QWidget

from holaboss_app.panes.settings.form import split_models
from holaboss_app.panes.settings.parts import Field, column, push_button, text_label
from holaboss_app.theme.style import scaled, theme_notifier

MIN_LINES, MAX_LINES = 3, 8
ROW_HEIGHT = 28


class ModelsText(QPlainTextEdit):
    """Grows from three to eight lines, then scrolls; Tab leaves it."""

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.textChanged.connect(self.fit)
        theme_notifier().theme_changed.connect(self.fit)
        self.fit()

    def fit(self) -> None:
        lines = min(MAX_LINES, max(MIN_LINES, self.blockCount()))
        frame = self.contentsMargins()
        around = frame.top() + frame.bottom() + 2 * self.document().documentMargin()
        # A line is as high as a whole number of pixels, and one pixel has to stay empty below the last.
        self.setFixedHeight(ceil(lines * ceil(QFontMetricsF(self.font()).lineSpacing()) + around) + 1)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.fit()


class ModelsEditor(QWidget):
    """Text is the truth; the list only ticks ids in and out of it."""

    edited = Signal()
    discovery_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.text = ModelsText()
        self.field = Field(self.tr("Models"), self.text, name="models")
        self.discover = push_button(self.tr("Find models"), "find-models", kind="link")
        self.discover.clicked.connect(self.discovery_requested)
        self.field.head.addWidget(self.discover)
        self._offer = self._build_offer()
        layout = column(self)
        layout.addWidget(self.field)
        layout.addWidget(self._offer)
        self.text.textChanged.connect(self._text_changed)

    def _build_offer(self) -> QWidget:
        offer = QWidget()
        self._count = text_label("", "small")
        self.filter = QLineEdit()
        self.filter.setObjectName("filter-models")
        self.filter.setPlaceholderText(self.tr("Filter"))
        self.filter.setAccessibleName(self.tr("Filter the models found"))
        self.filter.textChanged.connect(self._apply_filter)
        self.list = QListWidget()
        self.list.setObjectName("found-models")
        self.list.setAccessibleName(self.tr("Models found at the provider"))
        self.list.setUniformItemSizes(True)
        self.list.setProperty("ring", "true")
        self.list.itemChanged.connect(self._ticked)
        layout = column(offer, spacing=4)
        for widget in (self._count, self.filter, self.list):
            layout.addWidget(widget)
        theme_notifier().theme_changed.connect(self._fit)
        offer.hide()
        return offer

    @property
    def models(self) -> tuple[str, ...]:
        return split_models(self.text.toPlainText())

    def set_models(self, models: tuple[str, ...]) -> None:
        """Replace the text without reporting an edit."""
        if models == self.models:
            return
        self.text.blockSignals(True)
        self.text.setPlainText("\n".join(models))
        self.text.blockSignals(False)
        self.text.fit()
        self._tick()

    def offer(self, found: list[str]) -> None:
        """Show what the provider lists, ticked where it is already in the text; an empty list hides it."""
        self.list.blockSignals(True)
        self.list.clear()
        for model in found:
            item = QListWidgetItem(model)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(_state(model in self.models))
            self.list.addItem(item)
        self.list.blockSignals(False)
        words = self.tr("Models found at the provider: {count}. Tick those you want.")
        self._count.setText(words.format(count=len(found)))
        self.filter.setVisible(len(found) > MAX_LINES)
        self._fit()
        self._offer.setVisible(bool(found))

    def _fit(self) -> None:
        self.list.blockSignals(True)
        for item in self._items():
            item.setSizeHint(QSize(0, scaled(ROW_HEIGHT)))
        self.list.blockSignals(False)
        self.list.setFixedHeight(min(self.list.count(), MAX_LINES) * scaled(ROW_HEIGHT) + 2)

    def _text_changed(self) -> None:
        self._tick()
        self.edited.emit()

    def _tick(self) -> None:
        self.list.blockSignals(True)
        models = set(self.models)
        for item in self._items():
            item.setCheckState(_state(item.text() in models))
        self.list.blockSignals(False)

    def _ticked(self, item: QListWidgetItem) -> None:
        models = [model for model in self.models if model != item.text()]
        if item.checkState() is Qt.CheckState.Checked:
            models = [*self.models, item.text()] if item.text() not in self.models else list(self.models)
        self.text.setPlainText("\n".join(models))

    def _apply_filter(self, text: str) -> None:
        for item in self._items():
            item.setHidden(text.strip().lower() not in item.text().lower())

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(row) for row in range(self.list.count())]


def _state(checked: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked
