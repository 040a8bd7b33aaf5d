"""`edit`: replace passages of a file, all of them or none."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from pydantic import Field, model_validator

from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.files import (
    change_of,
    known_content,
    replace_text,
    text_of,
)
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts

MAX_EDITS = 100


class Passage(ToolInput):
    old_text: str = Field(min_length=1, description="The exact passage to replace; it must occur only once")
    new_text: str = Field(description="What to put there")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead")


class EditInput(ToolInput):
    path: str = Field(description="File, relative to the workspace")
    old_text: str | None = Field(
        default=None, min_length=1, description="The exact passage to replace; it must occur only once"
    )
    new_text: str | None = Field(default=None, description="What to put there")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead")
    edits: list[Passage] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_EDITS,
        description="Several passages instead of one, in order; nothing is written unless all of them fit",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        single = self.old_text is not None and self.new_text is not None
        if self.edits is None and not single:
            raise ValueError("give old_text and new_text, or edits")
        if self.edits is not None and (self.old_text is not None or self.new_text is not None):
            raise ValueError("give either old_text and new_text or edits, not both")
        return self

    @property
    def passages(self) -> list[Passage]:
        if self.edits is not None:
            return self.edits
        assert self.old_text is not None
        assert self.new_text is not None
        return [Passage(old_text=self.old_text, new_text=self.new_text, replace_all=self.replace_all)]


async def edit(workspace: Workspace, request: EditInput) -> ToolOutcome:
    return await asyncio.to_thread(_edit, workspace, request)


def _edit(workspace: Workspace, request: EditInput) -> ToolOutcome:
    place = workspace.locate(request.path, for_writing=True)
    shown = place.shown
    content = known_content(workspace, place)
    if content is None:
        raise ToolError(f"{shown} does not exist.")
    before = after = text_of(content, shown)
    passages = request.passages
    for number, passage in enumerate(passages, 1):
        which = f" (edit {number} of {len(passages)}; nothing was written)" if len(passages) > 1 else ""
        after = _replaced(after, passage, shown, which)
    replace_text(workspace, place, after)
    change = change_of(shown, before, after)
    changed = (shown,) if place.in_workspace else ()
    return ToolOutcome(f"Edited {shown}: {change.summary}", changed_paths=changed, details=change.details)


def _replaced(text: str, passage: Passage, shown: str, which: str) -> str:
    old, new = passage.old_text, passage.new_text
    if old == new:
        raise ToolError(f"old_text and new_text are the same{which}.")
    if "\r\n" in text and "\r\n" not in old:  # models write plain newlines whatever the file has
        with_returns = old.replace("\n", "\r\n")
        if old not in text or "\n" not in old:
            old, new = with_returns, new.replace("\r\n", "\n").replace("\n", "\r\n")
    found = text.count(old)
    if found == 0:
        raise ToolError(
            f"old_text does not occur in {shown}{which}. Read the file and copy the passage exactly."
        )
    if found > 1 and not passage.replace_all:
        raise ToolError(
            f"old_text occurs {found} times in {shown}{which}. Add surrounding lines or set replace_all."
        )
    return text.replace(old, new)


def _about(arguments: dict[str, Any]) -> CallFacts:
    return CallFacts("edit", writes=(arguments["path"],), read_only=False)


EDIT = HostTool("edit", "Replace an exact passage of a text file.", EditInput, edit, alone=True, about=_about)
