"""Which program is started, and what it inherits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holaboss_app.services.runtime_launch import command_environment, runtime_command


def test_a_command_for_a_shell_is_the_runtimes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holaboss_app", "agent", "--help"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "orchestrator" in done.stdout


def test_a_frozen_program_hands_on_what_it_was_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "holaboss"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert runtime_command("agent", "list") == [str(tmp_path / "holaboss-runtime"), "agent", "list"]
    inherited = {"LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/mine", "_PYI_X": "1", "HOME": "/h"}
    assert command_environment(inherited) == {"HOME": "/h", "LD_LIBRARY_PATH": "/mine"}
    assert command_environment({"LD_LIBRARY_PATH": "/bundle"}) == {}


def test_from_source_the_environment_is_passed_on_as_it_is() -> None:
    assert command_environment({"LD_LIBRARY_PATH": "/mine"}) == {"LD_LIBRARY_PATH": "/mine"}
    assert runtime_command()[-1] == "serve"
