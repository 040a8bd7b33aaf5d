"""One real server for the tests of a module, requests as hostile as a client can write them, and the routes in front of
a session core that a test holds in its hand."""

from __future__ import annotations

import http.client
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.client import RuntimeClient
from tests.runtime.sessions.core import Core
from tests.runtime.sessions.wire import served
from tests.support.processes import PATIENCE_S
from tests.support.server import RuntimeProcess


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuntimeProcess]:
    with RuntimeProcess(Path(tmp_path_factory.mktemp("api")) / "root") as running:
        yield running


@pytest.fixture
def send(runtime: RuntimeProcess) -> Callable[..., Reply]:
    """`send("GET", "/path", headers, body)`: Host and token are right unless `headers` differ (None: absent)."""
    host, port = runtime.url.removeprefix("http://").split(":")

    def request(
        method: str,
        path: str,
        headers: dict[str, str | None] | None = None,
        body: bytes | Iterable[bytes] | None = None,
    ) -> Reply:
        wanted = {"host": f"{host}:{port}", "authorization": f"Bearer {runtime.token}"} | (headers or {})
        if isinstance(body, bytes):
            wanted = {"content-length": str(len(body)), "content-type": "application/json"} | wanted
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            try:
                for part in [body] if isinstance(body, bytes) else body or []:
                    connection.send(part)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before it was all sent
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    return request


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    """Without a worker: nothing runs that was not asked for."""
    (tmp_path / "root").mkdir()
    core = Core(tmp_path / "root")
    yield core
    await core.close()


@pytest.fixture
async def url(core: Core) -> AsyncIterator[str]:
    async with served(core) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[RuntimeClient]:
    async with RuntimeClient(url, "unused") as client:
        yield client
