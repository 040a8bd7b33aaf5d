"""`agent.json`: who an agent is and how it may work, as one frozen reading of the file.

The file belongs to people: it is made when it is missing, and rewritten only to give the agent another provider or
model. A file that cannot be understood refuses runs (`agent_config_invalid`); it never becomes the default.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, cast

from holaboss_runtime.agents import providers
from holaboss_runtime.agents.documents import (
    Document,
    Fail,
    Section,
    encode_document,
    load_document,
    parse_document,
)
from holaboss_runtime.errors import DomainError

Access = Literal["none", "ro", "rw"]
Mode = Literal["off", "workspace"]

DAY_S = 86_400
EVERYTHING = "*"
DEFAULT_ASK = ("bash",)


@dataclass(frozen=True, slots=True)
class WakeLease:
    stale_after_s: int = 600
    heartbeat_s: int = 60


@dataclass(frozen=True, slots=True)
class RetryDelays:
    """Milliseconds."""

    recoverable_wake_ms: int = 5_000
    wake_failure_replay_ms: int = 2_000
    backoff_base_ms: int = 2_000
    backoff_max_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """`deny` wins; `allow` restricts to what it names (None: no restriction, empty: nothing), `also_allow` adds to it.
    `ask` are the tools a person confirms each time. `*` in a list is every tool.
    """

    allow: tuple[str, ...] | None = None
    also_allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = DEFAULT_ASK

    def select(self, available: Iterable[str]) -> tuple[str, ...]:
        """The tools that exist for the agent, in the order given: what is denied is not there, it does not fail."""
        return tuple(name for name in available if self.allows(name))

    def allows(self, tool: str) -> bool:
        if _names(self.deny, tool):
            return False
        return self.allow is None or _names(self.allow, tool) or _names(self.also_allow, tool)

    def asks(self, tool: str) -> bool:
        return _names(self.ask, tool)


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    mode: Mode = "workspace"
    workspace_access: Access = "rw"


@dataclass(frozen=True, slots=True)
class SkillPolicy:
    """`include` None means all skills that are found, an empty one none."""

    enabled: bool = True
    directories: tuple[str, ...] = ()
    include: tuple[str, ...] | None = None
    max_prompt_entries: int = 8


@dataclass(frozen=True, slots=True)
class Heartbeat:
    interval_s: int = 300
    max_consecutive_follow_ups: int = 3


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """`runner` is the word of the file (embedded, cli). `fingerprint` changes with the meaning, not with the layout."""

    provider: str = providers.DEFAULT
    model: str = providers.DEFAULT
    runner: str = "embedded"
    wake_lease: WakeLease = field(default_factory=WakeLease)
    retry: RetryDelays = field(default_factory=RetryDelays)
    tools: ToolPolicy = field(default_factory=ToolPolicy)
    sandbox: SandboxPolicy = field(default_factory=SandboxPolicy)
    skills: SkillPolicy = field(default_factory=SkillPolicy)
    heartbeat: Heartbeat = field(default_factory=Heartbeat)

    @property
    def model_request(self) -> str | None:
        """What to ask the model resolution for; None is the configured default."""
        return providers.model_request(self.provider, self.model)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def load_config(path: Path) -> tuple[AgentConfig, Document]:
    """Raises `FileNotFoundError`, and `DomainError` `agent_config_invalid` that names the file and the field."""
    fail = _fail(path)
    document, _ = load_document(path, fail)
    return _read(document, fail), document


def scaffold(provider: str | None, model: str | None, path: Path) -> bytes:
    """The first `agent.json` of an agent. Raises `agent_config_invalid` for values no agent can have."""
    base = AgentConfig()
    document: Document = {
        "runtime": {
            "wakeLease": {
                "staleAfterSeconds": base.wake_lease.stale_after_s,
                "heartbeatSeconds": base.wake_lease.heartbeat_s,
            }
        },
        "model": {},
        "resilience": {
            "profile": "resilient",
            "retry": {
                "recoverableWakeRetryDelayMs": base.retry.recoverable_wake_ms,
                "wakeFailureReplayDelayMs": base.retry.wake_failure_replay_ms,
                "pendingEventBackoffBaseMs": base.retry.backoff_base_ms,
                "pendingEventBackoffMaxMs": base.retry.backoff_max_ms,
            },
        },
        "tools": {"ask": list(DEFAULT_ASK)},
        "sandbox": {"mode": base.sandbox.mode, "workspaceAccess": base.sandbox.workspace_access},
        "skills": {"enabled": True, "maxPromptEntries": base.skills.max_prompt_entries},
        "heartbeat": {
            "intervalSeconds": base.heartbeat.interval_s,
            "maxConsecutiveFollowUps": base.heartbeat.max_consecutive_follow_ups,
        },
    }
    return with_identity(document, provider or providers.DEFAULT, model, path)


def with_identity(document: Document, provider: str, model: str | None, path: Path) -> bytes:
    """The same document with another provider and model; everything else in it stays.

    Without a model the usual one of the provider is written. Raises `agent_config_invalid`, which says that `path` was
    left alone.
    """
    provider = providers.canonical(provider.strip())
    changed = copy.deepcopy(document)
    changed["runtime"] = {
        "kind": providers.default_runner(provider),
        "provider": provider,
        **{
            key: value
            for key, value in _object(changed, "runtime").items()
            if key not in ("kind", "provider")
        },
    }
    chosen = providers.default_model(provider) if model is None else model
    rest = {key: value for key, value in _object(changed, "model").items() if key not in ("provider", "id")}
    changed["model"] = {"provider": provider, **({} if chosen is None else {"id": chosen}), **rest}
    raw = encode_document(changed)
    refuse = _fail(path, "Nothing was written.")
    _read(parse_document(raw, refuse), refuse)
    return raw


def _names(names: tuple[str, ...], tool: str) -> bool:
    return tool in names or EVERYTHING in names


def _object(document: Document, key: str) -> Document:
    value: object = document.get(key)
    return cast(Document, value) if isinstance(value, dict) else {}


def _fail(path: Path, so: str = "The agent does not run until the file is right.") -> Fail:
    def fail(sentence: str) -> DomainError:
        return DomainError(
            "unprocessable",
            "agent_config_invalid",
            f"{path}: {sentence} {so}",
            path=str(path),
        )

    return fail


def _read(document: Document, fail: Fail) -> AgentConfig:
    root = Section(document, "", fail)
    legacy = _legacy_provider(root)
    runtime = (
        Section({}, "runtime.", fail) if isinstance(root.raw("runtime"), str) else root.section("runtime")
    )
    provider, model = _identity(root, runtime, legacy, fail)
    words = ("embedded", "cli")
    return AgentConfig(
        provider=provider,
        model=model,
        runner=runtime.choice("kind", words, providers.default_runner(provider)),
        wake_lease=_wake_lease(runtime.section("wakeLease")),
        retry=_retry(root.section("resilience").section("retry")),
        tools=_tools(root.section("tools")),
        sandbox=_sandbox(root.section("sandbox")),
        skills=_skills(root.section("skills")),
        heartbeat=_heartbeat(root.section("heartbeat")),
    )


def _legacy_provider(root: Section) -> str:
    """Old files name the provider as the runtime itself, or only by whom they log in with."""
    runtime = root.raw("runtime")
    if isinstance(runtime, str):
        if not providers.known_alias(runtime):
            raise root.wrong(
                "runtime", f"names {runtime[:80]!r}, which is no runtime. Write an object with a provider."
            )
        return providers.canonical(runtime)
    auth = root.raw("auth")
    if isinstance(auth, dict) and cast(Document, auth).get("provider") == "codex":
        return providers.CODEX
    return providers.DEFAULT


def _identity(root: Section, runtime: Section, legacy: str, fail: Fail) -> tuple[str, str]:
    named = root.raw("model")
    model = Section({"id": named}, "model.", fail) if isinstance(named, str) else root.section("model")
    stated = model.text("provider", legacy, longest=128)
    provider = providers.canonical(runtime.text("provider", stated, longest=128))
    if "provider" in model and providers.canonical(stated) != provider:
        raise model.wrong(
            "provider", f"is another one than runtime.provider ({provider}). Make them the same."
        )
    if "/" in provider or any(sign.isspace() for sign in provider):
        raise runtime.wrong("provider", "must be the id of a provider, without slashes and spaces.")
    usual = providers.default_model(provider)
    chosen = model.text("id", usual or providers.DEFAULT)
    if chosen == providers.DEFAULT and provider != providers.DEFAULT:
        if usual is None:
            raise model.wrong("id", f"is missing. Name the model of the provider {provider!r}.")
        chosen = usual
    return provider, chosen


def _wake_lease(section: Section) -> WakeLease:
    base = WakeLease()
    stale = section.whole("staleAfterSeconds", base.stale_after_s, low=2, high=DAY_S)
    # A lease has to be renewed before it runs out, also where only its length was changed.
    beat = section.whole("heartbeatSeconds", max(1, min(base.heartbeat_s, stale // 2)), low=1, high=DAY_S)
    if beat >= stale:
        raise section.wrong("heartbeatSeconds", f"must be less than staleAfterSeconds ({stale}).")
    return WakeLease(stale, beat)


def _retry(section: Section) -> RetryDelays:
    base = RetryDelays()
    return RetryDelays(
        section.whole("recoverableWakeRetryDelayMs", base.recoverable_wake_ms, low=0, high=DAY_S * 1000),
        section.whole("wakeFailureReplayDelayMs", base.wake_failure_replay_ms, low=0, high=DAY_S * 1000),
        section.whole("pendingEventBackoffBaseMs", base.backoff_base_ms, low=0, high=DAY_S * 1000),
        section.whole("pendingEventBackoffMaxMs", base.backoff_max_ms, low=0, high=DAY_S * 1000),
    )


def _tools(section: Section) -> ToolPolicy:
    ask = section.names("ask")
    return ToolPolicy(
        allow=section.names("allow"),
        also_allow=section.names("alsoAllow") or (),
        deny=section.names("deny") or (),
        ask=DEFAULT_ASK if ask is None else ask,
    )


def _sandbox(section: Section) -> SandboxPolicy:
    base = SandboxPolicy()
    modes: tuple[Mode, ...] = ("off", "workspace")
    accesses: tuple[Access, ...] = ("none", "ro", "rw")
    return SandboxPolicy(
        section.choice("mode", modes, base.mode),
        section.choice("workspaceAccess", accesses, base.workspace_access),
    )


def _skills(section: Section) -> SkillPolicy:
    base = SkillPolicy()
    return SkillPolicy(
        enabled=section.flag("enabled", default=base.enabled),
        directories=section.names("directories") or (),
        include=section.names("include"),
        max_prompt_entries=section.whole("maxPromptEntries", base.max_prompt_entries, low=0, high=1000),
    )


def _heartbeat(section: Section) -> Heartbeat:
    base = Heartbeat()
    return Heartbeat(
        section.whole("intervalSeconds", base.interval_s, low=1, high=DAY_S),
        section.whole("maxConsecutiveFollowUps", base.max_consecutive_follow_ups, low=0, high=1000),
    )
