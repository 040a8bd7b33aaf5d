"""The few questions that the shell asks: a name, and whether something may go. Opened, never executed.

A dialog emits what the person wants and stays until its owner says how it went: `accept()` or
`fail(sentence)`.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QFileDialog, QLineEdit, QWidget

from holaboss_app.shell.look import button, column, label, row
from holaboss_app.theme.focus import set_waiting
from holaboss_app.theme.style import scaled

LONGEST_NAME = 120


class Question(QDialog):
    """Title, content, an error line, and two buttons. Escape cancels. Enter is the action, unless something is
    lost by it: then Enter cancels too."""

    def __init__(self, parent: QWidget, name: str, title: str, action: str, *, danger: bool = False) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(scaled(420))
        outer = column(self, margins=20, spacing=12)
        outer.addWidget(label(title, "heading", wrap=True))
        self.content = column(spacing=8)
        outer.addLayout(self.content)
        self._error = label("", "danger", wrap=True)
        self._error.setObjectName(f"{name}-error")
        self._error.hide()
        outer.addWidget(self._error)
        self._action = button(action, f"{name}-ok", self.submit, kind="danger" if danger else "primary")
        cancel = button(self.tr("Cancel"), f"{name}-cancel", self.reject)
        (cancel if danger else self._action).setDefault(True)
        actions = row(spacing=8)
        actions.addStretch(1)
        actions.addWidget(cancel)
        actions.addWidget(self._action)
        outer.addLayout(actions)
        if danger:
            cancel.setFocus()

    def submit(self) -> None:
        """Emit what was asked for; called by the action button."""
        raise NotImplementedError

    def wait(self) -> None:
        """The answer is on its way."""
        set_waiting(self._action, True)
        self._error.hide()

    def fail(self, sentence: str) -> None:
        set_waiting(self._action, False)
        self._error.setText(sentence)
        self._error.show()

    def allow(self, possible: bool) -> None:
        self._action.setEnabled(possible)


class NameQuestion(Question):
    """Asks for a name, and, when a folder may be chosen, where the workspace goes."""

    submitted = Signal(str, str)
    """Name, and an absolute folder or an empty string."""

    def __init__(
        self,
        parent: QWidget,
        name: str,
        title: str,
        action: str,
        *,
        text: str = "",
        with_folder: bool = False,
    ) -> None:
        super().__init__(parent, name, title, action)
        self._name = QLineEdit(text)
        self._name.setObjectName(f"{name}-name")
        self._name.setMaxLength(LONGEST_NAME)
        self._name.setPlaceholderText(self.tr("Name"))
        self._name.setAccessibleName(self.tr("Name"))
        self._name.textChanged.connect(lambda: self.allow(bool(self._name.text().strip())))
        self.content.addWidget(self._name)
        self._folder = ""
        self._where = label(self.tr("Holaboss makes the folder."), "small", wrap=True)
        if with_folder:
            place = row(spacing=8)
            place.addWidget(self._where, 1)
            place.addWidget(button(self.tr("Choose folder…"), f"{name}-folder", self._choose, kind="ghost"))
            self.content.addLayout(place)
        self._name.selectAll()
        self._name.setFocus()
        self.allow(bool(text.strip()))

    def submit(self) -> None:
        self.wait()
        self.submitted.emit(self._name.text().strip(), self._folder)

    def _choose(self) -> None:
        chooser = QFileDialog(self, self.tr("An empty folder for the workspace"))
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        chooser.setOption(QFileDialog.Option.ShowDirsOnly)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.fileSelected.connect(self._chosen)
        chooser.open()

    def _chosen(self, folder: str) -> None:
        self._folder = folder
        self._where.setText(folder)


class ConfirmQuestion(Question):
    """Asks before something goes. With `option`, a box that starts unticked."""

    confirmed = Signal(bool)
    """Whether the option is ticked."""

    def __init__(
        self, parent: QWidget, name: str, title: str, text: str, action: str, *, option: str = ""
    ) -> None:
        super().__init__(parent, name, title, action, danger=True)
        self.content.addWidget(label(text, wrap=True))
        self._option = QCheckBox(option)
        self._option.setObjectName(f"{name}-option")
        self._option.setVisible(bool(option))
        self.content.addWidget(self._option)

    def submit(self) -> None:
        self.wait()
        self.confirmed.emit(self._option.isChecked())
