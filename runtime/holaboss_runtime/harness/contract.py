"""The seam between a run and what executes it.

A run hands a `RunPackage` to a `Harness` and reads `RunnerEvent`s until exactly one terminal event, which
comes last. The package is everything an executor may see. Nothing above this seam knows which one it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule

CONTRACT_VERSION = 3
ASK_S = 30.0

WireProtocol = Literal["openai_chat", "openai_responses", "anthropic_messages"]


class ContractModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, protected_namespaces=())


class ModelClient(ContractModel):
    """How to reach the model. `api_key` lives in memory and on the host's pipe only, never in a snapshot."""

    protocol: WireProtocol
    base_url: str
    api_key: str = Field(repr=False)
    default_headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False)


class HistoryEntry(ContractModel):
    """What an executor remembered of one earlier turn, opaque to everyone but the adapter that wrote it."""

    adapter: str
    version: int
    payload: Any


ActionKind = Literal["tool_confirmation", "custom_tool", "question"]


class CustomTool(ContractModel):
    """A tool somebody outside answers: calling it ends the run until the result is there."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Mount(ContractModel):
    """A file or folder beside the workspace that tools may reach under `mount_path`, an absolute virtual path."""

    mount_path: str
    source: str
    access: Literal["read_only", "read_write"] = "read_only"


class RuntimeTool(ContractModel):
    """A tool that needs what only the runtime has: the host asks for it through its pipe and waits `timeout_s`.

    `hidden` ones are found by tool search only. `command_argument` names the argument that is a shell text.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    mutates: bool = True
    hidden: bool = False
    timeout_s: float = 30.0
    command_argument: str | None = None


class McpServerConfig(ContractModel):
    """How to reach a server. `local` is a command and talks over its pipes, `remote` an address.

    `transport` matters for remote ones: `auto` tries Streamable HTTP and falls back to server-sent events. Values of
    `environment` and `headers` are resolved: they may be secrets, and live in memory and on the pipe only.
    """

    type: Literal["local", "remote"]
    enabled: bool = True
    command: list[str] = Field(default_factory=list[str])
    environment: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    transport: Literal["auto", "http", "sse"] = "auto"
    timeout_s: float = 30.0


class McpServer(ContractModel):
    """`name` is the id in `workspace.yaml`. One process or connection serves every run of the workspace."""

    name: str
    config: McpServerConfig


class McpToolRef(ContractModel):
    """One tool a run may see; `tool_id` is `server.tool`. A server without any is taken with all it offers."""

    tool_id: str
    server_id: str
    tool_name: str


class Attachment(ContractModel):
    """Something the person added to the message: a file or folder of the workspace."""

    workspace_path: str
    name: str = ""
    kind: Literal["image", "file", "folder"] = "file"
    mime_type: str | None = None


class ModelFacts(ContractModel):
    """What the catalogue knows of the model; sizes in tokens."""

    context_window: int = 65_536
    max_output: int = 8_192
    takes_images: bool = True
    reasons: bool | None = None
    """Whether it thinks on request; None where nobody knows."""


class SearchClient(ContractModel):
    """Who answers `web_search`: `native` is the provider of the model itself, `keyless` a library."""

    provider: Literal["native", "keyless", "exa", "tavily", "brave"] = "keyless"
    api_key: str = Field(default="", repr=False)


class ImageClient(ContractModel):
    """Who draws for `image_generate`."""

    provider_id: str
    model_id: str
    kind: Literal["openai_images", "openrouter_chat", "gemini"]
    base_url: str
    api_key: str = Field(repr=False)


class PendingCall(ContractModel):
    """A call that a run could not make, because a person or a program outside has to decide or answer first.

    `reason` says why it is asked; `suggestions` are rules the person may keep with their answer, the narrowest first.
    """

    call_id: str
    kind: ActionKind
    tool_name: str
    tool_args: dict[str, Any] = Field(default_factory=dict[str, Any])
    reason: str = ""
    suggestions: list[PermissionRule] = Field(default_factory=list[PermissionRule])


class NewOutput(ContractModel):
    """Something a run made that is worth finding again; it becomes an `Output` when the turn is committed."""

    output_id: str
    output_type: str
    title: str
    file_path: str
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class Denial(ContractModel):
    """A call that was refused by a rule. `would_ask`: a person would have been asked, had the policy let anybody be;
    `tool_args` (bounded) and `suggestions` are then what they are shown afterwards."""

    call_id: str
    tool_name: str
    reason: str
    would_ask: bool = False
    tool_args: dict[str, Any] = Field(default_factory=dict[str, Any])
    suggestions: list[PermissionRule] = Field(default_factory=list[PermissionRule])


class ActionDecision(ContractModel):
    """What became of a `PendingCall` of an earlier run.

    An approved call is executed with `tool_args`, exactly once, before the model is asked; `output` is the result of
    an answered one; the model is told of a denied or cancelled one, with the `note`.
    """

    call_id: str
    kind: ActionKind
    tool_name: str
    outcome: Literal["approved", "denied", "answered", "cancelled"]
    tool_args: dict[str, Any] = Field(default_factory=dict[str, Any])
    output: Any = None
    note: str | None = None


class RunLimits(ContractModel):
    """`timeout_s` bounds a run, `idle_s` the silence of the model, `request_limit` its model calls."""

    timeout_s: float = 1800.0
    idle_s: float = 300.0
    request_limit: int = 200


