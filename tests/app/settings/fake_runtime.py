"""A runtime for tests of the settings page: the routes it needs, in memory, behind a real `RuntimeClient`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from holaboss_client.client import API, RuntimeClient

MARKER_KEY = "sk-marker-0123456789"


def provider(provider_id: str, name: str, **changes: Any) -> dict[str, Any]:
    view: dict[str, Any] = {
        "id": provider_id,
        "name": name,
        "description": f"{name} models with your own key.",
        "kind": "openai_compatible",
        "connected": False,
        "base_url": "",
        "effective_url": "",
        "default_base_url": f"https://api.{provider_id}.example/v1",
        "models": [],
        "default_models": ["large", "small"],
        "background_model": "small",
        "key_url": f"https://{provider_id}.example/keys",
    }
    return view | changes


class FakeRuntime:
    """Holds a catalogue; `refuse` maps a path ending to the problem it is answered with; `calls` lists requests."""

    def __init__(self) -> None:
        self.providers: dict[str, dict[str, Any]] = {
            row["id"]: row
            for row in (
                provider("openai_direct", "OpenAI", default_base_url="https://api.openai.com/v1"),
                provider(
                    "ollama_direct",
                    "Ollama",
                    default_base_url="http://localhost:11434/v1",
                    key_required=False,
                    background_model=None,
                    key_url=None,
                ),
                provider(
                    "demo", "Demo model (offline, scripted)", key_required=False, default_models=["scripted"]
                ),
            )
        }
        self.secrets: dict[str, str] = {}
        self.literal: dict[str, str] = {}
        self.background: dict[str, Any] = {"provider": None, "model": None}
        self.default_model: str | None = None
        self.notices: list[str] = []
        self.servers: list[dict[str, Any]] = []
        self.test_result: dict[str, Any] = {
            "outcome": "ok",
            "detail": "The provider answers.",
            "latency_ms": 41,
        }
        self.refuse: dict[str, tuple[int, str]] = {}
        self.down = False
        self.on_call: Callable[[], object] = lambda: None
        self.calls: list[tuple[str, str, dict[str, Any]]] = []

    def client(self) -> RuntimeClient:
        return RuntimeClient("http://127.0.0.1:1", "token", transport=httpx.MockTransport(self._answer))

    def bodies(self, method: str, ending: str) -> list[dict[str, Any]]:
        return [body for name, path, body in self.calls if name == method and path.endswith(ending)]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(API)
        body = json.loads(request.content) if request.content else {}
        self.calls.append((request.method, path, body))
        self.on_call()
        if self.down:
            raise httpx.ConnectError("down")
        for ending, (status, detail) in self.refuse.items():
            if path.endswith(ending):
                return httpx.Response(status, json={"title": "Refused", "status": status, "detail": detail})
        parts = path.strip("/").split("/")
        return httpx.Response(200, json=self._route(request.method, parts, body))

    def _route(self, method: str, parts: list[str], body: dict[str, Any]) -> dict[str, Any]:
        match [method, *parts]:
            case ["GET", "runtime", "providers"]:
                return self._catalogue()
            case ["PUT", "runtime", "providers", name]:
                return self._put(name, body)
            case ["DELETE", "runtime", "providers", name]:
                self.providers[name] |= {"connected": False, "base_url": "", "models": []}
                return self._catalogue()
            case ["POST", "runtime", "providers", _, "test"]:
                return self.test_result
            case ["PUT", "runtime", "background-tasks"]:
                self.background = body
                return self._catalogue()
            case ["GET", "runtime", "local-servers"]:
                return {"items": self.servers}
            case [_, "runtime", "secrets", name, *rest]:
                return self._secret(method, name, rest, body)
            case ["PUT", "runtime", "config"]:
                self.default_model = body["default_model"]
                return self._config()
            case ["GET", "runtime", "config"]:
                return self._config()
            case _:
                return {"version": "0.1.0", "protocol": "1.0", "schema_version": 1, "instance_id": "x"}

    def _put(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        row = self.providers.get(name) or provider(name, body["name"], custom=True, key_required=False)
        url = body.get("base_url", row["base_url"] or row["default_base_url"])
        models = body.get("models", row["models"] or row["default_models"])
        self.providers[name] = row | {
            "connected": True,
            "base_url": url,
            "effective_url": url,
            "models": models,
        }
        return self._catalogue()

    def _secret(self, method: str, name: str, rest: list[str], body: dict[str, Any]) -> dict[str, Any]:
        if rest == ["hand-over"]:
            return {"provider_id": name, "value": self.literal[name]}
        if rest == ["confirm-hand-over"]:
            self.secrets[name] = self.literal.pop(name)
        elif method == "PUT":
            self.secrets[name] = body["value"]
            self.literal.pop(name, None)
        else:
            self.secrets.pop(name, None)
            self.literal.pop(name, None)
        return {"provider_id": name, "key_state": self._key_state(name)}

    def _key_state(self, name: str) -> str:
        if name in self.literal:
            return "literal"
        return "keychain" if name in self.secrets else self.providers[name].get("key_state", "none")

    def _catalogue(self) -> dict[str, Any]:
        rows = [row | {"key_state": self._key_state(row["id"])} for row in self.providers.values()]
        return {
            "providers": rows,
            "default_provider": None,
            "default_model": self.default_model,
            "background_tasks": self.background,
            "notices": self.notices,
        }

    def _config(self) -> dict[str, Any]:
        path = "/home/someone/.local/share/holaboss/sandbox-host/state/runtime-config.json"
        return {"config_path": path, "loaded_from_file": True, "auth_token_present": False}
