"""The sections that only tell: where data is and who sees it, and what this program is made of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from holaboss_app.panes.settings.parts import column, push_button, row, set_role, text_label
from holaboss_app.panes.settings.text import breakable
from holaboss_app.theme.icons import icon

COMPONENTS: Final = (
    ("apsw", "any OSI-approved"),
    ("FastAPI", "MIT"),
    ("httpx", "BSD-3-Clause"),
    ("keyring", "MIT"),
    ("markdown-it-py", "MIT"),
    ("platformdirs", "MIT"),
    ("pydantic", "MIT"),
    ("pydantic-ai", "MIT"),
    ("Pygments", "BSD-2-Clause"),
    ("Python", "PSF-2.0"),
    ("PyYAML", "MIT"),
    ("qasync", "BSD-2-Clause"),
    ("Qt and PySide6", "LGPL-3.0"),
    ("SQLite", "public domain"),
    ("Starlette and uvicorn", "BSD-3-Clause"),
)


def show_value(label: QLabel, value: str) -> None:
    """Long parts are broken; what is broken cannot be selected, or a copy of it would have invisible characters."""
    words = breakable(value)
    label.setText(words)
    whole = Qt.TextInteractionFlag.TextSelectableByMouse if words == value else None
    label.setTextInteractionFlags(whole or Qt.TextInteractionFlag.NoTextInteraction)


class FactsCard(QFrame):
    """A heading and rows of a name and a value; a value can be copied, and a folder be opened."""

    folder_requested = Signal(Path)

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setProperty("surface", "card")
        self.body: QVBoxLayout = column(self, spacing=12, margins=16)
        self.body.addWidget(text_label(title, "heading"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.body.addLayout(self._grid)

    def add(self, title: str, value: str = "", *, folder: Path | None = None) -> QLabel:
        """Add a row and return the label of its value; a folder gets a line and a button of its own."""
        line = self._grid.rowCount()
        label = text_label(selectable=True)
        show_value(label, value)
        caption = text_label(title, "muted", wrap=folder is not None)
        if folder is None:
            self._grid.addWidget(caption, line, 0)
            self._grid.addWidget(label, line, 1)
        else:
            self._grid.addWidget(caption, line, 0, 1, 2)
            self._grid.addWidget(label, line + 1, 0, 1, 2)
            self._grid.addWidget(self._open_button(title, folder), line, 2, 2, 1)
        return label

    def _open_button(self, title: str, folder: Path) -> QToolButton:
        button = QToolButton()
        button.setIcon(icon("folder"))
        button.setAccessibleName(self.tr("Open folder: {name}").format(name=title))
        button.setToolTip(self.tr("Open folder"))
        button.clicked.connect(lambda: self.folder_requested.emit(folder))
        return button


class PrivacySection(QWidget):
    """Locations, the keychain, and what leaves this computer."""

    folder_requested = Signal(Path)
    keychain_check_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        layout = column(self, spacing=12)
        layout.addWidget(self._build_leaving())
        layout.addWidget(self._build_keychain())
        self.places = FactsCard(self.tr("Where things are"))
        self.places.folder_requested.connect(self.folder_requested)
        layout.addWidget(self.places)
        layout.addStretch(1)
        self._config: QLabel | None = None

    def _build_leaving(self) -> QFrame:
        card = FactsCard(self.tr("What leaves this computer"))
        words = self.tr(
            "What you send, and what the agent reads to answer, goes to the model provider you connected, and"
            " to nobody else. Holaboss has no account, collects nothing and reports nothing."
        )
        card.body.addWidget(text_label(words))
        return card

    def _build_keychain(self) -> QFrame:
        card = FactsCard(self.tr("Keys"))
        self.keychain = text_label(self.tr("Not asked yet."))
        self.keychain.setObjectName("keychain-state")
        self.check = push_button(self.tr("Check again"), "check-keychain", icon_name="refresh")
        self.check.clicked.connect(self.keychain_check_requested)
        line = row()
        line.addWidget(self.keychain, 1)
        line.addWidget(self.check)
        card.body.addLayout(line)
        return card

    def show_keychain(self, sentence: str, *, usable: bool) -> None:
        self.keychain.setText(sentence)
        set_role(self.keychain, "" if usable else "warning")

    def show_places(self, places: Iterable[tuple[str, Path]]) -> None:
        for title, path in places:
            self.places.add(title, str(path), folder=path)

    def show_config(self, path: str) -> None:
        """Where the runtime says that its configuration is."""
        if self._config is None:
            self._config = self.places.add(self.tr("Configuration"), folder=Path(path).parent)
        show_value(self._config, path)


class AboutSection(QWidget):
    """Name, versions, licences."""

    def __init__(self, version: str, libraries: str) -> None:
        super().__init__()
        about = FactsCard("Holaboss")
        words = self.tr("A desktop for agents that hold a role in your folders and work on this computer.")
        about.body.insertWidget(1, text_label(words))
        about.add(self.tr("Desktop"), version)
        self._runtime = about.add(self.tr("Runtime"), self.tr("Not connected"))
        self._runtime.setObjectName("runtime-version")
        about.add(self.tr("Libraries"), libraries)
        about.add(self.tr("Licence"), "MIT")
        parts = FactsCard(self.tr("Made with"))
        for name, licence in COMPONENTS:
            parts.add(name, licence)
        layout = column(self, spacing=12)
        layout.addWidget(about)
        layout.addWidget(parts)
        layout.addStretch(1)

    def show_runtime(self, words: str) -> None:
        self._runtime.setText(words)
