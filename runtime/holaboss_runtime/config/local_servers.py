"""Model servers on the usual ports of this machine. Asked only when a person looks at the providers."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

import httpx

from holaboss_client.config import LocalServer, LocalServerList
from holaboss_runtime.config.probe import list_models

TIMEOUT_S = 0.8
PORTS_VARIABLE = "HOLABOSS_LOCAL_SERVER_PORTS"  # "ollama=11434,vllm=8000": only these, on these ports


@dataclass(frozen=True, slots=True)
class _Known:
    key: str
    provider_id: str
    name: str
    port: int


_KNOWN = (
    _Known("ollama", "ollama_direct", "Ollama", 11434),
    _Known("lm_studio", "lm_studio", "LM Studio", 1234),
    _Known("llama_cpp", "llama_cpp", "llama.cpp", 8080),
    _Known("vllm", "vllm", "vLLM", 8000),
)


async def find_local_servers() -> LocalServerList:
    """Every server that answers with a list of models; silence and anything else count as absent."""
    ports = _ports()
    async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
        found = await asyncio.gather(
            *(_look(client, known, ports[known.key]) for known in _KNOWN if known.key in ports)
        )
    return LocalServerList(items=[server for server in found if server is not None])


async def _look(client: httpx.AsyncClient, known: _Known, port: int) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, models = await list_models(client, f"{base_url}/models")
    except (httpx.HTTPError, TimeoutError):
        return None
    if models is None:
        return None
    return LocalServer(provider_id=known.provider_id, name=known.name, base_url=base_url, models=models)


def _ports() -> dict[str, int]:
    setting = os.environ.get(PORTS_VARIABLE)
    if setting is None:
        return {known.key: known.port for known in _KNOWN}
    pairs = (pair.partition("=") for pair in setting.split(","))
    return {name.strip(): int(port) for name, _, port in pairs if port.strip().isdigit()}
