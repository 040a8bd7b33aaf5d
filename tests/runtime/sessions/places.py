"""Where databases of tests lie that commit thousands of times: a kill is no power cut, so no disk is needed."""

from __future__ import annotations

from pathlib import Path

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""For `dir=` of `tempfile`."""
