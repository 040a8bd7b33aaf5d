"""Packages and harnesses for runs with MCP servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holaboss_runtime.harness.contract import McpServer, ModelClient, RunPackage
from tests.support.scripted_provider import ScriptedProvider


def package_of(
    folder: Path, *servers: McpServer, provider: ScriptedProvider | None = None, **fields: Any
) -> RunPackage:
    """A run in this workspace with these servers and no tools of the host's own."""
    url = f"{provider.url}/v1" if provider else "http://127.0.0.1:9/v1"
    defaults: dict[str, Any] = {
        "workspace_id": "workspace",
        "workspace_dir": str(folder),
        "session_id": "session",
        "input_id": "input",
        "wake_id": "wake",
        "instruction": "Hello",
        "system_prompt": "You hold a role.",
        "provider_id": "scripted_direct",
        "provider_name": "Scripted",
        "model_id": "model-1",
        "model_client": ModelClient(protocol="openai_chat", base_url=url, api_key="sk-marker-5f1e0c"),
        "mcp_servers": list(servers),
    }
    return RunPackage(**(defaults | fields))
