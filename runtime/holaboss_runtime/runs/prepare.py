"""The `workspace` profile: from a claimed input to the package the harness gets, with its prompt and snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holaboss_runtime.harness.contract import HistoryEntry, ModelClient, ModelFacts, Mount, RunPackage
from holaboss_runtime.harness.mcp_resolve import McpAccess
from holaboss_runtime.permissions.model import PermissionPolicy
from holaboss_runtime.runs import texts
from holaboss_runtime.runs.attachments import attachments_of, image_urls_of
from holaboss_runtime.runs.capabilities import evaluate
from holaboss_runtime.runs.delegation import delegation_of
from holaboss_runtime.runs.fitting import fitting_mcp, fitting_policy, fitting_skills, fitting_tools
from holaboss_runtime.runs.mcp import Consents, SecretValues, access_of, described, notices, package_fields
from holaboss_runtime.runs.policy import RunPolicies
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
from holaboss_runtime.runs.web import WebClients
from holaboss_runtime.store.harness_history import HistoryRow
from holaboss_runtime.store.inputs import DECISIONS, InputRecord
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord
from holaboss_runtime.store.turns import RequestFacts
from holaboss_runtime.workspace import todos
from holaboss_runtime.workspace.plan import WorkspacePlan, load_plan, read_policy
from holaboss_runtime.workspace.skills import SkillCatalog, embedded_skills_folder, find_skills

HISTORY_CHARS = 160_000
"""Of JSON, some 40,000 tokens: fits the smallest context window we expect, next to a prompt and an answer."""

EXCERPT_CHARS = 4_000
PREVIEW_CHARS = 120


@dataclass(frozen=True, slots=True)
class _Workspace:
    """`todo` is the session's plan as text while something in it is unfinished."""

    plan: WorkspacePlan
    policy: str
    skills: SkillCatalog
    todo: str
    mcp: McpAccess = field(default_factory=McpAccess)


class WorkspaceProfile:
    """A conversation in a workspace: its policy, its folder, one message at a time."""

    def __init__(
        self,
        records: Records,
        workspaces: Workspaces,
        models: Models,
        secrets: SecretValues | None = None,
        consents: Consents | None = None,
    ) -> None:
        self._records = records
        self._secrets = secrets
        self._consents = consents
        self._workspaces = workspaces
        self._models = models
        self._policies = RunPolicies(records)
        self._embedded_skills = embedded_skills_folder()

    async def compile(self, session: SessionRecord, inputs: Sequence[InputRecord]) -> Compiled:
        """Read the workspace and choose the model: that of the input, else of the workspace, else the default."""
        workspace = self._workspaces.get(session.workspace_id)
        folder = self._workspaces.folder(session.workspace_id)
        details = await asyncio.to_thread(self._read, folder, session.session_id)
        plan = details.plan
        mcp = await access_of(plan.mcp, session.workspace_id, self._secrets, self._consents)
        if delegation_of(session, self._records).allows_mcp:
            details = replace(details, mcp=mcp)
        model = await self._models.resolve_model(
            requested_model(inputs) or plan.model, headers=proxy_headers(session, inputs[0])
        )
        return Compiled(folder, plan.name or workspace.name, plan.checksum, model, details)

    def _read(self, folder: Path, session_id: str) -> _Workspace:
        plan = load_plan(folder)
        skills = find_skills(folder, self._embedded_skills, plan.skills)
        return _Workspace(plan, read_policy(folder), skills, _unfinished_plan(folder, session_id))

    def prepare(self, run: ClaimedRun, compiled: Compiled, executor: Executor) -> PreparedRun:
        session_id = run.session.session_id
        compiled = replace(compiled, details=_fitting(executor, compiled.details))
        catalog: SkillCatalog = compiled.details.skills
        permissions = fitting_policy(
            executor, self._policies.of_workspace(run.session, compiled.details.plan.permissions)
        )
        web = WebClients.of(self._models, compiled.model)
        delegated = delegation_of(run.session, self._records)
        executor = web.narrowed(fitting_tools(delegated.narrowed(executor), permissions, catalog))
        history = self._records.harness_history.newest(session_id, max_chars=HISTORY_CHARS)
        resume = _unremembered_turn(session_id, history, self._records)
        asked = any(taken.event_type not in DECISIONS for taken in run.inputs)
        of_tools = _tool_sections(compiled.details, executor.all_tools, asked=asked)
        prompt = _prompt(compiled, executor.all_tools, resume=resume, more=of_tools)
        package = _package(run, compiled, prompt, history, executor, permissions)
        package = package.model_copy(update=web.fields(executor.tool_names) | delegated.limits())
        skills = {skill.id: skill.name for skill in catalog.skills}
        prepared = sealed(package, prompt, compiled, history, run, executor, skills=skills)
        told = {
            "workspace_skill_ids": [skill.id for skill in catalog.skills],
            "notices": list(catalog.notices),
        }
        return replace(
            prepared, started=prepared.started | told, notices=tuple(notices(compiled.details.mcp))
        )


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
    *,
    skills: Mapping[str, str] | None = None,
) -> PreparedRun:
    """A package with its snapshot: what was asked, and what could be done, can be proven afterwards."""
    manifest = evaluate(package, harness=executor.name, skills=skills or {})
    snapshot, section_texts = take_snapshot(
        package,
        prompt,
        harness=executor.name,
        attachments=run.lead.payload.get("attachments", []),
        history_seqs=[row.seq for row in history],
        workspace_checksum=compiled.checksum,
        capabilities=manifest.document,
        redactor=Redactor({*executor.secrets, compiled.model.api_key}),
    )
    facts = RequestFacts(
        prompt_section_ids=prompt.section_ids,
        capability_manifest_fingerprint=manifest.fingerprint,
        request_snapshot_fingerprint=snapshot.fingerprint,
        prompt_cache_profile=prompt.cache_profile(),
    )
    return PreparedRun(manifest.package, snapshot, section_texts, facts, _started(package, facts, compiled))


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _unfinished_plan(folder: Path, session_id: str) -> str:
    try:
        plan = todos.read_todo(folder, session_id)
    except OSError:
        return ""
    return todos.render(plan) if plan.unfinished else ""


