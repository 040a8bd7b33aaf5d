"""The command palette: type a few letters, press Enter. It runs commands it is given and knows none
itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QWidget

from holaboss_app.shell.look import label, row
from holaboss_app.shell.popover import Popover
from holaboss_app.theme.icons import icon_pixmap
from holaboss_app.theme.style import scaled

MOST_ROWS = 9


@dataclass(frozen=True, slots=True)
class Command:
    """`keys` is a portable key sequence or empty."""

    title: str
    run: Callable[[], object]
    icon: str = "sparkle"
    keys: str = ""


def matching(commands: Sequence[Command], typed: str) -> list[Command]:
    """Commands whose title contains every typed word, those that start with the first word in front."""
    words = typed.casefold().split()
    found = [command for command in commands if all(word in command.title.casefold() for word in words)]
    if words:
        found.sort(key=lambda command: not command.title.casefold().startswith(words[0]))
    return found


class CommandPalette(Popover):
    """A popup over `window`; closes on Escape, on a click elsewhere, and before it runs a command."""

    def __init__(self, commands: Sequence[Command], window: QWidget) -> None:
        super().__init__(window, "command-palette", 520)
        self._commands = commands
        self._shown: list[Command] = []
        self.setFixedWidth(min(self.width(), window.width() - 48))
        self._search = QLineEdit()
        self._search.setObjectName("palette-search")
        self._search.setPlaceholderText(self.tr("Type a command"))
        self._search.setAccessibleName(self.tr("Type a command"))
        self._search.textChanged.connect(self._fill)
        self._search.returnPressed.connect(self._run_current)
        self._search.installEventFilter(self)
        self._list = QListWidget()
        self._list.setObjectName("palette-list")
        self._list.setAccessibleName(self.tr("Commands"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.itemClicked.connect(lambda: self._run_current())
        self._nothing = label(self.tr("No command matches."), "muted")
        self._nothing.setContentsMargins(8, 8, 8, 8)
        for widget in (self._search, self._nothing, self._list):
            self.content.addWidget(widget)
        self._fill()
        self.move(window.mapToGlobal(QPoint((window.width() - self.width()) // 2, scaled(72))))
        self._search.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._search and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None and self._shown:
                self._list.setCurrentRow((self._list.currentRow() + step) % len(self._shown))
                return True
        return super().eventFilter(watched, event)

    def _fill(self) -> None:
        self._shown = matching(self._commands, self._search.text())
        self._list.clear()
        height = scaled(34)
        for command in self._shown:
            item = QListWidgetItem(self._list)
            item.setSizeHint(QSize(0, height))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, command.title)
            self._list.setItemWidget(item, self._row(command))
        self._list.setFixedHeight(height * min(len(self._shown), MOST_ROWS) + 4)
        self._list.setVisible(bool(self._shown))
        self._nothing.setVisible(not self._shown)
        if self._shown:
            self._list.setCurrentRow(0)
        self.adjustSize()

    def _row(self, command: Command) -> QWidget:
        line = QWidget()
        layout = row(line, spacing=10)
        layout.setContentsMargins(8, 0, 8, 0)
        mark = label("")
        pixmap = icon_pixmap(command.icon, scaled(16), token="text_muted", ratio=self.devicePixelRatioF())
        mark.setPixmap(pixmap)
        layout.addWidget(mark)
        layout.addWidget(label(command.title), 1)
        if command.keys:
            keys = QKeySequence(command.keys).toString(QKeySequence.SequenceFormat.NativeText)
            layout.addWidget(label(keys, "badge"))
        return line

    def _run_current(self) -> None:
        index = self._list.currentRow()
        if 0 <= index < len(self._shown):
            command = self._shown[index]
            self.close()
            command.run()
