"""What the first paint must not wait for, and what the desktop must never load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


def loaded_by(module: str) -> set[str]:
    script = f"import sys, {module}; print('\\n'.join(sys.modules))"
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'app'}:{REPOSITORY / 'runtime'}"}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return set(result.stdout.split())


@pytest.mark.parametrize("module", ["holaboss_app.desktop", "holaboss_app.shell.main_window"])
def test_the_way_to_the_first_paint_is_light(module: str) -> None:
    heavy = {"pydantic", "httpx", "keyring", "pygments", "markdown_it", "cryptography"}
    assert not heavy & loaded_by(module)


def test_the_whole_desktop_never_loads_the_runtime_or_an_ai_sdk() -> None:
    loaded = loaded_by("holaboss_app.self_test, holaboss_app.shell.command_runner")
    forbidden = {
        "holaboss_runtime",
        "fastapi",
        "uvicorn",
        "openai",
        "anthropic",
        "pydantic_ai",
        "mcp",
        "apsw",
    }
    assert not forbidden & loaded
    assert "keyring" not in loaded


def test_an_idle_desktop_has_not_loaded_what_it_may_never_need() -> None:
    """The parts of `Desktop._build`: counted in modules, for every one is memory for as long as the window is open."""
    loaded = loaded_by(
        "holaboss_app.desktop, holaboss_app.shell.command_runner, holaboss_app.panes.chat.presenter,"
        " holaboss_app.panes.files.presenter, holaboss_app.services.keychain, holaboss_app.services.drafts"
    )
    unneeded = {"click", "rich", "pygments", "html", "keyring", "xml"}
    assert not unneeded & loaded
    assert not [name for name in loaded if name.startswith("holaboss_app.panes.settings")]
    assert "httpx._main" in loaded, "kept out by its name; see `holaboss_client`"