def _prompt(
    compiled: Compiled,
    tool_names: tuple[str, ...],
    *,
    resume: str,
    more: Sequence[PromptSection] = (),
) -> Prompt:
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
                texts.capability_policy(tool_names, more=bool(compiled.details.mcp.servers)),
            ),
            *more,
            PromptSection("resume_context", "resume_context", "runtime_context", 550, "run", resume),
        ]
    )


def _fitting(executor: Executor, workspace: _Workspace) -> _Workspace:
    """What the executor can use of it."""
    return replace(
        workspace,
        skills=fitting_skills(executor, workspace.skills),
        mcp=fitting_mcp(executor, workspace.mcp),
    )


def _tool_sections(workspace: _Workspace, tools: tuple[str, ...], *, asked: bool) -> list[PromptSection]:
    """What is only worth saying to somebody who has the tool for it. `asked`: something was said beside decisions."""
    index = texts.skills_index([(skill.id, skill.description) for skill in workspace.skills.skills])
    delivery = texts.RESPONSE_DELIVERY if "write_report" in tools else ""
    plan = texts.unfinished_plan(workspace.todo) if workspace.todo and asked and "todo" in tools else ""
    return [
        PromptSection("response_delivery_policy", "system_prompt", "base_runtime", 250, "stable", delivery),
        PromptSection(
            "mcp_servers", "system_prompt", "capability_policy", 460, "workspace", described(workspace.mcp)
        ),
        PromptSection(
            "skills",
            "system_prompt",
            "capability_policy",
            450,
            "workspace",
            index if "skill" in tools else "",
        ),
        PromptSection("todo_resume", "context_message", "runtime_context", 470, "run", plan),
    ]


def _skill_mounts(catalog: SkillCatalog) -> list[Mount]:
    """What comes with Holaboss lies outside every workspace and can only be read."""
    embedded = (skill for skill in catalog.skills if skill.origin == "embedded")
    return [Mount(mount_path=f"/skills/{skill.id}", source=str(skill.folder)) for skill in embedded]


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
    run: ClaimedRun,
    compiled: Compiled,
    prompt: Prompt,
    history: list[HistoryRow],
    executor: Executor,
    permissions: PermissionPolicy,
) -> RunPackage:
    catalog: SkillCatalog = compiled.details.skills
    return package_of(
        run,
        compiled,
        history,
        instruction=_instruction(run, remembered=bool(history)),
        system_prompt=prompt.system_prompt,
        context_messages=prompt.context_messages,
        tools=list(executor.tool_names),
        runtime_tools=list(executor.runtime_tools),
        permissions=permissions,
        workspace_skill_dirs=[str(skill.folder) for skill in catalog.skills],
        mounts=_skill_mounts(catalog),
        **package_fields(compiled.details.mcp),
    )


def _instruction(run: ClaimedRun, *, remembered: bool) -> str:
    """What the person says, without the decisions that the executor gets as the answers of its calls. One that
    remembers nothing has no call left to answer, so it is told."""
    decided = remembered and bool(decisions_of(run.decisions))
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
        model_facts=ModelFacts(
            context_window=model.facts.context_window,
            max_output=model.facts.max_output,
            takes_images=model.facts.takes_images,
            reasons=model.facts.reasons,
        ),
        attachments=attachments_of((taken.payload for taken in run.inputs), compiled.folder),
        image_urls=image_urls_of(taken.payload for taken in run.inputs),
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
