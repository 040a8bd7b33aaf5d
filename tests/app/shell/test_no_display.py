"""The program where no display is named: it says so instead of letting Qt crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform != "linux", reason="displays are named on Linux only")
def test_a_window_without_a_display_is_a_sentence(tmp_path: Path) -> None:
    unset = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PYTHONPATH"] = str(REPOSITORY / "app")
    command = [sys.executable, "-m", "holaboss_app", "--profile-dir", tmp_path / "profile"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1
    assert "No display here" in result.stderr
    assert "--self-test" in result.stderr
    assert not (tmp_path / "profile").exists()
