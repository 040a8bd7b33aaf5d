"""What a person has written but not sent, and the model they used last, per workspace. Survives a crash."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from holaboss_app.services.debounced_file import DebouncedFile

LONGEST_DRAFT = 200_000
"""Characters; what is longer is remembered only while the program runs."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")

    texts: dict[str, str] = Field(default_factory=dict[str, str])
    models: dict[str, str] = Field(default_factory=dict[str, str])


class Drafts:
    """The chat pane's draft store over one file. An unreadable file is kept aside and forgotten."""

    def __init__(self, path: Path) -> None:
        self._file = DebouncedFile(path, self._encode)
        self._kept = _Kept()
        content = self._file.read()
        if content is None:
            return
        try:
            self._kept = _Kept.model_validate(json.loads(content))
        except ValueError:
            self._file.keep_aside()

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
        return _Kept(texts=texts, models=self._kept.models).model_dump_json(indent=1).encode()
