"""The connection of the HTTP client: one pool, one token, answers parsed into models and refusals raised."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from holaboss_client.base import WireModel
from holaboss_client.problems import RuntimeUnreachableError
from holaboss_client.streams import raise_for_problem

API = "/api/v1"
LIMITS = httpx.Limits(max_connections=None, keepalive_expiry=30.0)
"""A connection for every open stream. One that rests is kept for 30 s, half of what the server grants it: after 5 s, as
is usual, the first request after each pause would close them all, and being cancelled in that it would leave some open
that nobody knows of."""

Model = TypeVar("Model", bound=WireModel)


def segment(value: str) -> str:
    """A value as one segment of an address."""
    return quote(value, safe="")


class Transport:
    """What every family of calls is made of."""

    def __init__(self, url: str, token: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        # trust_env=False: a proxy variable must never carry loopback traffic or its token away from the machine.
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(30.0, connect=5.0),
            limits=LIMITS,
            trust_env=False,
            # A plain address needs no certificates: loading them costs 3 MB and 20 ms.
            verify=self.url.startswith("https:"),
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _get(self, model: type[Model], path: str, **params: Any) -> Model:  # noqa: ANN401
        return await self._call(model, "GET", path, params=params)

    async def _call(self, model: type[Model], method: str, path: str, **options: Any) -> Model:  # noqa: ANN401
        response = await self._send(method, path, **options)
        return model.model_validate_json(response.content)

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401
        try:
            response = await self._http.request(method, API + path, **options)
        except httpx.HTTPError as error:
            raise RuntimeUnreachableError(f"The runtime at {self.url} does not answer.") from error
        raise_for_problem(response)
        return response
