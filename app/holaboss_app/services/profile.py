"""Where one identity keeps its files. A second profile directory is a second, fully separate application."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from holaboss_app.services.private_files import make_private_directory


@dataclass(frozen=True, slots=True)
class Profile:
    """`suffix` names this profile in places that all profiles share; it is empty for the default one."""

    data_dir: Path
    suffix: str = ""

    @classmethod
    def default(cls) -> Profile:
        """The profile in the platform's application-data directory."""
        import platformdirs

        return cls(platformdirs.user_data_path("holaboss", appauthor=False, roaming=sys.platform == "win32"))

    @classmethod
    def at(cls, directory: Path) -> Profile:
        """The profile in `directory` (`--profile-dir`)."""
        path = directory.expanduser().absolute()
        return cls(path, hashlib.sha256(str(path).encode()).hexdigest()[:12])

    @property
    def sandbox_root(self) -> Path:
        """What the runtime owns: its database, its configuration and the workspaces."""
        return self.data_dir / "sandbox-host"

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "logs"

    @property
    def settings_file(self) -> Path:
        return self.data_dir / "settings.json"

    @property
    def drafts_file(self) -> Path:
        return self.data_dir / "drafts.json"

    @property
    def pasted_dir(self) -> Path:
        """Pictures that were pasted into a message and have no file of their own."""
        return self.data_dir / "pasted"

    def create(self) -> None:
        """Make the directories, readable by their owner only.

        Raises:
            OSError: the place cannot be written.
        """
        for directory in (self.data_dir, self.sandbox_root, self.log_dir):
            make_private_directory(directory)
