"""What a deployment is promised about its configuration, on the wire: the file, its place, the three variables that
win over it, and what a model proxy is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.sessions import QueueRequest
from holaboss_client.workspaces import CreateWorkspace
from tests.runtime.server.conftest import Standalone, Standalones
from tests.support.scripted_provider import Recorded, ScriptedProvider, say

pytestmark = pytest.mark.anyio

TOKEN = "token-of-this-deployment"
PROXY_TOKEN = "your-proxy-token"
SAMPLE = Path(__file__).parents[1] / "config" / "sample-config.json"


async def ask(server: Standalone, **fields: Any) -> list[Any]:
    """One turn in a new workspace; the events of its run."""
    async with RuntimeClient(server.ready.url, TOKEN) as client:
        workspace = await client.create_workspace(CreateWorkspace(name="bench"))
        queued = await client.queue(QueueRequest(workspace_id=workspace.id, text="hello", **fields))
        stream = client.output_stream(
            workspace.id,
            queued.session_id,
            input_id=queued.input_id,
            after_event_id=0,
            stop_on_terminal=True,
        )
        return [event async for event in stream if event is not None]


def spoken(provider: ScriptedProvider) -> Recorded:
    (request,) = provider.requests
    return request


async def test_the_sample_file_at_a_place_of_its_own_and_the_variables_that_win(
    standalones: Standalones, tmp_path: Path
) -> None:
    """The sample as it is printed, its proxy moved here by the environment."""
    config = tmp_path / "elsewhere" / "config.json"
    config.parent.mkdir()
    config.write_bytes(SAMPLE.read_bytes())
    with ScriptedProvider(key=PROXY_TOKEN) as proxy:
        proxy.enqueue(say("through the proxy"))
        server = standalones.start(
            HOLABOSS_RUNTIME_TOKEN=TOKEN,
            HOLABOSS_RUNTIME_CONFIG_PATH=str(config),
            HOLABOSS_MODEL_PROXY_BASE_URL=proxy.url,
            HOLABOSS_SANDBOX_AUTH_TOKEN=PROXY_TOKEN,
        )
        async with RuntimeClient(server.ready.url, TOKEN) as client:
            shown = await client.config()
        events = await ask(server)
        request = spoken(proxy)
    assert (shown.config_path, shown.loaded_from_file) == (str(config), True)
    assert (shown.default_model, shown.sandbox_id) == ("holaboss/gpt-5.2", "local-sandbox")
    assert events[-1].event_type == "run_completed"
    started = next(event.payload for event in events if event.event_type == "run_started")
    assert (started["provider_id"], started["model_id"]) == ("holaboss_model_proxy", "gpt-5.2")
    assert (request.path, request.body["model"]) == ("/openai/v1/responses", "gpt-5.2")
    assert request.headers["x-api-key"] == PROXY_TOKEN
    assert request.headers["x-holaboss-sandbox-id"] == "local-sandbox"
    assert request.headers["x-holaboss-session-id"] == events[-1].session_id
    assert json.loads(config.read_text()) == json.loads(SAMPLE.read_text())
    assert not (standalones.root / "state" / "runtime-config.json").exists()
    assert server.stop() == 0
    assert PROXY_TOKEN not in server.log


async def test_the_three_variables_alone_reach_a_model(standalones: Standalones) -> None:
    """No file but for the sandbox id, which has no variable."""
    state = standalones.root / "state"
    state.mkdir(parents=True)
    (state / "runtime-config.json").write_text('{"runtime": {"sandbox_id": "local-sandbox"}}')
    with ScriptedProvider(key=PROXY_TOKEN) as proxy:
        proxy.enqueue(say("through the proxy"))
        server = standalones.start(
            HOLABOSS_RUNTIME_TOKEN=TOKEN,
            HOLABOSS_MODEL_PROXY_BASE_URL=proxy.url,
            HOLABOSS_SANDBOX_AUTH_TOKEN=PROXY_TOKEN,
            HOLABOSS_DEFAULT_MODEL="anthropic/claude-sonnet-4-20250514",
        )
        events = await ask(server)
        request = spoken(proxy)
    assert events[-1].event_type == "run_completed"
    assert (request.path, request.body["model"]) == ("/anthropic/v1/messages", "claude-sonnet-4-20250514")
    assert request.headers["x-api-key"] == PROXY_TOKEN
    assert request.headers["x-holaboss-sandbox-id"] == "local-sandbox"
    assert server.stop() == 0


async def test_the_policy_of_a_workspace_is_in_its_prompt(standalones: Standalones) -> None:
    """Also when a client wrote it after the workspace was made, and whichever model is named for one message."""
    with ScriptedProvider(key="sk-of-the-file-0123", models=("other",)) as provider:
        document = {
            "providers": {
                "mine": {
                    "kind": "openai_compatible",
                    "base_url": f"{provider.url}/v1/chat/completions",
                    "api_key": "sk-of-the-file-0123",
                }
            },
            "models": {"mine/first": {"provider_id": "mine", "model_id": "first"}},
        }
        state = standalones.root / "state"
        state.mkdir(parents=True)
        (state / "runtime-config.json").write_text(json.dumps(document))
        server = standalones.start(HOLABOSS_RUNTIME_TOKEN=TOKEN)
        provider.enqueue(say("understood"))
        async with RuntimeClient(server.ready.url, TOKEN) as client:
            workspace = await client.create_workspace(CreateWorkspace(name="bench"))
            await client.put_file(workspace.id, "AGENTS.md", b"The password of the day is heron.")
            queued = await client.queue(
                QueueRequest(workspace_id=workspace.id, text="hello", model="mine/other")
            )
            stream = client.output_stream(
                workspace.id, queued.session_id, after_event_id=0, stop_on_terminal=True
            )
            events = [event async for event in stream if event is not None]
        request = spoken(provider)
    assert events[-1].event_type == "run_completed"
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "other")
    assert "The password of the day is heron." in json.dumps(request.body["messages"][0])
    assert "x-api-key" not in request.headers
    assert not [name for name in request.headers if name.startswith("x-holaboss")]
    assert server.stop() == 0
