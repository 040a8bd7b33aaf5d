"""`agent create|list` and `agent environment create|list`: what sessions are made of."""

from __future__ import annotations

from argparse import Namespace

from holaboss_client.agents import AgentDefinition, CreateEnvironment, Environment, SandboxPosture
from holaboss_runtime.cli.agent.answer import Answer, bullets
from holaboss_runtime.cli.agent.desk import Desk
from holaboss_runtime.store.agents import FROM_FILE

NO_AGENTS = "agent list: (empty)"
NO_ENVIRONMENTS = "environment list: (empty)"


async def create_agent(desk: Desk, args: Namespace) -> Answer:
    """Making one that is there already changes nothing."""
    agents = desk.services.agents
    existed = any(known.agent_id == args.agent for known in agents.list().items)
    agent = agents.ensure(args.agent, args.provider, args.model)
    tree = agents.tree
    path = tree.agent_config(agent.agent_id) if agent.source == FROM_FILE else tree.agent(agent.agent_id)
    await desk.changed()
    return Answer([f"{'exists' if existed else 'created'}: {path}"], agent)


async def list_agents(desk: Desk, _args: Namespace) -> Answer:
    found = desk.services.agents.list()
    return Answer(["agent list:", *map(_agent, found.items)] if found.items else [NO_AGENTS], found)


async def create_environment(desk: Desk, args: Namespace) -> Answer:
    posture = SandboxPosture(
        mode=args.mode,
        workspace_access=args.workspace_access,
        network_access=args.network,
        package_policy=args.packages,
    )
    body = CreateEnvironment(environment_id=args.environment, name=args.title, sandbox=posture)
    made = desk.services.agents.environments.create(body)
    await desk.changed()
    path = desk.services.agents.tree.environment(made.environment_id)
    lines = ["environment created", *bullets(environment=made.environment_id, name=made.name, file=path)]
    return Answer(lines, made)


async def list_environments(desk: Desk, _args: Namespace) -> Answer:
    found = desk.services.agents.environments.list()
    return Answer(["environment list:", *map(_environment, found.items)], found)


def _agent(agent: AgentDefinition) -> str:
    return (
        f"- {agent.agent_id} provider={agent.provider} model={agent.model} runner={agent.runner}"
        f" sessions={agent.session_count}"
    )


def _environment(environment: Environment) -> str:
    posture = environment.sandbox
    return (
        f"- {environment.environment_id} kind={environment.kind} mode={posture.mode}"
        f" workspaceAccess={posture.workspace_access} networkAccess={posture.network_access}"
        f" packagePolicy={posture.package_policy}"
    )