class RunPackage(ContractModel):
    workspace_id: str
    workspace_dir: str
    session_id: str
    session_kind: str = "workspace_session"
    input_id: str
    wake_id: str
    instruction: str
    system_prompt: str
    context_messages: list[str] = Field(default_factory=list[str])
    attachments: list[Attachment] = Field(default_factory=list[Attachment])
    image_urls: list[str] = Field(default_factory=list[str])
    provider_id: str
    provider_name: str
    """For sentences; the id is for programs."""
    model_id: str
    model_client: ModelClient
    model_facts: ModelFacts = Field(default_factory=ModelFacts)
    thinking_value: str | None = None
    history: list[HistoryEntry] = Field(default_factory=list[HistoryEntry])
    tools: list[str] = Field(default_factory=list[str])
    runtime_tools: list[RuntimeTool] = Field(default_factory=list[RuntimeTool])
    permissions: PermissionPolicy = Field(default_factory=PermissionPolicy)
    mcp_servers: list[McpServer] = Field(default_factory=list[McpServer])
    mcp_tool_refs: list[McpToolRef] = Field(default_factory=list[McpToolRef])
    workspace_skill_dirs: list[str] = Field(default_factory=list[str])
    """Folders with a `SKILL.md`, in order; where two have the same id, the first counts."""
    staged_dir: str | None = None
    """Where the runner has put copies, when the prep plan asked for them: `skills/` and `commands/`."""
    web_search: SearchClient | None = None
    image_generation: ImageClient | None = None
    custom_tools: list[CustomTool] = Field(default_factory=list[CustomTool])
    mounts: list[Mount] = Field(default_factory=list[Mount])
    decisions: list[ActionDecision] = Field(default_factory=list[ActionDecision])
    """Of the calls the newest entry of `history` left open. With them `instruction` may be empty."""
    limits: RunLimits = Field(default_factory=RunLimits)


class RunnerEvent(ContractModel):
    """One step of a run. Types and payloads are those of `holaboss_client.events.RunEvent`.

    A terminal event carries in `result` what must be committed with the turn and is not shown to clients.
    """

    event_type: str
    payload: dict[str, Any] = Field(default_factory=dict[str, Any])
    result: RunResult | None = None


class RunResult(ContractModel):
    """What a run leaves behind. `history` is null when nothing of the conversation can be sent again."""

    assistant_text: str = ""
    history: HistoryEntry | None = None
    usage: dict[str, Any] = Field(default_factory=dict[str, Any])
    tool_calls: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    changed_paths: list[str] = Field(default_factory=list[str])
    pending: list[PendingCall] = Field(default_factory=list[PendingCall])
    """Calls that wait; the terminal event then has the status `waiting_user`."""
    outputs: list[NewOutput] = Field(default_factory=list[NewOutput])
    denials: list[Denial] = Field(default_factory=list[Denial])
    """With `may_ask` off, a denial of what would have been asked parks the run: its session waits for a person."""
    containment: str | None = None
    """What held the commands of this run, by name (`none` for nothing); None when there were none."""


class AdapterCapabilities(ContractModel):
    """What an executor can do at all. The runner never hands it what it cannot use: without `supports_waiting_user`
    what would be asked is refused, without the others skills and MCP servers stay out of the package."""

    supports_waiting_user: bool = False
    supports_skills: bool = False
    supports_mcp: bool = False
    supports_structured_output: bool = False
    requires_backend: bool = False


class PrepPlan(ContractModel):
    """What the runner has to do before a run; it does nothing else.

    Staging copies skills or commands of the workspace into `RunPackage.staged_dir`, for executors that look for them in
    a folder of their own.
    """

    stage_workspace_skills: bool = False
    stage_workspace_commands: bool = False
    prepare_mcp_tooling: bool = False
    start_workspace_mcp_sidecar: bool = False
    bootstrap_resolved_applications: bool = False


class Cancellation(Protocol):
    """Set once by whoever wants a run to stop; a harness ends its model call and its processes within 2 s."""

    @property
    def reason(self) -> str | None: ...

    async def wait(self) -> None: ...


class Harness(Protocol):
    """An executor. `start` is cheap and may return before it is warm; `close` leaves no process behind."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> AdapterCapabilities: ...

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools it can register, in the order the model sees them."""
        ...

    @property
    def ready(self) -> bool: ...

    @property
    def containment(self) -> str | None:
        """What holds its commands on this machine (`none` for nothing); None while that is not known."""
        ...

    def prep_plan(self, session_kind: str) -> PrepPlan:
        """What this adapter needs before a run of such a session."""
        ...

    async def start(self) -> None: ...

    def warm(self, protocol: WireProtocol) -> None:
        """A provider with this protocol is configured: load now what its first run would wait for."""
        ...

    async def ask(
        self, workspace_id: str, name: str, arguments: dict[str, Any], *, timeout_s: float = ASK_S
    ) -> Any:  # noqa: ANN401
        """What it says outside any run, such as the state of its MCP servers. Raises `HostAskError`."""
        ...

    def run(self, package: RunPackage, cancel: Cancellation) -> AsyncIterator[RunnerEvent]:
        """Never raises for a failed run: a failure is a RUN_FAILED event. A cancelled run ends in
        RUN_COMPLETED with status `paused` and whatever it had produced."""
        ...

    async def close(self) -> None: ...
