"""A question of the agent: the answers it offers, a field for words of one's own, and the way to skip it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QLineEdit,
    QRadioButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from holaboss_app.core import requests
from holaboss_app.core.requests import Option, Request
from holaboss_app.core.visible import for_label, spelt_out
from holaboss_app.panes.chat.request_card import RequestCard
from holaboss_app.theme.style import scaled

_ONE_LINE = 60
"""How long a label may be that a button shows by itself: a button wraps nothing."""


class OptionRow(QWidget):
    """One answer that is offered: a button with its number, and a line that explains it."""

    def __init__(self, parent: QWidget, number: int, option: Option, *, multiple: bool) -> None:
        super().__init__(parent)
        self.option = option
        label = " ".join(spelt_out(option.label, " \n\t").split())
        fits = len(label) <= _ONE_LINE
        words = f"{number}.  {label if fits else label[: _ONE_LINE - 1] + '…'}".replace("&", "&&")
        self.button = QCheckBox(words, self) if multiple else QRadioButton(words, self)
        self.button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.button.setObjectName(f"option-{number}")
        self.button.setAccessibleName(option.label)
        self.button.setAccessibleDescription(option.description)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self.button)
        for text in ("" if fits else label, option.description):
            if text:
                column.addWidget(self._explanation(text))

    def _explanation(self, text: str) -> QLabel:
        explanation = QLabel(for_label(text), self)
        explanation.setProperty("role", "small")
        explanation.setTextFormat(Qt.TextFormat.PlainText)
        explanation.setWordWrap(True)
        explanation.setContentsMargins(scaled(24), 0, 0, 0)
        return explanation


class QuestionCard(RequestCard):
    def __init__(self, parent: QWidget, request: Request) -> None:
        super().__init__(parent, request)
        self._rows = [
            OptionRow(self, number, option, multiple=request.allow_multiple)
            for number, option in enumerate(request.options, 1)
        ]
        for row in self._rows:
            row.button.toggled.connect(self._update)
            self.column.addWidget(row)
        for button in self._radio_buttons():
            button.setAutoExclusive(False)  # each stands in a row of its own; `_choose` keeps them exclusive
            button.clicked.connect(self._only)
        self._field = QLineEdit(self)
        self._field.setObjectName("request-answer")
        own = self.tr("In your own words") if self._rows else self.tr("Your answer")
        self._field.setPlaceholderText(own)
        self._field.setAccessibleName(own)
        self._field.textChanged.connect(self._update)
        self.column.addWidget(self._field)
        self.buttons.addStretch(1)
        self._skip_button = self.add_button(self.tr("S&kip"), "request-skip")
        self._send_button = self.add_button(self.tr("&Answer"), "request-send", "primary")
        self._skip_button.clicked.connect(lambda: self.decided.emit(requests.answer(())))
        self._send_button.clicked.connect(self._send)
        self.finish(request.question or self.tr("The agent asks you something."))
        self._update()

    def focus_first(self) -> None:
        first = self._rows[0].button if self._rows else self._field
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Numbers choose, unless somebody is writing; Return answers."""
        number = event.key() - Qt.Key.Key_0.value
        if 1 <= number <= len(self._rows) and not event.isAutoRepeat():
            self._choose(number - 1)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            self._send()
        else:
            super().keyPressEvent(event)

    def _choose(self, place: int) -> None:
        button = self._rows[place].button
        button.setFocus(Qt.FocusReason.OtherFocusReason)
        button.click()

    def _only(self) -> None:
        """Of answers that exclude each other the one that was chosen last is left."""
        chosen = self.sender()
        for button in self._radio_buttons():
            button.setChecked(button is chosen)

    def _radio_buttons(self) -> list[QRadioButton]:
        return [row.button for row in self._rows if isinstance(row.button, QRadioButton)]

    def _chosen(self) -> list[str]:
        return [row.option.label for row in self._rows if row.button.isChecked()]

    def _update(self) -> None:
        self._send_button.setEnabled(bool(self._chosen() or self._field.text().strip()))

    def _send(self) -> None:
        if self._send_button.isEnabled():
            self.decided.emit(requests.answer(self._chosen(), self._field.text()))
