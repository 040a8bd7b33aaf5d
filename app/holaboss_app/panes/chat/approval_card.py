"""A call that needs permission: what it would do, why somebody is asked, and what may be decided."""

from __future__ import annotations

import itertools
import re

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QMenu, QPlainTextEdit, QPushButton, QWidget

from holaboss_app.core import requests
from holaboss_app.core.requests import Request
from holaboss_app.core.visible import for_label
from holaboss_app.panes.chat.request_card import RequestCard
from holaboss_app.panes.chat.request_words import headline, rule_words
from holaboss_app.theme import tokens as t
from holaboss_app.theme.style import mono_font, scaled, theme_notifier
from holaboss_client.permissions import RuleText

_MOST_LINES = 8
_MOST_DESCRIBED = 2000
_LONG_WORD = re.compile(r"\S{1000}")
"""Between such words there is hardly a place to break a line: looking for one takes Qt minutes."""


class CallText(QPlainTextEdit):
    """The call as text: read at first, and edited on request. Ctrl+Return presses the button."""

    submitted = Signal()
    measured = Signal(int)
    """How many lines it takes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("request-text")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)

    def show_call(self, text: str) -> None:
        if _LONG_WORD.search(text):
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setPlainText(text)

    def restyle(self) -> None:
        self.setFont(mono_font(t.PROSE_POINTS - 0.75))
        self._grow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        returned = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if returned and event.modifiers() & Qt.KeyboardModifier.ControlModifier and not event.isAutoRepeat():
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._grow()

    def _grow(self) -> None:
        lines = max(1, round(self.document().size().height()))
        self.measured.emit(lines)
        self.setFixedHeight(min(lines, _MOST_LINES) * self.fontMetrics().lineSpacing() + scaled(16))


class ApprovalCard(RequestCard):
    def __init__(self, parent: QWidget, request: Request) -> None:
        super().__init__(parent, request)
        self._text = CallText(self)
        self._text.show_call(request.text)
        self._text.setAccessibleName(self.tr("What would be done"))
        self._text.setProperty("surface", "sunken")
        self._more = QLabel(self)
        self._more.setProperty("role", "small")
        self._more.hide()
        self._reason = QLabel(for_label(request.reason), self)
        self._reason.setProperty("role", "muted")
        self._reason.setTextFormat(Qt.TextFormat.PlainText)
        self._reason.setWordWrap(True)
        self._reason.setVisible(bool(request.reason))
        self._note = QLineEdit(self)
        self._note.setObjectName("request-note")
        self._note.setPlaceholderText(self.tr("What should be done instead? (optional)"))
        self._note.setAccessibleName(self.tr("What should be done instead"))
        self._note.hide()
        for widget in (self._text, self._more, self._reason, self._note):
            self.column.addWidget(widget)
        self._add_buttons()
        self.finish(headline(request))
        told = request.text[:_MOST_DESCRIBED]
        self.setAccessibleDescription(f"{told}\n{request.reason}".strip())
        self._text.measured.connect(self._count_lines)
        self._text.submitted.connect(self._allow)
        self._note.returnPressed.connect(self._deny)
        theme_notifier().theme_changed.connect(self._text.restyle)
        self._text.restyle()

    def focus_first(self) -> None:
        self._allow_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _add_buttons(self) -> None:
        self._edit_button = self.add_button(self.tr("&Edit"), "request-edit", "ghost")
        self.buttons.addStretch(1)
        self._deny_button = self.add_button(self.tr("&Deny"), "request-deny")
        self._always_button = self.add_button(self.tr("Al&ways allow"), "request-always")
        self._allow_button = self.add_button(self.tr("&Allow once"), "request-allow", "primary")
        self._edit_button.clicked.connect(self._start_editing)
        self._deny_button.clicked.connect(self._ask_for_note)
        self._always_button.clicked.connect(self._choose_rule)
        self._always_button.setVisible(bool(self.request.suggestions))
        self._allow_button.clicked.connect(self._allow)
        order: list[QPushButton] = [
            self._allow_button,
            self._always_button,
            self._deny_button,
            self._edit_button,
        ]
        for first, second in itertools.pairwise(order):
            QWidget.setTabOrder(first, second)

    def _count_lines(self, lines: int) -> None:
        """Nobody may take the beginning of a call for all of it."""
        words = self.tr("%1 lines. Scroll to see the rest.").replace("%1", f"{lines:,}")
        self._more.setText(words)
        self._more.setVisible(lines > _MOST_LINES)

    def _start_editing(self) -> None:
        self._text.setReadOnly(False)
        self._text.setProperty("surface", "")
        self._text.style().unpolish(self._text)
        self._text.style().polish(self._text)
        self._edit_button.hide()
        # A rule says what may be done without asking; what was typed here is no pattern of anything.
        self._always_button.hide()
        self._text.setFocus(Qt.FocusReason.OtherFocusReason)

    def _ask_for_note(self) -> None:
        """The first click asks what should be done instead, the second one denies."""
        if self._note.isVisibleTo(self):
            self._deny()
            return
        self._note.show()
        self._deny_button.setText(self.tr("&Deny now"))
        self._note.setFocus(Qt.FocusReason.OtherFocusReason)

    def _deny(self) -> None:
        self.decided.emit(requests.deny(self._note.text()))

    def _allow(self) -> None:
        try:
            changed = self.request.edited(self._text.toPlainText())
        except ValueError:
            self.complain(self.tr("This is not valid: the arguments have to be a JSON object."))
            return
        self.decided.emit(requests.allow(changed))

    def _choose_rule(self) -> None:
        menu = QMenu(self)
        menu.setProperty("round", True)
        for rule in self.request.suggestions:
            menu.addAction(rule_words(rule).replace("&", "&&"), self._keeper(rule))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self._always_button.mapToGlobal(self._always_button.rect().topLeft()))

    def _keeper(self, rule: RuleText):  # noqa: ANN202 - a slot
        return lambda: self.decided.emit(requests.allow(keep=rule))


def asked_for(request: Request) -> str:
    """One polite sentence for screen readers."""
    translate = QCoreApplication.translate
    return translate("Request", "Your permission is needed. %1").replace("%1", headline(request))
