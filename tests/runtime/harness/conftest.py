"""A warm harness for the tests of a module, a workspace and a package for each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.harness import native
from holaboss_runtime.harness.contract import ModelClient, Mount, RunnerEvent, RunPackage, WireProtocol
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools import TOOLS
from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.native import TOOL_NAMES, NativeHarness
from tests.support.processes import PATIENCE_S, descendants, wait_for_commands
from tests.support.scripted_provider import ScriptedProvider

KEY = "sk-marker-5f1e0c"
BuildPackage = Callable[..., RunPackage]


class Cancel:
    """A cancellation a test pulls."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._event = asyncio.Event()

    def pull(self) -> None:
        self.reason = "user_requested_pause"
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class Listener:
    """Runs packages on a harness and keeps what it heard."""

    def __init__(self, harness: NativeHarness) -> None:
        self.harness = harness

    async def run(self, package: RunPackage, cancel: Cancel | None = None) -> list[RunnerEvent]:
        return [event async for event in self.harness.run(package, cancel or Cancel())]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is being stopped gets its time on a busy machine, too: a host must not be killed for it."""
    monkeypatch.setattr(native, "CANCEL_S", PATIENCE_S)


@pytest.fixture(scope="module")
async def harness(anyio_backend: str) -> AsyncIterator[NativeHarness]:
    async with open_harness() as opened:
        yield opened


@asynccontextmanager
async def open_harness(**options: Any) -> AsyncGenerator[NativeHarness]:
    """A harness whose hosts are warm."""
    harness = NativeHarness(**options)
    await harness.start()
    try:
        await warm(harness)
        yield harness
    finally:
        await harness.close()


async def warm(harness: NativeHarness) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(slot.filled.wait() for slot in harness._slots))


async def sleepers(pid: int, count: int) -> list[int]:
    """All processes below `pid`, once `count` of them are `sleep 1000` itself, and not the shells that start it."""
    await asyncio.to_thread(wait_for_commands, pid, "sleep 1000", count, exactly=True)
    return [process.pid for process in descendants(pid)]


def host_pid(harness: NativeHarness) -> int:
    host = harness._slots[0].host
    assert host is not None
    return host.pid


@pytest.fixture
def no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts started in this test find the usual commands, but nothing to contain them with."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("bash", "sh", "sleep", "setsid"):
        (commands / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    monkeypatch.setenv("PATH", str(commands))


@pytest.fixture
def listener(harness: NativeHarness) -> Listener:
    return Listener(harness)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".holaboss").mkdir(parents=True)
    (folder / ".holaboss" / "workspace_id").write_text("private")
    return folder


@pytest.fixture
def package(provider: ScriptedProvider, workspace: Path) -> BuildPackage:
    """`package("text", protocol=…, any field of RunPackage=…)`."""

    def build(
        instruction: str = "Hello", *, protocol: WireProtocol = "openai_chat", **fields: Any
    ) -> RunPackage:
        root = provider.url if protocol == "anthropic_messages" else f"{provider.url}/v1"
        defaults: dict[str, Any] = {
            "workspace_id": "workspace",
            "workspace_dir": str(workspace),
            "session_id": "session",
            "input_id": "input",
            "wake_id": "wake",
            "instruction": instruction,
            "system_prompt": "You hold a role.",
            "provider_id": "scripted_direct",
            "provider_name": "Scripted",
            "model_id": "model-1",
            "model_client": ModelClient(protocol=protocol, base_url=root, api_key=KEY),
            "tools": list(TOOL_NAMES),
        }
        return RunPackage(**(defaults | fields))

    return build


def local_sandbox(
    workspace: Path,
    *mounts: Mount,
    containment: Containment | None = None,
    tools: dict[str, HostTool] | None = None,
    **fields: Any,
) -> LocalSandbox:
    """The sandbox of a run in this folder, with this host's own tools or others; `fields` are of its package."""
    defaults: dict[str, Any] = {
        "workspace_id": "workspace",
        "workspace_dir": str(workspace),
        "session_id": "session",
        "input_id": "input",
        "wake_id": "wake",
        "instruction": "",
        "system_prompt": "",
        "provider_id": "scripted_direct",
        "provider_name": "Scripted",
        "model_id": "model-1",
        "model_client": ModelClient(protocol="openai_chat", base_url="http://127.0.0.1:1", api_key=KEY),
        "mounts": list(mounts),
    }
    commands = CommandRunner(containment or Containment(), lambda pgid, alive: None)
    sandbox = LocalSandbox(commands, TOOLS if tools is None else tools)
    sandbox.provision(RunPackage(**(defaults | fields)))
    return sandbox
