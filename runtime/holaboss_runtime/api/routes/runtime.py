"""Version, configuration, providers, keys and the life of the server."""

from __future__ import annotations

from fastapi import APIRouter, Request

from holaboss_client import PRODUCT_VERSION, PROTOCOL_VERSION
from holaboss_client import config as c
from holaboss_client.handshake import Poke, Poked, Version
from holaboss_runtime.api.state import State

router = APIRouter(prefix="/api/v1")


@router.get("/version")
async def version(state: State) -> Version:
    return Version(
        version=PRODUCT_VERSION,
        protocol=PROTOCOL_VERSION,
        schema_version=state.database.schema_version,
        instance_id=state.instance_id,
    )


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> dict[str, object]:
    from holaboss_runtime.api.description import describe  # on first use: no start waits for it

    return describe(request.app)


@router.post("/lifecycle/shutdown", status_code=202)
async def shutdown(state: State) -> dict[str, str]:
    state.stop()
    return {"status": "stopping"}


@router.post("/lifecycle/poke")
async def poke(state: State, body: Poke | None = None) -> Poked:
    """Another program wrote to the database: look again, and on request answer once what it asked for has run.

    The one route the poke token opens; it tells no more than ids and how a wake ended.
    """
    state.sessions.poke()
    state.sessions.written_elsewhere()
    if body is None:
        return Poked()
    if body.session_id is not None:
        outcome = await state.sessions.orchestrator.run_now(body.session_id, body.reason)
        return Poked(wake_id=outcome.wake_id, skipped=outcome.skipped)
    if body.agent_id is not None:
        await state.sessions.orchestrator.drained(body.agent_id)
    return Poked()


@router.get("/runtime/config")
async def get_config(state: State) -> c.RuntimeConfig:
    return state.config.view()


@router.put("/runtime/config")
async def put_config(state: State, body: c.PatchRuntimeConfig) -> c.RuntimeConfig:
    return await state.config.patch(body)


@router.get("/runtime/status")
async def status(state: State) -> c.RuntimeStatus:
    config = state.config.view()
    return c.RuntimeStatus(
        harness=state.harness.name,
        config_loaded=config.loaded_from_file,
        config_path=config.config_path,
        backend_config_present=config.auth_token_present and config.model_proxy_base_url is not None,
        harness_ready=state.harness.ready,
        harness_state="ready" if state.harness.ready else "starting",
    )


@router.get("/runtime/profile")
async def get_profile(state: State) -> c.Profile:
    return state.profiles.get()


@router.put("/runtime/profile")
async def put_profile(state: State, body: c.PutProfile) -> c.Profile:
    return state.profiles.put(body)


@router.get("/runtime/providers")
async def get_providers(state: State) -> c.ProviderCatalogue:
    return state.config.catalogue()


@router.put("/runtime/providers/{provider_id}")
async def put_provider(state: State, provider_id: str, body: c.PutProvider) -> c.ProviderCatalogue:
    return await state.config.put_provider(provider_id, body)


@router.delete("/runtime/providers/{provider_id}")
async def delete_provider(state: State, provider_id: str) -> c.ProviderCatalogue:
    return await state.config.delete_provider(provider_id)


@router.post("/runtime/providers/{provider_id}/test")
async def test_provider(state: State, provider_id: str, body: c.TestProvider) -> c.ProviderTest:
    return await state.config.test_provider(provider_id, body)


@router.put("/runtime/background-tasks")
async def put_background_tasks(state: State, body: c.PutBackgroundTasks) -> c.ProviderCatalogue:
    return await state.config.put_background_tasks(body)


@router.get("/runtime/local-servers")
async def local_servers(state: State) -> c.LocalServerList:
    return await state.config.local_servers()


@router.put("/runtime/secrets/{provider_id}")
async def put_secret(state: State, provider_id: str, body: c.PutSecret) -> c.SecretState:
    return await state.config.put_secret(provider_id, body.value.get_secret_value())


@router.delete("/runtime/secrets/{provider_id}")
async def delete_secret(state: State, provider_id: str) -> c.SecretState:
    return await state.config.delete_secret(provider_id)


@router.post("/runtime/secrets/{provider_id}/hand-over")
async def hand_over_secret(state: State, provider_id: str) -> c.HandedOverSecret:
    return state.config.hand_over_secret(provider_id)


@router.post("/runtime/secrets/{provider_id}/confirm-hand-over")
async def confirm_hand_over(state: State, provider_id: str) -> c.SecretState:
    return await state.config.confirm_hand_over(provider_id)
