"""One model provider: a row that says what it is and whether it works, and the form beneath it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QToolButton, QWidget

from holaboss_app.panes.settings.form import ProviderDraft
from holaboss_app.panes.settings.key_field import KeyEntry, KeyPlace
from holaboss_app.panes.settings.parts import (
    ClickableRow,
    Notice,
    column,
    push_button,
    row,
    set_role,
    text_label,
)
from holaboss_app.panes.settings.provider_form import ProviderForm
from holaboss_app.panes.settings.text import ADDRESS, breakable
from holaboss_app.theme.focus import set_waiting
from holaboss_app.theme.icons import icon
from holaboss_app.theme.style import current_tokens, repolish, scaled, theme_notifier
from holaboss_client.config import ProviderView

DEMO_ID: Final = "demo"
LONGEST_PART: Final = 10
"""A longer word of a name is broken, so that its button keeps its place beside it."""


class Monogram(QWidget):
    """The first letter of a name in a soft square: brand marks are not ours to use."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._letter = name[:1].upper()
        theme_notifier().theme_changed.connect(self._resize)
        self._resize()

    def sizeHint(self) -> QSize:
        return QSize(scaled(34), scaled(34))

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = current_tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.selected))
        painter.drawRoundedRect(QRectF(self.rect()), 8, 8)
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(tokens.text))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._letter)

    def _resize(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()


class ProviderCard(QFrame):
    """Says what the person wants through signals and shows what it is told; it talks to nobody.

    `connect_requested` carries the draft and the typed key (empty: none), `disconnect_requested` whether the
    key is to be forgotten too.
    """

    connect_requested = Signal(ProviderDraft, str)
    disconnect_requested = Signal(bool)

    def __init__(self, view: ProviderView) -> None:
        super().__init__()
        self.setObjectName(f"provider-card-{view.id}")
        self.setProperty("surface", "card")
        self.provider_id = view.id
        self.form = ProviderForm(view)
        self._place: KeyPlace = "none"
        self._busy = False
        self.setAccessibleName(view.name)
        self._build_head(view)
        self.problem = Notice(surface="danger")
        self.problem.setObjectName("card-problem")
        self.problem.hide()
        self._confirm = self._build_confirm()
        self._body = QWidget()
        body = column(self._body)
        body.setContentsMargins(0, 8, 0, 0)
        body.addWidget(self._build_about_demo() if view.id == DEMO_ID else self.form)
        layout = column(self, spacing=8, margins=12)
        for widget in (self._head, self.problem, self._confirm, self._body):
            layout.addWidget(widget)
        self.set_expanded(False)
        self.show_view(view, view.key_state, KeyEntry.KEYCHAIN)

    def _build_head(self, view: ProviderView) -> None:
        self._head = ClickableRow()
        self.name_label = text_label(breakable(view.name, LONGEST_PART), "heading")
        self.description = text_label(view.description, "small")
        self.state_label = text_label("", "muted")
        self.state_label.setObjectName("provider-state")
        self.connect_button = push_button("", "connect")
        self.connect_button.clicked.connect(self._connect_clicked)
        self.chevron = QToolButton()
        self.chevron.setObjectName("expand")
        self.chevron.setMinimumSize(28, 28)  # grows with its icon
        self.chevron.clicked.connect(self.toggle)
        self._head.clicked.connect(self.toggle)
        self.form.key.input.returnPressed.connect(self._key_entered)
        words = column(words_box := QWidget(), spacing=2)
        for label in (self.name_label, self.description, self.state_label):
            words.addWidget(label)
        # Not before it is inside something: until then it would be shown as a window of its own.
        self.description.setVisible(bool(view.description))
        line = row(spacing=12)
        self._head.setLayout(line)
        line.addWidget(Monogram(view.name))
        line.addWidget(words_box, 1)
        line.addWidget(self.connect_button)
        line.addWidget(self.chevron)

    def _build_confirm(self) -> Notice:
        notice = Notice()
        notice.setObjectName("disconnect-question")
        self.forget_key = QCheckBox()
        self.forget_key.setObjectName("forget-key")
        self.forget_key.setChecked(True)
        notice.add(self.forget_key)
        yes = push_button(self.tr("Disconnect"), "confirm-disconnect", kind="danger")
        self.confirm_disconnect = notice.add_button(yes)
        yes.clicked.connect(self._confirmed)
        self._stay = notice.add_button(push_button(self.tr("Cancel"), "cancel-disconnect", kind="ghost"))
        self._stay.clicked.connect(self._cancelled)
        notice.hide()
        return notice

    def _build_about_demo(self) -> QWidget:
        self.form.hide()
        self.form.setParent(self)
        return text_label(
            self.tr(
                "A small script plays the part of a model: it streams text, code and tables and calls"
                " tools when asked to. It needs no key and no network, and its answers are not those of a real model."
            ),
            "muted",
        )

    # What the presenter tells

    @property
    def view(self) -> ProviderView:
        return self.form.view

    def show_view(self, view: ProviderView, place: KeyPlace, entry: KeyEntry) -> None:
        """Take over what is stored and where the key is; what is being typed stays."""
        self._place = place
        self.form.show_view(view, place, entry)
        self._confirm.hide()
        self._confirm.label.setText(self._question())
        self.forget_key.setVisible(place in {"keychain", "keychain_missing", "session"})
        kept = self.tr("Also remove its key from the keychain")
        self.forget_key.setText(self.tr("Also forget its key") if place == "session" else kept)
        words, role = self._state_words(view)
        self.state_label.setText(words)
        self.state_label.setVisible(bool(words))
        set_role(self.state_label, role)
        self._arrange_button()

    def set_busy(self, busy: bool) -> None:
        """While a connect or disconnect is on its way its button waits."""
        self._busy = busy
        self._arrange_button()

    def fail(self, sentence: str) -> None:
        """Say why connecting or disconnecting did not work; an empty sentence takes it back."""
        self.problem.say(breakable(sentence, ADDRESS))

    def ask_for_key(self) -> None:
        self.set_expanded(True)
        self.form.key.ask(self.tr("Enter an API key, then connect."))

    @property
    def first_input(self) -> QWidget:
        """Where the caret goes when the card is opened from elsewhere."""
        wants_key = self._place == "none" and self.form.needs_key()
        return self.form.key.input if wants_key and self.provider_id != DEMO_ID else self.connect_button

    @property
    def expanded(self) -> bool:
        return self._expanded

    def set_expanded(self, expanded: bool) -> None:
        self._expanded = expanded
        self._body.setVisible(expanded)
        words = self.tr("Hide details of {name}") if expanded else self.tr("Show details of {name}")
        self.chevron.setAccessibleName(words.format(name=self.view.name))
        self.chevron.setIcon(icon("chevron-down" if expanded else "chevron-right"))

    def toggle(self) -> None:
        self.set_expanded(not self._expanded)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape answers the question whether to disconnect; otherwise it is the page's."""
        if event.key() == Qt.Key.Key_Escape and self._confirm.isVisible():
            self._cancelled()
        else:
            super().keyPressEvent(event)

    # Inside

    def _question(self) -> str:
        name = self.view.name
        question = self.tr("Disconnect {name}? Its models leave the model picker.").format(name=name)
        if self._place != "literal":
            return question
        return self.tr("{question} Its key is deleted from runtime-config.json.").format(question=question)

    def _state_words(self, view: ProviderView) -> tuple[str, str]:
        if not view.connected:
            return "", "muted"
        if self._place == "literal":
            return self.tr("Key in plain text"), "warning"
        no_key = self._place == "none" and self.form.needs_key()
        if no_key or self._place == "keychain_missing":
            return self.tr("Key missing"), "warning"
        return self.tr("Connected"), "success"

    def _arrange_button(self) -> None:
        connected = self.view.connected
        words = self.tr("Disconnect") if connected else self.tr("Connect")
        self.connect_button.setText(words)
        self.connect_button.setAccessibleName(f"{words}: {self.view.name}")
        self.connect_button.setProperty("kind", "ghost" if connected else "")
        set_waiting(self.connect_button, self._busy)
        repolish(self.connect_button)

    def _connect_clicked(self) -> None:
        self.fail("")
        if self.view.connected:
            self._confirm.show()
            self._stay.setFocus()
        elif self.provider_id == DEMO_ID or self.form.check():
            self.connect_requested.emit(self.form.draft, self.form.key.key)
        else:
            self.set_expanded(True)

    def _key_entered(self) -> None:
        if not self.view.connected:
            self._connect_clicked()

    def _confirmed(self) -> None:
        self._confirm.hide()
        self.disconnect_requested.emit(
            self.forget_key.isVisibleTo(self._confirm) and self.forget_key.isChecked()
        )

    def _cancelled(self) -> None:
        self._confirm.hide()
        self.connect_button.setFocus()
