"""From a claimed input to the package the harness gets: compile, prompt, history, snapshot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holaboss_runtime.harness.contract import HistoryEntry, ModelClient, RunPackage
from holaboss_runtime.runs import fingerprint, texts
from holaboss_runtime.runs.ports import Model, Models, Workspaces
from holaboss_runtime.runs.sections import Prompt, PromptSection, assemble
from holaboss_runtime.runs.snapshot import Redactor, take_snapshot
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.store.harness_history import HistoryRow
from holaboss_runtime.store.inputs import InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.request_snapshots import RequestSnapshot
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.workspace.plan import WorkspacePlan, load_plan, read_policy

HISTORY_CHARS = 160_000
"""Of JSON, some 40,000 tokens: fits the smallest context window we expect, next to a prompt and an answer."""

EXCERPT_CHARS = 4_000
PREVIEW_CHARS = 120


@dataclass(frozen=True, slots=True)
class Compiled:
    """The workspace as this run sees it, and the model it will talk to."""

    folder: Path
    name: str
    plan: WorkspacePlan
    policy: str
    model: Model


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """`started` is the payload of RUN_STARTED; `texts` are the sections that `snapshot` names."""

    package: RunPackage
    snapshot: RequestSnapshot
    texts: dict[str, str]
    facts: RequestFacts
    started: dict[str, Any]


async def compile_run(queued: InputRecord, workspaces: Workspaces, models: Models) -> Compiled:
    """Read the workspace and choose the model: that of the input, else of the workspace, else the default.

    Raises `DomainError` for a workspace or a model that cannot be used.
    """
    workspace = workspaces.get(queued.workspace_id)
    folder = workspaces.folder(queued.workspace_id)
    plan, policy = await asyncio.to_thread(lambda: (load_plan(folder), read_policy(folder)))
    headers = {
        "X-Holaboss-Workspace-Id": queued.workspace_id,
        "X-Holaboss-Session-Id": queued.session_id,
        "X-Holaboss-Input-Id": queued.input_id,
    }
    model = await models.resolve_model(queued.payload.get("model") or plan.model, headers=headers)
    return Compiled(folder, plan.name or workspace.name, plan, policy, model)


def prepare_run(
    claimed: InputRecord,
    compiled: Compiled,
    records: Records,
    *,
    wake_id: str,
    session_kind: str,
    harness: str,
    tool_names: tuple[str, ...],
    secrets: frozenset[str],
) -> PreparedRun:
    """Everything the harness may see, and the proof of it."""
    history = records.harness_history.newest(claimed.session_id, max_chars=HISTORY_CHARS)
    prompt = _prompt(
        claimed, compiled, tool_names, resume=_unremembered_turn(claimed.session_id, history, records)
    )
    package = _package(claimed, compiled, prompt, history, wake_id, session_kind, tool_names)
    snapshot, section_texts = take_snapshot(
        package,
        prompt,
        harness=harness,
        attachments=claimed.payload.get("attachments", []),
        history_seqs=[row.seq for row in history],
        workspace_checksum=compiled.plan.checksum,
        redactor=Redactor({*secrets, compiled.model.api_key}),
    )
    facts = RequestFacts(
        prompt_section_ids=prompt.section_ids,
        capability_manifest_fingerprint=fingerprint.of_value({"harness": harness, "tools": tool_names}),
        request_snapshot_fingerprint=snapshot.fingerprint,
        prompt_cache_profile=prompt.cache_profile(),
    )
    return PreparedRun(package, snapshot, section_texts, facts, _started(package, facts, compiled))


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _prompt(claimed: InputRecord, compiled: Compiled, tool_names: tuple[str, ...], *, resume: str) -> Prompt:
    paths = [str(item["workspace_path"]) for item in claimed.payload.get("attachments", [])]
    today = datetime.now(UTC).astimezone().date().isoformat()
    return assemble(
        [
            PromptSection("runtime_core", "system_prompt", "base_runtime", 100, "stable", texts.RUNTIME_CORE),
            PromptSection(
                "execution_policy", "system_prompt", "base_runtime", 200, "stable", texts.EXECUTION_POLICY
            ),
            PromptSection(
                "workspace_policy",
                "system_prompt",
                "workspace_policy",
                600,
                "workspace",
                texts.workspace_policy(compiled.policy),
            ),
            PromptSection(
                "session_policy",
                "system_prompt",
                "session_policy",
                300,
                "run",
                texts.session_policy(compiled.name, today),
            ),
            PromptSection(
                "capability_policy",
                "system_prompt",
                "capability_policy",
                400,
                "run",
                texts.capability_policy(tool_names),
            ),
            PromptSection("resume_context", "resume_context", "runtime_context", 550, "run", resume),
            PromptSection(
                "attachments",
                "attachment",
                "runtime_context",
                700,
                "run",
                texts.attachments(paths) if paths else "",
            ),
        ]
    )


def _unremembered_turn(session_id: str, history: list[HistoryRow], records: Records) -> str:
    """A run that was cut off leaves no conversation to replay; what the last one said is told instead."""
    latest = records.turns.latest(session_id)
    if latest is None:
        return ""
    seq, turn = latest
    if history and history[-1].seq >= seq:
        return ""
    request = records.inputs.get(turn.input_id)
    fold = TurnFold.of(records.outputs.of_inputs([turn.input_id])[turn.input_id])
    return texts.unfinished_turn(
        request=(request.text if request else "")[:EXCERPT_CHARS],
        answer=turn.assistant_text[-EXCERPT_CHARS:],
        tools=fold.tool_names[:50],
        status=turn.status,
    )


def _package(
    claimed: InputRecord,
    compiled: Compiled,
    prompt: Prompt,
    history: list[HistoryRow],
    wake_id: str,
    session_kind: str,
    tool_names: tuple[str, ...],
) -> RunPackage:
    model = compiled.model
    return RunPackage(
        workspace_id=claimed.workspace_id,
        workspace_dir=str(compiled.folder),
        session_id=claimed.session_id,
        session_kind=session_kind,
        input_id=claimed.input_id,
        wake_id=wake_id,
        instruction=claimed.text.strip() or "See the attached files.",
        system_prompt=prompt.system_prompt,
        context_messages=prompt.context_messages,
        provider_id=model.provider_id,
        provider_name=model.provider_name,
        model_id=model.model_id,
        model_client=ModelClient(
            protocol=model.protocol,
            base_url=model.base_url,
            api_key=model.api_key,
            default_headers=model.default_headers,
        ),
        thinking_value=claimed.payload.get("thinking_value"),
        history=[
            HistoryEntry(adapter=row.adapter, version=row.version, payload=row.payload) for row in history
        ],
        tools=list(tool_names),
    )


def _started(package: RunPackage, facts: RequestFacts, compiled: Compiled) -> dict[str, Any]:
    return {
        "instruction_preview": preview(package.instruction),
        "provider_id": package.provider_id,
        "model_id": package.model_id,
        "workspace_tool_ids": list(package.tools),
        "prompt_section_ids": list(facts.prompt_section_ids),
        "prompt_cache_profile": facts.prompt_cache_profile,
        "capability_manifest_fingerprint": facts.capability_manifest_fingerprint,
        "request_snapshot_fingerprint": facts.request_snapshot_fingerprint,
        "workspace_config_checksum": compiled.plan.checksum,
        "context_message_count": len(package.context_messages),
    }
