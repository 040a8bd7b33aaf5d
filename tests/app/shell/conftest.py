"""A runtime in this process, small and real enough: it answers the shell's questions over HTTP and
remembers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PySide6.QtWidgets import QApplication
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.theme import style
from holaboss_client.client import RuntimeClient


def workspace_record(number: int, name: str) -> dict[str, Any]:
    return {
        "id": f"w{number}",
        "name": name,
        "status": "active",
        "harness": "native",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
        "workspace_path": f"/srv/{name}",
        "folder_state": "healthy",
    }


def provider_record(provider_id: str, *, connected: bool = False, key_state: str = "none") -> dict[str, Any]:
    return {
        "id": provider_id,
        "name": provider_id.title(),
        "description": "Something to talk to.",
        "kind": "openai_compatible",
        "connected": connected,
        "base_url": "http://127.0.0.1:9/v1",
        "effective_url": "http://127.0.0.1:9/v1",
        "key_state": key_state,
    }


class FakeRuntime:
    """State a test may look at and change. `refuse` makes every write fail with that sentence."""

    def __init__(self) -> None:
        self.workspaces: list[dict[str, Any]] = []
        self.providers = [provider_record("openai_direct"), provider_record("demo")]
        self.secrets: dict[str, str] = {}
        self.deleted: list[tuple[str, str]] = []
        self.servers: list[dict[str, Any]] = []
        self.notices: list[str] = []
        self.refuse = ""
        self._app = Starlette(
            routes=[
                Route("/api/v1/workspaces", self._list, methods=["GET"]),
                Route("/api/v1/workspaces", self._create, methods=["POST"]),
                Route("/api/v1/workspaces/{id}", self._patch, methods=["PATCH"]),
                Route("/api/v1/workspaces/{id}", self._delete, methods=["DELETE"]),
                Route("/api/v1/runtime/providers", self._providers, methods=["GET"]),
                Route("/api/v1/runtime/providers/{id}", self._connect, methods=["PUT"]),
                Route("/api/v1/runtime/secrets/{id}", self._secret, methods=["PUT"]),
                Route("/api/v1/runtime/local-servers", self._servers, methods=["GET"]),
            ]
        )

    def client(self) -> RuntimeClient:
        return RuntimeClient("http://127.0.0.1", "token", transport=httpx.ASGITransport(self._app))

    def _refusal(self) -> Response | None:
        if not self.refuse:
            return None
        problem = {"title": "No", "status": 409, "detail": self.refuse, "code": "no"}
        return JSONResponse(problem, 409, media_type="application/problem+json")

    async def _list(self, _: Request) -> Response:
        return JSONResponse(
            {"items": self.workspaces, "total": len(self.workspaces), "limit": 200, "offset": 0}
        )

    async def _create(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        record = workspace_record(len(self.workspaces) + 1, (await request.json())["name"])
        self.workspaces.append(record)
        return JSONResponse({"workspace": record})

    async def _patch(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        record = next(item for item in self.workspaces if item["id"] == request.path_params["id"])
        record |= await request.json()
        return JSONResponse({"workspace": record})

    async def _delete(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        gone = request.path_params["id"]
        self.deleted.append((gone, request.query_params.get("keep_files", "")))
        self.workspaces = [item for item in self.workspaces if item["id"] != gone]
        return Response(status_code=204)

    def _catalogue(self) -> Response:
        empty = {"provider": None, "model": None}
        return JSONResponse(
            {
                "providers": self.providers,
                "default_provider": None,
                "default_model": None,
                "background_tasks": empty,
                "notices": self.notices,
            }
        )

    async def _providers(self, _: Request) -> Response:
        return self._catalogue()

    async def _connect(self, request: Request) -> Response:
        if refused := self._refusal():
            return refused
        wanted = request.path_params["id"]
        for record in self.providers:
            record["connected"] = record["connected"] or record["id"] == wanted
        return self._catalogue()

    async def _secret(self, request: Request) -> Response:
        provider_id = request.path_params["id"]
        self.secrets[provider_id] = (await request.json())["value"]
        for record in self.providers:
            if record["id"] == provider_id:
                record["key_state"] = "keychain"
        return JSONResponse({"provider_id": provider_id, "key_state": "keychain"})

    async def _servers(self, _: Request) -> Response:
        return JSONResponse({"items": self.servers})


@pytest.fixture
def runtime() -> FakeRuntime:
    return FakeRuntime()


@pytest.fixture
def settings(tmp_path: Any) -> SettingsStore:
    return SettingsStore(tmp_path / "settings.json")


@pytest.fixture(autouse=True)
def dressed(qapp: QApplication) -> Iterator[None]:
    style.apply(qapp, "light", 1.0)
    yield
    style.apply(qapp, "light", 1.0)
