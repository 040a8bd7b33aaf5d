"""The one interface of every way to hold a command, and the way that holds nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from holaboss_runtime.containment.view import ContainmentName, Network, NetworkMode, View


@dataclass(frozen=True, slots=True)
class Held:
    """How to start the command: what to execute, with which environment, where, and with which open files.

    `started` is to be called once it runs: our copies of `inherited` are closed then. `refused` fills with the hosts
    that were asked for and are not on the list.
    """

    arguments: list[str]
    environment: dict[str, str]
    cwd: Path
    inherited: tuple[int, ...] = ()
    started: Callable[[], None] = lambda: None
    refused: Sequence[str] = field(default=())


class Containment:
    """Holds nothing: commands run as they are. Each way to hold them is a subclass.

    What is claimed was seen to work on this machine.
    """

    name: ContainmentName = "none"

    @property
    def active(self) -> bool:
        return self.name != "none"

    async def offers(self, mode: NetworkMode) -> bool:
        """Whether the network of a command can be set to this."""
        return mode == "on"

    def hold(
        self, view: View, arguments: Sequence[str], environment: Mapping[str, str], network: Network
    ) -> AbstractAsyncContextManager[Held]:
        """Entered around the life of a command. Raises `OSError` when the view is not what it was said to be."""
        return _as_it_is(view, arguments, environment)


@asynccontextmanager
async def _as_it_is(
    view: View, arguments: Sequence[str], environment: Mapping[str, str]
) -> AsyncGenerator[Held]:
    yield Held(list(arguments), dict(environment), view.folder)
