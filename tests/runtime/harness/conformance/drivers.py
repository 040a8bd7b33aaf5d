"""How a conformance test makes an adapter do something, without knowing which one it is.

A driver turns steps (`Say`, `Call`, …) into whatever makes its executor take them, and tells what came of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holaboss_runtime.demo_provider.reply import Reply, ToolCall, Usage, words
from holaboss_runtime.harness.contract import Harness, ModelClient, RunPackage
from holaboss_runtime.harness.native import NativeHarness
from holaboss_runtime.harness.toolbox import Toolbox
from tests.support.scripted_provider import Answer, ScriptedProvider
from tests.support.toy_adapter.adapter import NOTES, ToyHarness


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Fail:
    message: str = "It does not work."


@dataclass(frozen=True)
class Stall:
    """Silence until somebody stops the run."""


Step = Say | Call | Fail | Stall


class Driver(Protocol):
    harness: Harness
    toolbox: Toolbox
    noting: str
    """The name of its tool that changes the workspace."""

    def package(self, *steps: Step, **fields: Any) -> RunPackage:
        """A package whose run takes these steps. It has every tool of the adapter unless `tools` says otherwise."""
        ...

    def note(self, text: str) -> Call:
        """A call that leaves one line in the workspace each time it is carried out."""
        ...

    def noted(self) -> list[str]:
        """The lines that were left."""
        ...

    def told(self) -> str:
        """Everything the executor's model was given in the newest run."""
        ...


def _package(folder: Path, fields: dict[str, Any]) -> RunPackage:
    defaults: dict[str, Any] = {
        "workspace_id": "workspace",
        "workspace_dir": str(folder),
        "session_id": "session",
        "input_id": "input",
        "wake_id": "wake",
        "instruction": "Go on.",
        "system_prompt": "You hold a role.",
        "provider_id": "scripted_direct",
        "provider_name": "Scripted",
        "model_id": "model-1",
        "model_client": ModelClient(protocol="openai_chat", base_url="http://127.0.0.1:1", api_key="sk-1"),
    }
    return RunPackage(**(defaults | fields))


class NativeDriver:
    noting = "bash"

    def __init__(self, harness: NativeHarness, provider: ScriptedProvider, folder: Path) -> None:
        self.harness: Harness = harness
        self.toolbox = harness.toolbox
        self._provider = provider
        self._folder = folder

    def package(self, *steps: Step, **fields: Any) -> RunPackage:
        self._provider.enqueue(*_answers(steps))
        client = ModelClient(protocol="openai_chat", base_url=f"{self._provider.url}/v1", api_key="sk-marker")
        given = {"model_client": client, "tools": list(self.harness.tool_names)}
        return _package(self._folder, given | fields)

    def note(self, text: str) -> Call:
        return Call("bash", {"command": f"echo {text} >> {NOTES}"})

    def noted(self) -> list[str]:
        return _lines(self._folder)

    def told(self) -> str:
        return json.dumps(self._provider.requests[-1].body, ensure_ascii=False)


def _answers(steps: Iterable[Step]) -> Iterator[Reply | Answer]:
    """One answer of a model up to each call; what is said before a call belongs to the same answer."""
    text = ""
    for step in steps:
        if isinstance(step, Say):
            text += step.text
        elif isinstance(step, Call):
            yield Reply(words(text), (), (ToolCall(step.tool, step.arguments),), Usage(10, 5))
            text = ""
        elif isinstance(step, Fail):
            yield Answer(status=400, message=step.message)
            return
        else:
            pieces = words(text)
            yield Answer(Reply(pieces, (), (), Usage(10, 5)), cut="silence", after=len(pieces) + 1)
            return
    yield Reply(words(text), (), (), Usage(10, 5))


class ToyDriver:
    noting = "note"

    def __init__(self, harness: ToyHarness, folder: Path) -> None:
        self.harness: Harness = harness
        self.toolbox = harness.toolbox
        self._toy = harness
        self._folder = folder

    def package(self, *steps: Step, **fields: Any) -> RunPackage:
        script = "\n".join(_line(step) for step in steps)
        return _package(
            self._folder, {"tools": list(self.harness.tool_names)} | fields | {"instruction": script}
        )

    def note(self, text: str) -> Call:
        return Call("note", {"text": text})

    def noted(self) -> list[str]:
        return _lines(self._folder)

    def told(self) -> str:
        return self._toy.told


def _line(step: Step) -> str:
    if isinstance(step, Say):
        return f"say {step.text}"
    if isinstance(step, Call):
        return f"call {step.tool} {json.dumps(step.arguments)}"
    return f"fail {step.message}" if isinstance(step, Fail) else "stall"


def _lines(folder: Path) -> list[str]:
    notes = folder / NOTES
    return notes.read_text().splitlines() if notes.exists() else []
