"""The agent layer: agents, the environments they run in, and the journal of what an agent was woken for."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from holaboss_client import agents as a
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1")


@router.get("/agents")
async def list_agents(state: State) -> a.AgentList:
    return state.agents.list()


@router.post("/agents")
async def create_agent(state: State, body: a.CreateAgent) -> a.AgentDefinition:
    """The agent, made if it does not exist yet; 409 when it exists as something else."""
    return state.agents.ensure(body.agent_id, body.provider, body.model)


@router.get("/agents/{agent_id}")
async def get_agent(state: State, agent_id: str) -> a.AgentDefinition:
    return state.agents.get(agent_id)


@router.get("/agents/{agent_id}/activations")
async def activations(
    state: State,
    agent_id: str,
    session_id: str | None = None,
    claim_id: str | None = None,
    kind: Literal["leased", "blocked", "acked", "requeued", "abandoned"] | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> a.ActivationList:
    """The newest that match, oldest first."""
    state.agents.record(agent_id)
    return state.sessions.inspection.activations(
        agent_id, session_id=session_id, claim_id=claim_id, kind=kind, limit=limit
    )


@router.get("/environments")
async def list_environments(state: State) -> a.EnvironmentList:
    return state.agents.environments.list()


@router.post("/environments")
async def create_environment(state: State, body: a.CreateEnvironment) -> a.Environment:
    return state.agents.environments.create(body)


@router.get("/environments/{environment_id}")
async def get_environment(state: State, environment_id: str) -> a.Environment:
    return state.agents.environments.get(environment_id)
