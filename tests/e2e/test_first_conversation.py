"""The main job, whole: connect a provider, make a workspace, talk, survive a crash, come back tomorrow."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.desktop import Desktop
from tests.e2e.gestures import create_workspace, say_to
from tests.e2e.processes import Process, eventually, of_home
from tests.support.exposure import carries, files_holding
from tests.support.scripted_provider import Answer, ScriptedProvider, call, pause_after, say

MARKER_KEY = "sk-marker-5b1f0e7d9c"
Launch = Callable[..., Desktop]


@dataclass(frozen=True)
class Dialect:
    """How a person meets one wire protocol: which card to open, what to type, what a run is called."""

    provider_id: str
    card: str
    path: str
    model: str


CHAT = Dialect("openai_direct", "OpenAI", "/v1", "gpt-4.1-mini")
ANTHROPIC = Dialect("anthropic_direct", "Anthropic", "", "claude-sonnet-4-6")


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=MARKER_KEY, models=(CHAT.model, ANTHROPIC.model)) as running:
        yield running


def _connect(desktop: Desktop, dialect: Dialect, url: str) -> None:
    """Through the settings page, as a person would: open the card, fill it in, test it, connect."""
    card = f"provider-card-{dialect.provider_id}"
    desktop.click(f"Set up {dialect.card}")
    desktop.has(card)
    desktop.type("base-url", url + dialect.path, replace=True, inside=card)
    desktop.type("models", dialect.model, replace=True, inside=card)
    desktop.type("api-key", MARKER_KEY, inside=card)
    desktop.click("test", inside=card)
    desktop.sees("Connected. 2 models are available.")
    desktop.click("connect", inside=card)
    desktop.sees("Saved in the keychain")
    desktop.click("close-settings")


def _everything_ended(processes: list[Process], home: Path) -> None:
    eventually(lambda: not any(p.alive for p in processes), what="every process of ours has ended")

    def left() -> list[str]:
        return [p.argv for p in of_home(home) if "holaboss" in p.argv or "driver" in p.argv]

    eventually(lambda: not left(), what="and so has what they have started since")


def _nowhere(marker: str, home: Path, processes: list[Process]) -> None:
    """Neither in a file under the home directory nor in the argv or environment of a process."""
    assert files_holding(home, marker) == []
    assert {p.pid: found for p in processes if (found := carries(p.pid, marker))} == {}


@pytest.mark.parametrize("dialect", [CHAT, ANTHROPIC], ids=["openai-chat", "anthropic-messages"])
def test_a_conversation_survives_a_crash_and_a_restart(
    launch: Launch, home: Path, provider: ScriptedProvider, dialect: Dialect
) -> None:
    desktop = launch("--profile-dir", str(home / "profile"))
    _connect(desktop, dialect, provider.url)
    create_workspace(desktop, "Ledger")

    provider.enqueue(
        call("bash", command="echo from-the-shell"), say("The shell said **from-the-shell**, as asked.")
    )
    say_to(desktop, "Run a command, please")
    desktop.sees("Run a command, please", "Ran a command", "The shell said from-the-shell, as asked.")
    assert "from-the-shell" in str(provider.requests[-1].body), "the tool's result went back to the model"

    cut = pause_after(6, say("These words were said before the runtime died, and these were not."))
    assert cut.gate is not None
    provider.enqueue(cut)
    say_to(desktop, "Tell me something long")
    desktop.sees("These words were")
    _nowhere(MARKER_KEY, home, desktop.children())
    first_runtime = desktop.runtime()
    family = desktop.children()
    os.kill(first_runtime.pid, signal.SIGKILL)
    eventually(lambda: not any(p.alive for p in family), what="the killed runtime's family has ended")
    desktop.sees("cut off", "These words were")
    cut.gate.release()

    provider.enqueue(say("Back again, with everything in its place."))
    say_to(desktop, "Are you there?")
    desktop.sees("Back again, with everything in its place.")
    assert "from-the-shell" in str(provider.requests[-1].body), "the conversation continues where it was"

    everyone = desktop.children()
    desktop.quit()
    _everything_ended(everyone, home)
    _nowhere(MARKER_KEY, home, [])

    again = launch("--profile-dir", str(home / "profile"))
    again.sees("Are you there?", "Back again, with everything in its place.", "Ledger")
    provider.enqueue(say("The key came from the keychain."))
    say_to(again, "And the key?")
    again.sees("The key came from the keychain.")

    provider.enqueue(Answer(call("bash", command="sleep 1000 & setsid sleep 1000 & sleep 1000"), gate=None))
    say_to(again, "Start something that stays")
    asleep = ["sleep", "1000"]
    eventually(lambda: [p.argv.split() for p in again.children()].count(asleep) == 3, what="the command runs")
    everyone = again.children()
    again.kill()
    _everything_ended(everyone, home)
    _nowhere(MARKER_KEY, home, [])


@contextmanager
def where_ollama_lives() -> Iterator[ScriptedProvider]:
    """That port is the same for everybody: other tests of this computer may be there now, and will leave."""
    with Path(tempfile.gettempdir(), "holaboss-port-11434.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with ScriptedProvider(port=11434) as ollama:
            yield ollama


def test_the_ollama_check(launch: Launch, home: Path) -> None:
    """The check the original specification prints, word for word."""
    with where_ollama_lives() as ollama:
        desktop = launch("--profile-dir", str(home / "profile"))
        card = "provider-card-ollama_direct"
        desktop.click("Set up Ollama")
        desktop.has(card)
        desktop.type("base-url", "http://localhost:11434/v1", replace=True, inside=card)
        desktop.type("api-key", "ollama", inside=card)
        desktop.type("models", "qwen2.5:0.5b", replace=True, inside=card)
        desktop.click("connect", inside=card)
        desktop.sees("Connected")
        desktop.click("close-settings")
        create_workspace(desktop, "Check")
        desktop.click("model-picker")
        desktop.type("Search models", "ollama_direct/qwen2.5:0.5b")
        desktop.key("Return", name="Search models")

        say_to(desktop, "Reply with exactly: OK")
        desktop.sees("qwen2.5:0.5b  ·")
        assert "OK" in desktop.screen().splitlines(), "the answer is that one word"
        assert ollama.requests[-1].body["model"] == "qwen2.5:0.5b"
        assert ollama.requests[-1].headers["authorization"] == "Bearer ollama"
        desktop.quit()
