"""One MCP server of the workspace: what it is, how it is, and what can be done about that."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from holaboss_app.panes.settings import connection_words as words
from holaboss_app.panes.settings.connection_parts import ReadText, StateDot, ToolList
from holaboss_app.panes.settings.parts import IconLabel, Notice, column, push_button, row, text_label
from holaboss_app.panes.settings.text import breakable
from holaboss_app.theme.flow import FlowLayout
from holaboss_app.theme.focus import set_waiting
from holaboss_app.theme.style import repolish
from holaboss_client.mcp import McpServerView


class Act(StrEnum):
    """What a person may want of a connection."""

    ALLOW = "allow"
    START = "start"
    RESTART = "restart"
    SIGN_IN = "sign-in"
    SIGN_OUT = "sign-out"
    STOP_ALLOWING = "stop-allowing"
    SHOW_LOG = "show-log"


SETTLING_MS: Final = 1_000
"""A command that changes under the pointer cannot be allowed before it could be read."""
_MAIN: Final = frozenset({Act.ALLOW, Act.SIGN_IN})
"""What somebody waits for: these stand out."""


class ConnectionCard(QFrame):
    """Says what the person wants through `acted` and shows what it is told; it talks to nobody.

    `acted` carries an `Act` and the view that was on screen when it was wanted.
    """

    acted = Signal(str, McpServerView)

    def __init__(self, view: McpServerView) -> None:
        super().__init__()
        self.setObjectName(f"connection-{view.name}")
        self.setProperty("surface", "card")
        self.view = view
        self._busy = False
        self._settling = QTimer(self, singleShot=True, interval=SETTLING_MS)
        self._settling.timeout.connect(self._arrange)
        self._build_head()
        self.what = ReadText("connection-what", "", lines=24)
        self.warning = Notice()
        self.warning.setObjectName("connection-warning")
        self.earlier = ReadText("connection-earlier", self.tr("The command that was allowed before"), lines=4)
        self.warning.add(self.earlier)
        self.trouble = Notice(surface="danger")
        self.trouble.setObjectName("connection-trouble")
        self.missing = Notice()
        self.missing.setObjectName("connection-missing")
        self.problem = Notice(surface="danger")
        self.problem.setObjectName("connection-problem")
        self.problem.hide()
        self.facts = text_label("", "small")
        self.facts.setObjectName("connection-facts")
        self.tools = ToolList("connection-tools", "")
        self.tools.hide()
        self.log = ReadText("connection-log", "", lines=14)
        self.log.hide()
        layout = column(self, spacing=10, margins=14)
        layout.addLayout(self._head)
        for widget in (
            self.what,
            self._build_rights(),
            self.warning,
            self.trouble,
            self.missing,
            self.facts,
        ):
            layout.addWidget(widget)
        layout.addWidget(self._build_buttons())
        for widget in (self.problem, self.tools, self.log):
            layout.addWidget(widget)
        self.show_view(view)

    def _build_head(self) -> None:
        self._head: QHBoxLayout = row(spacing=10)
        self._name = text_label("", "heading")
        self._kind = text_label("", "small")
        self.dot = StateDot()
        self.state = text_label("", wrap=True)
        self.state.setObjectName("connection-state")
        titles = column(box := QWidget(), spacing=2)
        titles.addWidget(self._name)
        titles.addWidget(self._kind)
        status = row(spacing=8)
        status.addWidget(self.dot)
        status.addWidget(self.state, 1)
        titles.addLayout(status)
        self._icon = IconLabel("terminal", "text_muted", 20)
        self._head.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        self._head.addWidget(box, 1)

    def _build_rights(self) -> QWidget:
        self.rights = QWidget()
        line = row(spacing=8)
        self.rights.setLayout(line)
        line.addWidget(IconLabel("shield", "text_muted", 14))
        line.addWidget(text_label(self.tr("Runs with your rights, not contained."), "small"), 1)
        return self.rights

    def _build_buttons(self) -> QWidget:
        self._actions = QWidget()
        flow = FlowLayout(self._actions, spacing=8)
        self.buttons: dict[Act, QPushButton] = {}
        for act in Act:
            button = push_button("", f"connection-{act}", kind="primary" if act in _MAIN else "")
            button.clicked.connect(lambda _=False, wanted=act: self._act(wanted))
            self.buttons[act] = button
            if act is Act.SHOW_LOG:
                self.show_tools = push_button("", "connection-show-tools", kind="ghost")
                self.show_tools.clicked.connect(self._toggle_tools)
                flow.addWidget(self.show_tools)
            flow.addWidget(button)
        self.buttons[Act.SHOW_LOG].setProperty("kind", "ghost")
        return self._actions

    # What the presenter tells

    def show_view(self, view: McpServerView) -> None:
        """Take over how it is now; what is unfolded stays unfolded."""
        if _fingerprint(view) != _fingerprint(self.view) and self.isVisible():
            self._settling.start()
        self.view = view
        state = words.state_words(view)
        self._name.setText(breakable(view.name))
        self._kind.setText(words.kind_words(view))
        self._icon.show_icon("terminal" if view.type == "local" else "server", "text_muted")
        self.dot.show_token(state.token)
        self.state.setText(state.text)
        self.setAccessibleName(f"{view.name}, {state.text}")
        self.what.show_text(words.what_it_is(view))
        told = self.tr("Command of {name}") if view.type == "local" else self.tr("Address of {name}")
        self.what.setAccessibleName(told.format(name=view.name))
        self.warning.say(words.warning(view))
        self.rights.setVisible(view.type == "local" and not words.warning(view))
        self._show_trouble(view)
        facts = "  ·  ".join(part for part in (words.signed_in(view), words.facts(view)) if part)
        self.facts.setText(breakable(facts))
        self.facts.setVisible(bool(facts))
        self.tools.show_tools(view.tools)
        self.tools.setAccessibleName(self.tr("Tools of {name}").format(name=view.name))
        self.log.setAccessibleName(self.tr("Log of {name}").format(name=view.name))
        if not view.tools:
            self.tools.hide()
        if self.shows_log and Act.SHOW_LOG not in wanted_acts(view):
            self.log.hide()
        self._arrange()

    def set_busy(self, busy: bool) -> None:
        """What was wanted is on its way."""
        self._busy = busy
        self._arrange()

    def fail(self, sentence: str) -> None:
        """Say why it did not work; an empty sentence takes that back."""
        self.problem.say(breakable(sentence))

    @property
    def shows_log(self) -> bool:
        return not self.log.isHidden()

    def show_log(self, text: str) -> None:
        self.log.show_text(text.rstrip("\n") or self.tr("It has written nothing to its standard error."))
        self.log.show()
        bar = self.log.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._arrange()

    # Inside

    def _show_trouble(self, view: McpServerView) -> None:
        """The sentence about what is wrong with it; about consent the warning says everything."""
        sentence = breakable(view.last_error or "")
        self.missing.say(sentence if view.state == "unavailable" else "")
        self.trouble.say("" if view.state in ("unavailable", "needs_consent") else sentence)
        earlier = view.consent.earlier_command_text if view.consent is not None else None
        self.earlier.show_text(earlier or "")
        self.earlier.setVisible(bool(earlier))

    def _arrange(self) -> None:
        wanted, view = wanted_acts(self.view), self.view
        titles = self._titles()
        for act, button in self.buttons.items():
            button.setText(titles[act])
            button.setAccessibleName(f"{titles[act]}: {view.name}")
            button.setVisible(act in wanted)
            set_waiting(button, self._busy and act is not Act.SHOW_LOG)
        if self._settling.isActive():
            self.buttons[Act.ALLOW].setEnabled(False)
        self.show_tools.setVisible(bool(view.tools))
        self.show_tools.setText(words.tools_title(view, shown=not self.tools.isHidden()))
        self.show_tools.setAccessibleName(f"{self.show_tools.text()}: {view.name}")
        self._actions.setVisible(bool(wanted) or bool(view.tools))
        repolish(self._actions)

    def _titles(self) -> dict[Act, str]:
        remote = self.view.type == "remote"
        again = self.tr("Try again") if self.view.state == "failed" else self.tr("Restart")
        return {
            Act.ALLOW: self.tr("Allow and start"),
            Act.START: self.tr("Connect") if remote else self.tr("Start"),
            Act.RESTART: self.tr("Connect again") if remote and self.view.state != "failed" else again,
            Act.SIGN_IN: self.tr("Sign in…"),
            Act.SIGN_OUT: self.tr("Sign out"),
            Act.STOP_ALLOWING: self.tr("Stop allowing"),
            Act.SHOW_LOG: self.tr("Hide log") if self.shows_log else self.tr("Show log"),
        }

    def _act(self, act: Act) -> None:
        self.fail("")
        if act is Act.SHOW_LOG and self.shows_log:
            self.log.hide()
            self._arrange()
        else:
            self.acted.emit(act, self.view)

    def _toggle_tools(self) -> None:
        self.tools.setVisible(self.tools.isHidden())
        self._arrange()


def _fingerprint(view: McpServerView) -> str:
    return view.consent.fingerprint if view.consent is not None else ""


def wanted_acts(view: McpServerView) -> frozenset[Act]:
    """What makes sense as it is now."""
    if view.state == "disabled":
        acts: set[Act] = set()
    elif view.state == "needs_consent":
        acts = {Act.ALLOW}
    elif view.state == "needs_authorization":
        acts = {Act.SIGN_IN}
    elif view.state == "unavailable":
        acts = set()
    else:
        acts = {Act.RESTART} if view.state in ("ready", "starting", "failed") else {Act.START}
    consent, authorization = view.consent, view.authorization
    if consent is not None and consent.state in ("allowed", "changed"):
        acts.add(Act.STOP_ALLOWING)
    if consent is not None and view.state in ("ready", "starting", "failed", "stopped"):
        acts.add(Act.SHOW_LOG)
    if authorization is not None and authorization.authorized:
        acts.add(Act.SIGN_OUT)
    return frozenset(acts)
