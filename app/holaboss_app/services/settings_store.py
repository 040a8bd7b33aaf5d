"""The desktop's own settings: how it looks and where the person was. Nothing secret, nothing of the runtime.

A change is visible at once and on disk shortly after; an unreadable file is kept aside and named in `notice`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from PySide6.QtCore import QCoreApplication

from holaboss_app.services.debounced_file import DebouncedFile


class Layout(BaseModel):
    """How the panes of one workspace are arranged. `sizes`: of the splitter, logical pixels, left to
    right."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    files_visible: bool = True
    sizes: list[int] = Field(default_factory=list[int])


class Settings(BaseModel):
    """Everything that is remembered. `text_scale` is 0.8 to 2.0; `geometry` is base64 of what Qt saves."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    schema_version: Literal[1] = 1
    theme: Literal["system", "light", "dark"] = "system"
    text_scale: float = Field(default=1.0, ge=0.8, le=2.0)
    last_workspace: str | None = None
    geometry: str | None = None
    layouts: dict[str, Layout] = Field(default_factory=dict[str, Layout])


class SettingsStore:
    """Reads once, then owns the file. Close it to be sure that the last change is on disk."""

    def __init__(self, path: Path) -> None:
        self._file = DebouncedFile(path, lambda: self._settings.model_dump_json(indent=2).encode())
        self._settings = Settings()
        self.notice: str | None = None
        content = self._file.read()
        if content is None:
            return
        try:
            self._settings = Settings.model_validate(json.loads(content))
        except ValueError:
            kept = self._file.keep_aside()
            words = QCoreApplication.translate(
                "SettingsStore",
                "The settings file could not be read. It was kept as {kept}; the defaults are used.",
            )
            self.notice = words.format(kept=kept)

    @property
    def settings(self) -> Settings:
        return self._settings

    def update(self, **changes: object) -> None:
        """Change fields of `Settings` by name.

        Raises:
            ValueError: a value that the field does not take; nothing changes.
        """
        current = self._settings.model_dump()
        changed = Settings.model_validate(current | changes)
        if changed != self._settings:
            self._settings = changed
            self._file.schedule()

    def layout(self, workspace_id: str) -> Layout:
        return self._settings.layouts.get(workspace_id, Layout())

    def save_layout(self, workspace_id: str, layout: Layout) -> None:
        self.update(layouts=self._settings.layouts | {workspace_id: layout})

    async def close(self) -> None:
        await self._file.close()
