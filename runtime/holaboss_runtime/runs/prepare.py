"""The `workspace` profile: from a claimed input to the package the harness gets, with its prompt and snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from holaboss_runtime.harness.contract import HistoryEntry, ModelClient, RunPackage
from holaboss_runtime.runs import fingerprint, texts
from holaboss_runtime.runs.ports import Models, Workspaces
from holaboss_runtime.runs.profile import (
    ClaimedRun,
    Compiled,
    Executor,
    PreparedRun,
    decisions_of,
    requested_model,
)
from holaboss_runtime.runs.sections import Prompt, PromptSection, assemble
from holaboss_runtime.runs.snapshot import Redactor, take_snapshot
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.store.harness_history import HistoryRow
from holaboss_runtime.store.inputs import DECISIONS, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.workspace.plan import WorkspacePlan, load_plan, read_policy

HISTORY_CHARS = 160_000
"""Of JSON, some 40,000 tokens: fits the smallest context window we expect, next to a prompt and an answer."""

EXCERPT_CHARS = 4_000
PREVIEW_CHARS = 120


@dataclass(frozen=True, slots=True)
class _Workspace:
    plan: WorkspacePlan
    policy: str


class WorkspaceProfile:
    """A conversation in a workspace: its policy, its folder, one message at a time."""

    def __init__(self, records: Records, workspaces: Workspaces, models: Models) -> None:
        self._records = records
        self._workspaces = workspaces
        self._models = models

    async def compile(self, session: SessionRecord, inputs: Sequence[InputRecord]) -> Compiled:
        """Read the workspace and choose the model: that of the input, else of the workspace, else the default."""
        workspace = self._workspaces.get(session.workspace_id)
        folder = self._workspaces.folder(session.workspace_id)
        plan, policy = await asyncio.to_thread(lambda: (load_plan(folder), read_policy(folder)))
        model = await self._models.resolve_model(
            requested_model(inputs) or plan.model, headers=proxy_headers(session, inputs[0])
        )
        details = _Workspace(plan, policy)
        return Compiled(folder, plan.name or workspace.name, plan.checksum, model, details)

    def prepare(self, run: ClaimedRun, compiled: Compiled, executor: Executor) -> PreparedRun:
        session_id = run.session.session_id
        history = self._records.harness_history.newest(session_id, max_chars=HISTORY_CHARS)
        resume = _unremembered_turn(session_id, history, self._records)
        prompt = _prompt(run.lead, compiled, executor.all_tools, resume=resume)
        package = _package(run, compiled, prompt, history, executor)
        return sealed(package, prompt, compiled, history, run, executor)


def proxy_headers(session: SessionRecord, lead: InputRecord) -> dict[str, str]:
    """Who asks, for a proxy that keeps accounts."""
    return {
        "X-Holaboss-Workspace-Id": session.workspace_id,
        "X-Holaboss-Session-Id": session.session_id,
        "X-Holaboss-Input-Id": lead.input_id,
    }


def sealed(
    package: RunPackage,
    prompt: Prompt,
    compiled: Compiled,
    history: list[HistoryRow],
    run: ClaimedRun,
    executor: Executor,
) -> PreparedRun:
    """A package with its snapshot: what was asked can be proven afterwards."""
    snapshot, section_texts = take_snapshot(
        package,
        prompt,
        harness=executor.name,
        attachments=run.lead.payload.get("attachments", []),
        history_seqs=[row.seq for row in history],
        workspace_checksum=compiled.checksum,
        redactor=Redactor({*executor.secrets, compiled.model.api_key}),
    )
    manifest = {"harness": executor.name, "tools": executor.all_tools}
    facts = RequestFacts(
        prompt_section_ids=prompt.section_ids,
        capability_manifest_fingerprint=fingerprint.of_value(manifest),
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
                texts.workspace_policy(compiled.details.policy),
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
    run: ClaimedRun, compiled: Compiled, prompt: Prompt, history: list[HistoryRow], executor: Executor
) -> RunPackage:
    return package_of(
        run,
        compiled,
        history,
        instruction=_instruction(run),
        system_prompt=prompt.system_prompt,
        context_messages=prompt.context_messages,
        tools=list(executor.tool_names),
        runtime_tools=list(executor.runtime_tools),
    )


def _instruction(run: ClaimedRun) -> str:
    """What the person says, without the decisions that the executor gets as the answers of its calls."""
    decided = bool(decisions_of(run.decisions))
    told = [taken.text.strip() for taken in run.inputs if not (decided and taken.event_type in DECISIONS)]
    return "\n\n".join(text for text in told if text) or ("" if decided else "See the attached files.")


def package_of(run: ClaimedRun, compiled: Compiled, history: list[HistoryRow], **fields: Any) -> RunPackage:  # noqa: ANN401
    """A package with everything that does not depend on the profile; `fields` are the rest."""
    model = compiled.model
    return RunPackage(
        workspace_id=run.session.workspace_id,
        workspace_dir=str(compiled.folder),
        session_id=run.session.session_id,
        session_kind=run.session.kind,
        input_id=run.lead.input_id,
        wake_id=run.wake_id,
        provider_id=model.provider_id,
        provider_name=model.provider_name,
        model_id=model.model_id,
        model_client=ModelClient(
            protocol=model.protocol,
            base_url=model.base_url,
            api_key=model.api_key,
            default_headers=model.default_headers,
        ),
        thinking_value=run.lead.payload.get("thinking_value"),
        history=[
            HistoryEntry(adapter=row.adapter, version=row.version, payload=row.payload) for row in history
        ],
        decisions=decisions_of(run.decisions),
        **fields,
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
        "workspace_config_checksum": compiled.checksum,
        "context_message_count": len(package.context_messages),
    }
