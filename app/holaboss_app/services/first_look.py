"""What the first paint needs of the settings, and nothing else: the full model is loaded after it.

Deliberately lenient: whatever makes no sense is a default here, and is told by the settings store a moment
later.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Theme = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class FirstLook:
    theme: Theme = "system"
    text_scale: float = 1.0
    geometry: str | None = None


def first_look(settings_file: Path) -> FirstLook:
    """Never raises."""
    try:
        kept: dict[str, Any] = dict(json.loads(settings_file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return FirstLook()
    theme, scale, geometry = (kept.get(name) for name in ("theme", "text_scale", "geometry"))
    return FirstLook(
        theme=theme if theme in ("system", "light", "dark") else "system",
        text_scale=scale if isinstance(scale, float) else 1.0,
        geometry=geometry if isinstance(geometry, str) else None,
    )
