"""What a person has written but not sent, and the model they used last, per workspace. Survives a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from holaboss_app.services.debounced_file import DebouncedFile
from holaboss_app.services.kept_pictures import KeptPictures
from holaboss_app.services.waiting_files import WaitingFile
from holaboss_client.attachments import MessageAttachment

LONGEST_DRAFT = 200_000
"""Characters; what is longer is remembered only while the program runs."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")

    texts: dict[str, str] = Field(default_factory=dict[str, str])
    models: dict[str, str] = Field(default_factory=dict[str, str])
    files: dict[str, list[MessageAttachment]] = Field(default_factory=dict[str, list[MessageAttachment]])
    waiting: dict[str, list[WaitingFile]] = Field(default_factory=dict[str, list[WaitingFile]])
    discarded: list[tuple[str, str]] = Field(default_factory=list[tuple[str, str]])


class Drafts:
    """The chat pane's draft store over one file. An unreadable file is kept aside and forgotten."""

    def __init__(self, path: Path, pasted: Path) -> None:
        self._file = DebouncedFile(path, self._encode)
        self._kept = _Kept()
        self.pictures = KeptPictures(pasted)
        content = self._file.read()
        if content is None:
            return
        try:
            self._kept = _Kept.model_validate(json.loads(content))
        except ValueError:
            self._file.keep_aside()
            return
        waiting = [file for files in self._kept.waiting.values() for file in files]
        self.pictures.sweep({file.path for file in waiting if file.kept})

    def draft(self, key: str) -> str:
        return self._kept.texts.get(key, "")

    def save_draft(self, key: str, text: str) -> None:
        if text == self._kept.texts.get(key, ""):
            return
        if text:
            self._kept.texts[key] = text
        else:
            self._kept.texts.pop(key, None)
        self._file.schedule()

    def files(self, key: str) -> list[MessageAttachment]:
        return list(self._kept.files.get(key, []))

    def waiting(self, key: str) -> list[WaitingFile]:
        return list(self._kept.waiting.get(key, []))

    def save_files(
        self, key: str, files: Sequence[MessageAttachment], waiting: Sequence[WaitingFile]
    ) -> None:
        if list(files) == self.files(key) and list(waiting) == self.waiting(key):
            return
        self._kept.files[key], self._kept.waiting[key] = list(files), list(waiting)
        self._file.schedule()

    def discarded(self) -> list[tuple[str, str]]:
        return list(self._kept.discarded)

    def save_discarded(self, files: Sequence[tuple[str, str]]) -> None:
        self._kept.discarded = list(files)
        self._file.schedule()

    def last_model(self, workspace_id: str) -> str | None:
        return self._kept.models.get(workspace_id)

    def save_last_model(self, workspace_id: str, model: str) -> None:
        if model != self._kept.models.get(workspace_id):
            self._kept.models[workspace_id] = model
            self._file.schedule()

    async def close(self) -> None:
        await self._file.close()

    def _encode(self) -> bytes:
        texts = {key: text for key, text in self._kept.texts.items() if len(text) <= LONGEST_DRAFT}
        files = {key: files for key, files in self._kept.files.items() if files}
        waiting = {key: files for key, files in self._kept.waiting.items() if files}
        kept = self._kept.model_copy(update={"texts": texts, "files": files, "waiting": waiting})
        return kept.model_dump_json(indent=1).encode()
