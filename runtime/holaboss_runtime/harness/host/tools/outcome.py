"""What a call of a tool came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holaboss_runtime.harness.contract import NewOutput


@dataclass(frozen=True, slots=True)
class Picture:
    """An image for the model, as it is in its file."""

    content: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True)
class ToolOutcome:
    """What the model reads (`text`) and sees (`pictures`), and what the runtime is told beside it. `changed_paths`
    lie in the workspace.

    `details` are for whoever shows the call: JSON, bounded by the tool. `outputs` are things worth finding again.
    `refused` is set by the gate alone: the rule that kept the call from happening.
    """

    text: str
    error: bool = False
    changed_paths: tuple[str, ...] = ()
    containment: str | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: tuple[NewOutput, ...] = ()
    refused: str | None = None
    pictures: tuple[Picture, ...] = ()
