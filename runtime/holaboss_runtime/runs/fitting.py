"""Cutting a run to what its executor can use and its policy allows, before anything of it is promised to a model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from holaboss_runtime.harness.mcp_resolve import McpAccess
from holaboss_runtime.permissions.model import PermissionPolicy
from holaboss_runtime.permissions.standing import Standing
from holaboss_runtime.runs.profile import Executor, PreparedRun
from holaboss_runtime.workspace.skills import SkillCatalog
from holaboss_runtime.workspace.staging import stage


def fitting_policy(executor: Executor, policy: PermissionPolicy) -> PermissionPolicy:
    """Where nobody can wait for a person, nobody can be asked."""
    waits = executor.capabilities.supports_waiting_user
    return policy if waits else policy.model_copy(update={"may_ask": False})


def fitting_tools(executor: Executor, policy: PermissionPolicy, skills: SkillCatalog) -> Executor:
    """The executor without tools that are forbidden whatever their arguments, and those that would be of no use."""
    useless, standing = set[str](), Standing(policy)
    if not executor.capabilities.supports_waiting_user:
        useless.add("question")
    if not skills.skills:
        useless.add("skill")
    denied = (name for name in executor.all_tools if standing.of(name) == "deny")
    return executor.without(*useless, *denied)


def fitting_skills(executor: Executor, skills: SkillCatalog) -> SkillCatalog:
    return skills if executor.capabilities.supports_skills else SkillCatalog((), ())


def fitting_mcp(executor: Executor, mcp: McpAccess) -> McpAccess:
    wanted = executor.capabilities.supports_mcp and executor.plan.prepare_mcp_tooling
    return mcp if wanted else McpAccess()


async def with_staged(prepared: PreparedRun, executor: Executor) -> PreparedRun:
    """Copy what the prep plan asks for; most executors ask for nothing. Raises `OSError`."""
    plan, package = executor.plan, prepared.package
    if not (plan.stage_workspace_skills or plan.stage_workspace_commands):
        return prepared
    skills = [Path(folder) for folder in package.workspace_skill_dirs]
    staged = await asyncio.to_thread(
        stage,
        Path(package.workspace_dir),
        executor.name,
        skills=skills if plan.stage_workspace_skills else None,
        commands=plan.stage_workspace_commands,
    )
    return replace(
        prepared,
        package=package.model_copy(update={"staged_dir": str(staged.folder)}),
        started=prepared.started | {"workspace_command_ids": list(staged.commands)},
    )
