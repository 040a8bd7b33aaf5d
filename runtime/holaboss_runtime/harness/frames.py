"""The frames between runtime and harness host: one JSON object per line, at most 16 MiB, UTF-8.

runtime → host: `run.start` (a `RunPackage`), `run.cancel`, `tool.result`, `ask`, `service.result`, `warm`, `ping`;
host → runtime: `hello`, `event`, `tool.call`, `done`, `answer`, `service.call`, `group`, `pong`.
`run_id` names the run, so that one host carries many at once. What belongs to no run goes as `ask` and `answer` in one
direction, as `service.call` and `service.result` in the other.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from holaboss_runtime.harness.contract import ContractModel, RunnerEvent, RunPackage, WireProtocol

MAX_FRAME_BYTES = 16 * 1024 * 1024


class RunStart(ContractModel):
    kind: Literal["run.start"] = "run.start"
    run_id: str
    package: RunPackage


class RunCancel(ContractModel):
    kind: Literal["run.cancel"] = "run.cancel"
    run_id: str
    reason: str


class ToolResult(ContractModel):
    """Answer to a `tool.call`: `text` is for the model, `details` for whoever shows the call."""

    kind: Literal["tool.result"] = "tool.result"
    run_id: str
    call_id: str
    text: str = ""
    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    error: bool = False


class HostAsk(ContractModel):
    """Something the runtime wants of a host outside any run, such as the state of its MCP servers."""

    kind: Literal["ask"] = "ask"
    ask_id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any], repr=False)


class HostAnswer(ContractModel):
    """`error` is a sentence; `code` names it for programs."""

    kind: Literal["answer"] = "answer"
    ask_id: str
    result: Any = Field(default=None, repr=False)
    error: str | None = None
    code: str | None = None


class ServiceCall(ContractModel):
    """Something a host wants of the runtime outside any run, such as a stored secret. Without a `call_id` it is news
    that nobody answers."""

    kind: Literal["service.call"] = "service.call"
    call_id: str | None = None
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any], repr=False)


class ServiceResult(ContractModel):
    kind: Literal["service.result"] = "service.result"
    call_id: str
    result: Any = Field(default=None, repr=False)
    error: str | None = None


class HostWarm(ContractModel):
    """Load what this protocol needs before the first run asks for it."""

    kind: Literal["warm"] = "warm"
    protocol: WireProtocol


class HostPing(ContractModel):
    """Sent while runs are active; a host whose loop is alive answers with a `pong`."""

    kind: Literal["ping"] = "ping"


class HostHello(ContractModel):
    """First frame of a host that is warm. `tools` are the names it can register, `containment` is what holds its
    commands."""

    kind: Literal["hello"] = "hello"
    contract_version: int
    pid: int
    tools: list[str]
    containment: str = "none"


class HostEvent(ContractModel):
    kind: Literal["event"] = "event"
    run_id: str
    event: RunnerEvent


class ToolCall(ContractModel):
    kind: Literal["tool.call"] = "tool.call"
    run_id: str
    call_id: str
    name: str
    arguments: dict[str, Any]


class RunDone(ContractModel):
    """Last frame of a run: its terminal event, which carries the result."""

    kind: Literal["done"] = "done"
    run_id: str
    event: RunnerEvent


class ProcessGroup(ContractModel):
    """A process group the host has started, or has seen end: what must be killed should the host be lost."""

    kind: Literal["group"] = "group"
    pgid: int
    alive: bool


class HostPong(ContractModel):
    kind: Literal["pong"] = "pong"


ToHostFrame = RunStart | RunCancel | ToolResult | HostAsk | ServiceResult | HostWarm | HostPing
FromHostFrame = (
    HostHello | HostEvent | ToolCall | RunDone | HostAnswer | ServiceCall | ProcessGroup | HostPong
)

TO_HOST: TypeAdapter[ToHostFrame] = TypeAdapter(Annotated[ToHostFrame, Field(discriminator="kind")])
FROM_HOST: TypeAdapter[FromHostFrame] = TypeAdapter(Annotated[FromHostFrame, Field(discriminator="kind")])


def encode(frame: ContractModel) -> bytes:
    """One line, newline included. Raises `ValueError` for a frame over `MAX_FRAME_BYTES`."""
    line = frame.model_dump_json().encode() + b"\n"
    if len(line) > MAX_FRAME_BYTES:
        raise ValueError(f"frame of {len(line)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return line
