"""What `grep` and `find` share: asking the throw-away process, and saying what a search left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.harness.host.throwaway import ask_helper
from holaboss_runtime.harness.host.tools.base import ToolError, Workspace
from holaboss_runtime.harness.host.tools.places import Place

TIMEOUT_S = 20.0
_NOTES = (
    ("left_out", "{} hidden or ignored left out; set hidden or no_ignore to see them"),
    ("large", "{} larger than 32 MB not searched"),
    ("too_deep", "too much to look at everything; narrow the path"),
    ("unreadable", "{} could not be read"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search said, and the sentences about what it did not look at."""

    items: list[dict[str, Any]]
    summary: dict[str, Any]
    timed_out: bool

    def notes(self, *, more: str) -> list[str]:
        """`more` is said when there is more than was asked for."""
        said = [more] if self.summary.get("full") else []
        if self.timed_out:
            said.append(f"stopped after {TIMEOUT_S:g} seconds; narrow the path or the pattern")
        if not self.items:  # with results nobody asks for what is not there
            said += [text.format(count) for name, text in _NOTES if (count := self.summary.get(name, 0))]
        return [f"[{note}]" for note in said]


async def search(workspace: Workspace, path: str, question: dict[str, Any]) -> tuple[Place, Found]:
    """Raises `ToolError` for a place that is not there and for a search that could not be made."""
    place = workspace.locate(path)
    if not place.path.exists():
        raise ToolError(f"{place.shown} does not exist.")
    root = place.area.root if place.area.root.is_dir() else place.area.root.parent
    where = {"root": str(root), "top": place.path.relative_to(root).parts, "is_file": not place.path.is_dir()}
    answer = await ask_helper("search", question | where, TIMEOUT_S)
    for said in answer.said:
        if "problem" in said:
            raise ToolError(str(said["problem"]))
    if not answer.finished and not answer.timed_out:
        raise ToolError("The search failed: it needed too much. Narrow the path or the pattern.")
    summaries = [said["summary"] for said in answer.said if "summary" in said]
    items = [said for said in answer.said if "path" in said]
    return place, Found(items, summaries[0] if summaries else {}, answer.timed_out)


def shown_path(place: Place, path: str) -> str:
    """A path of a search, which is relative to its area, as the model knows it."""
    if place.area.root.is_dir():
        shown = place.name_of(place.area.root / path)
        return f"{shown}/" if path.endswith("/") else shown
    return place.shown


def report(lines: Sequence[str], notes: Sequence[str], nothing: str) -> str:
    return "\n".join([*(lines or [nothing]), *notes])
