"""What comes after the first conversation: files, policy, stopping, and settings that somebody else left behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.desktop import Desktop
from tests.e2e.gestures import create_workspace, say_to
from tests.e2e.processes import eventually
from tests.support.exposure import files_holding
from tests.support.processes import PATIENCE_S
from tests.support.scripted_provider import ScriptedProvider, call, pause_after, say

KEY = "sk-literal-8c2f61"
Launch = Callable[..., Desktop]


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY, models=("m",)) as running:
        yield running


@pytest.fixture
def config(home: Path) -> Path:
    """Where the settings of the runtime are; the folder exists."""
    state = home / "profile" / "sandbox-host" / "state"
    state.mkdir(parents=True)
    return state / "runtime-config.json"


def _with_literal_key(config: Path, url: str) -> None:
    own = {"kind": "openai_compatible", "base_url": f"{url}/v1", "api_key": KEY}
    document: dict[str, Any] = {
        "runtime": {"default_provider": "own", "default_model": "own/m"},
        "providers": {"own": own},
        "models": {"own/m": {"provider": "own", "model": "m"}},
    }
    config.write_text(json.dumps(document))


def _workspace_folder(home: Path) -> Path:
    [folder] = [f for f in (home / "profile" / "sandbox-host" / "workspace").iterdir() if f.name[0] != "."]
    return folder


def _system_prompt(provider: ScriptedProvider) -> str:
    return str(provider.requests[-1].body["messages"][0])


def test_files_and_policy(launch: Launch, home: Path, config: Path, provider: ScriptedProvider) -> None:
    _with_literal_key(config, provider.url)
    desktop = launch("--profile-dir", str(home / "profile"))
    create_workspace(desktop, "Garden")
    folder = _workspace_folder(home)

    provider.enqueue(call("write", path="plans/spring.md", content="# Spring\n"), say("Planned."))
    say_to(desktop, "Make a plan")
    desktop.sees("Planned.")
    assert (folder / "plans" / "spring.md").read_text() == "# Spring\n"
    eventually(lambda: "plans" in desktop.rows("file-tree"), what="the new folder is in the tree")

    desktop.open_row("file-tree", "AGENTS.md")
    desktop.has("editor")
    desktop.type("editor", "Always answer in the style of a gardener.", replace=True)
    desktop.key("Ctrl+S", name="editor")
    eventually(lambda: "gardener" in (folder / "AGENTS.md").read_text(), what="the policy is on the disk")
    provider.enqueue(say("Gladly."))
    say_to(desktop, "And now?")
    desktop.sees("Gladly.")
    assert "in the style of a gardener" in _system_prompt(provider)

    desktop.type("editor", " And briefly.")  # first: a text without changes would follow the file
    (folder / "AGENTS.md").write_text("Somebody else was here.")
    desktop.key("Ctrl+S", name="editor")
    desktop.has("conflict-card")
    assert (folder / "AGENTS.md").read_text() == "Somebody else was here.", "nothing is overwritten unasked"
    desktop.click("keep-mine")
    eventually(lambda: "briefly" in (folder / "AGENTS.md").read_text(), what="mine was kept")
    desktop.sees("Saved")  # the file is there a moment before the window knows
    desktop.quit()


def test_stop_keeps_what_waits(launch: Launch, home: Path, config: Path, provider: ScriptedProvider) -> None:
    _with_literal_key(config, provider.url)
    desktop = launch("--profile-dir", str(home / "profile"))
    create_workspace(desktop, "Queue")
    held = pause_after(5, say("This was said, and this was never heard."))
    provider.enqueue(held, say("The second message had its turn."))
    say_to(desktop, "First")
    desktop.sees("This was said")
    say_to(desktop, "Second")
    desktop.sees("Waiting")
    desktop.click("stop")
    desktop.sees("Stopped", "Resume")
    assert provider.requests[-1].gone.wait(PATIENCE_S), "the model is not asked any further"
    assert len(provider.requests) == 1
    desktop.click("Resume")
    desktop.sees("The second message had its turn.")
    desktop.quit()


def test_by_keyboard_alone(launch: Launch, home: Path, config: Path, provider: ScriptedProvider) -> None:
    _with_literal_key(config, provider.url)
    desktop = launch("--profile-dir", str(home / "profile"))
    desktop.type("workspace-name", "Keys", replace=True)
    desktop.key("Return", name="workspace-name")
    desktop.sees("What should happen in Keys?")
    desktop.key("Ctrl+K", name="composer")
    desktop.type("palette-search", "settings")
    desktop.key("Return", name="palette-search")
    desktop.has("settings-page")
    desktop.key("Esc", name="settings-sections")
    desktop.has("composer")
    desktop.key("Ctrl+B", name="composer")
    eventually(lambda: not desktop.ask("exists", name="file-tree"), what="the files are hidden")
    provider.enqueue(say("Heard."))
    desktop.key("Ctrl+L", name="composer")
    say_to(desktop, "No mouse")
    desktop.sees("Heard.")
    desktop.quit()


def test_a_literal_key_moves_into_the_keychain(
    launch: Launch, home: Path, config: Path, provider: ScriptedProvider
) -> None:
    _with_literal_key(config, provider.url)
    desktop = launch("--profile-dir", str(home / "profile"))
    create_workspace(desktop, "Moved")
    desktop.click("rail-settings")
    desktop.click("move-all-keys")
    eventually(lambda: KEY not in config.read_text(), what="the key has left the file")
    assert json.loads(config.read_text())["providers"]["own"]["api_key"] == "keychain:own"
    desktop.quit()

    again = launch("--profile-dir", str(home / "profile"))
    again.sees("What should happen in Moved?")
    provider.enqueue(say("The keychain had it."))
    say_to(again, "Hello")
    again.sees("The keychain had it.")
    again.quit()
    assert files_holding(home, KEY) == []


def test_settings_that_cannot_be_read_are_kept_aside_and_named(
    launch: Launch, home: Path, config: Path
) -> None:
    config.write_text('{"runtime": {"default_model": ')
    desktop = launch("--profile-dir", str(home / "profile"))
    desktop.has("first-run")
    [aside] = config.parent.glob("runtime-config.json.corrupt-*")
    assert aside.read_text() == '{"runtime": {"default_model": '
    desktop.click("rail-settings")
    desktop.sees(aside.name)
    desktop.quit()
