"""A warm runtime over the scripted provider, and the shortest way to that provider, for the benches."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.events import DELTA_EVENTS
from holaboss_client.sessions import CreateSession, QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from tests.support.processes import cpu_seconds
from tests.support.scripted_provider import ScriptedProvider
from tests.support.server import RuntimeProcess

MODEL = "bench/m"
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer: milliseconds since the POST, characters, and what the meter said at that moment."""

    elapsed_ms: float
    length: int
    meter: float = 0.0


@dataclass(slots=True)
class Answered:
    """One run as a client saw it."""

    deltas: list[Delta] = field(default_factory=list[Delta])
    done_ms: float = 0.0

    @property
    def first_delta_ms(self) -> float:
        return self.deltas[0].elapsed_ms


@dataclass(slots=True)
class Rig:
    provider: ScriptedProvider
    runtime: RuntimeProcess
    client: RuntimeClient
    workspace_id: str

    async def new_session(self) -> str:
        return (await self.client.create_session(CreateSession(workspace_id=self.workspace_id))).session_id

    async def session(self) -> str:
        return (await self.client.ensure_main_session(self.workspace_id)).session_id

    async def ask(
        self, session_id: str, *, coalesce_ms: int = 0, meter: Callable[[], float] = float
    ) -> Answered:
        """Send one input over a stream that is open already, as a chat pane does, and read to the end.

        `meter` is read with every delta.
        """
        page = await self.client.output_events(self.workspace_id, session_id)
        last = page.last_event_id
        stream = self.client.output_stream(
            self.workspace_id, session_id, after_event_id=last, coalesce_ms=coalesce_ms
        )
        await anext(stream)
        answered, started = Answered(), time.perf_counter()
        await self.client.queue(
            QueueRequest(workspace_id=self.workspace_id, session_id=session_id, text="hi", model=MODEL)
        )
        async for event in stream:
            if event is None:
                continue
            elapsed = (time.perf_counter() - started) * 1000
            if event.event_type in DELTA_EVENTS:
                answered.deltas.append(Delta(elapsed, len(event.payload["delta"]), meter()))
            if event.is_terminal:
                if event.event_type != "run_completed":
                    raise RuntimeError(f"the run failed: {event.payload}")
                answered.done_ms = elapsed
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return answered

    def cpu_s(self) -> float:
        """Processor time of the runtime and everything below it, since they started."""
        family = [child.pid for child in self.runtime.descendants()]
        return cpu_seconds(self.runtime.pid, with_reaped=True) + sum(
            cpu_seconds(pid, with_reaped=True) for pid in family
        )


@asynccontextmanager
async def warm_rig() -> AsyncGenerator[Rig]:
    """A runtime whose harness host has answered once."""
    with tempfile.TemporaryDirectory(prefix="holaboss-bench-") as folder, ScriptedProvider() as provider:
        async with RuntimeProcess(Path(folder) / "root") as runtime, runtime.client() as client:
            draft = PutProvider(
                name="Bench", kind="openai_compatible", base_url=f"{provider.url}/v1", models=["m"]
            )
            await client.put_provider("bench", draft)
            workspace = await client.create_workspace(CreateWorkspace(name="Bench"))
            rig = Rig(provider, runtime, client, workspace.id)
            async with asyncio.timeout(PATIENCE_S):
                await rig.ask(await rig.session())
            yield rig


@asynccontextmanager
async def direct(provider: ScriptedProvider) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{provider.url}/v1", trust_env=False, timeout=PATIENCE_S) as http:
        yield http


async def ask_directly(http: httpx.AsyncClient) -> Answered:
    """The floor of every run: the same provider over a warm connection, its stream only taken apart."""
    answered, started = Answered(), time.perf_counter()
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    async with http.stream("POST", "/chat/completions", json=body) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: {") and (text := _content(json.loads(line[6:]))):
                answered.deltas.append(Delta((time.perf_counter() - started) * 1000, len(text)))
    answered.done_ms = (time.perf_counter() - started) * 1000
    return answered


def _content(chunk: dict[str, Any]) -> str:
    return "".join(str(choice["delta"].get("content") or "") for choice in chunk["choices"])
