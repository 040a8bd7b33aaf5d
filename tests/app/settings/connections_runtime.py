"""The part of a runtime that knows MCP servers, in memory, for tests of the Connections section."""

from __future__ import annotations

from typing import Any

from holaboss_client.base import utc_now
from holaboss_client.workspaces import Workspace
from tests.app.settings.fake_runtime import FakeRuntime

FINGERPRINT = "f" * 64


def workspace(workspace_id: str = "w1", name: str = "Bench") -> Workspace:
    now = utc_now()
    return Workspace(
        id=workspace_id,
        name=name,
        status="active",
        harness="native",
        workspace_path="/nowhere",
        created_at=now,
        updated_at=now,
    )


def local(name: str = "files", state: str = "idle", consent: str = "allowed", **more: Any) -> dict[str, Any]:
    command = ["npx", "-y", "@example/server-files", "--root", "."]
    shown = {
        "state": consent,
        "fingerprint": FINGERPRINT,
        "command_text": "FILES_TOKEN=… npx -y @example/server-files --root .",
    }
    view = {"name": name, "type": "local", "enabled": True, "command": command, "consent": shown}
    return view | {"state": state, "environment_names": ["FILES_TOKEN"]} | more


def remote(name: str = "docs", state: str = "idle", **more: Any) -> dict[str, Any]:
    view = {"name": name, "type": "remote", "enabled": True, "url": "https://docs.example/mcp"}
    return view | {"state": state, "authorization": {"authorized": False}} | more


def tools(number: int) -> dict[str, Any]:
    listed = [{"name": f"tool_{n}", "description": "Reads what is there and says so."} for n in range(number)]
    return {"tools": listed, "tool_count": number}


class ConnectionsRuntime(FakeRuntime):
    """`servers_of` holds views by workspace; an allowed or connected one changes as it would."""

    def __init__(self) -> None:
        super().__init__()
        self.servers_of: dict[str, list[dict[str, Any]]] = {"w1": []}
        self.live = True
        self.logs: dict[str, str] = {}
        self.authorization_url = "https://sign-in.example/authorize?client_id=1"

    def view(self, name: str, workspace_id: str = "w1") -> dict[str, Any]:
        return next(view for view in self.servers_of[workspace_id] if view["name"] == name)

    def _route(self, method: str, parts: list[str], body: dict[str, Any]) -> dict[str, Any]:
        match [method, *parts]:
            case ["GET", "workspaces", workspace_id, "mcp-servers"]:
                return self._listed(workspace_id)
            case ["GET", "workspaces", _, "mcp-servers", name, "log"]:
                return {"text": self.logs.get(name, "")}
            case ["POST", "workspaces", _, "mcp-servers", _, "authorize"]:
                return {"authorization_url": self.authorization_url}
            case [_, "workspaces", workspace_id, "mcp-servers", name, what]:
                self._do(self.view(name, workspace_id), f"{method} {what}")
                return self._listed(workspace_id)
            case _:
                return super()._route(method, parts, body)

    def _do(self, view: dict[str, Any], what: str) -> None:
        match what:
            case "POST consent":
                view |= {"state": "idle", "consent": view["consent"] | {"state": "allowed"}}
            case "DELETE consent":
                view |= {"state": "needs_consent", "consent": view["consent"] | {"state": "needed"}}
            case "DELETE authorization":
                view |= {"state": "needs_authorization", "authorization": {"authorized": False}}
            case _:
                view |= {"state": "ready", **tools(2)}

    def _listed(self, workspace_id: str) -> dict[str, Any]:
        return {"items": self.servers_of[workspace_id], "live": self.live}
