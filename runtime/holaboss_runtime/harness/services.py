"""What hosts may ask of the runtime outside any run: named services that are registered once, at composition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Service = Callable[[dict[str, Any]], Awaitable[Any]]


class HostAskError(Exception):
    """A host could not answer. The message is a sentence for people, `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class HostServices:
    """Filled while the services are composed, read afterwards."""

    def __init__(self) -> None:
        self._services: dict[str, Service] = {}

    def register(self, name: str, service: Service) -> None:
        """Raises `ValueError` for a name that is taken."""
        if name in self._services:
            raise ValueError(f"there is a service {name} already")
        self._services[name] = service

    async def serve(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
        """Raises `LookupError` for an unknown one, and whatever the service raises."""
        return await self._services[name](arguments)
