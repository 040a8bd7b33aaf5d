"""Where the files that ship with the program are: icons and the application icon."""

from __future__ import annotations

import sys
from pathlib import Path


def resource_path(*parts: str) -> Path:
    """A path below `resources/`: of the repository when run from source, of the bundle when frozen."""
    bundle = getattr(sys, "_MEIPASS", None)
    root = Path(bundle) if isinstance(bundle, str) else Path(__file__).resolve().parents[3]
    return root.joinpath("resources", *parts)
