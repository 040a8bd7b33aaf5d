"""The host's end of the runtime, answered on the spot: a store of secrets, and the news that were told."""

from __future__ import annotations

import asyncio
from typing import Any

from holaboss_runtime.harness.contract import ContractModel, McpServer, McpServerConfig
from holaboss_runtime.harness.frames import ServiceCall, ServiceResult
from holaboss_runtime.harness.host.runtime_calls import RuntimeCalls


class RuntimeEnd:
    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.news: list[tuple[str, dict[str, Any]]] = []
        self.calls = RuntimeCalls(self._take)

    def _take(self, frame: ContractModel) -> None:
        assert isinstance(frame, ServiceCall)
        if frame.call_id is None:
            self.news.append((frame.name, frame.arguments))
            return
        name = frame.arguments["name"]
        result = None
        if frame.name == "secret.get":
            result = self.secrets.get(name)
        elif frame.name == "secret.put":
            self.secrets[name] = frame.arguments["value"]
        else:
            self.secrets.pop(name, None)
        answer = ServiceResult(call_id=frame.call_id, result=result)
        asyncio.get_running_loop().call_soon(self.calls.receive, answer)


def remote(url: str, name: str = "protected", **config: Any) -> McpServer:
    return McpServer(name=name, config=McpServerConfig(type="remote", url=url, **config))
