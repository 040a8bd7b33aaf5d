"""How much the agent may do without asking: the profile of the workspace, and the rules a person has kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from holaboss_app.panes.chat.popup import corner
from holaboss_app.panes.chat.request_words import rule_words
from holaboss_app.theme.drop_button import DropButton
from holaboss_app.theme.icons import icon
from holaboss_app.theme.menus import rounded
from holaboss_client.permissions import KeptRule, WorkspacePermissions


class PermissionPicker(DropButton):
    profile_chosen = Signal(str)
    rule_removed = Signal(str)
    """The id of a kept rule."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("permissions")
        self.setIcon(icon("shield", "text_muted"))
        self._permissions: WorkspacePermissions | None = None
        self.clicked.connect(self._open)
        self.hide()

    @property
    def containment(self) -> str | None:
        return self._permissions.containment if self._permissions is not None else None

    def show_permissions(self, permissions: WorkspacePermissions | None) -> None:
        """What holds in the workspace on screen; nothing hides it."""
        self._permissions = permissions
        self.setVisible(permissions is not None)
        if permissions is None:
            return
        shown = next((each for each in permissions.profiles if each.id == permissions.profile), None)
        title = shown.title if shown is not None else permissions.profile
        self.set_label(title)
        self.setAccessibleName(self.tr("Permissions: %s").replace("%s", title))
        self.setToolTip("\n".join(filter(None, (title, shown.summary if shown is not None else ""))))

    def _open(self) -> None:
        permissions = self._permissions
        if permissions is None:
            return
        menu = rounded(QMenu(self))
        menu.setToolTipsVisible(True)
        group = QActionGroup(menu)
        for profile in permissions.profiles:
            if profile.id == "unattended":  # for sessions nobody watches; there is nobody to choose it here
                continue
            action = self._add(menu, profile.title, partial(self.profile_chosen.emit, profile.id))
            action.setCheckable(True)
            action.setChecked(profile.id == permissions.profile)
            action.setToolTip(profile.summary)
            group.addAction(action)
        if permissions.rules:
            menu.addSeparator()
            kept = rounded(menu.addMenu(self.tr("Always allowed here")))
            kept.setToolTipsVisible(True)
            for rule in permissions.rules:
                self._add_rule(kept, rule)
        if permissions.containment is not None:
            menu.addSeparator()
            held = menu.addAction(self._containment(permissions.containment))
            held.setEnabled(False)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(corner(self, menu.sizeHint(), above=True))

    def _add_rule(self, menu: QMenu, rule: KeptRule) -> None:
        action = self._add(menu, rule_words(rule), partial(self.rule_removed.emit, rule.id))
        action.setIcon(icon("trash", "text_muted"))
        action.setToolTip(self.tr("Ask again from now on"))

    def _add(self, menu: QMenu, text: str, slot: Callable[[], object]) -> QAction:
        action = menu.addAction(text.replace("&", "&&"))
        action.triggered.connect(lambda: slot())
        return action

    def _containment(self, name: str) -> str:
        if name == "none":
            return self.tr("Commands are not contained on this computer")
        return self.tr("Commands are contained (%s)").replace("%s", name)
