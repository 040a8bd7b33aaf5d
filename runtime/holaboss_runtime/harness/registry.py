"""Which executors there are: an adapter by name, and how it is opened. A new one is one entry here.

Nothing above the seam knows more of an adapter than its name. One costs nothing until it is opened: its code is
loaded then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holaboss_runtime.harness.contract import Harness
    from holaboss_runtime.harness.options import HarnessOptions

DEFAULT = "native"

Opener = Callable[["HarnessOptions"], "Harness"]


@dataclass(frozen=True, slots=True)
class Adapter:
    """`aliases` are further names under which it may be selected."""

    name: str
    open: Opener
    aliases: tuple[str, ...] = ()


class HarnessRegistry:
    """Raises `ValueError` for a name that is taken, `LookupError` for one nobody has."""

    def __init__(self, *adapters: Adapter) -> None:
        self._adapters: dict[str, Adapter] = {}
        for adapter in adapters:
            self.register(adapter)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the adapters, without aliases."""
        return tuple(dict.fromkeys(adapter.name for adapter in self._adapters.values()))

    def register(self, adapter: Adapter) -> None:
        for name in (adapter.name, *adapter.aliases):
            if name in self._adapters:
                raise ValueError(f"there is a harness {name} already")
            self._adapters[name] = adapter

    def knows(self, name: str) -> bool:
        return name in self._adapters

    def open(self, name: str, options: HarnessOptions) -> Harness:
        return self._adapters[name].open(options)


def _native(options: HarnessOptions) -> Harness:
    from holaboss_runtime.harness.native import NativeHarness

    return NativeHarness(hosts=options.hosts, toolbox=options.toolbox, services=options.services)


HARNESSES = HarnessRegistry(Adapter(DEFAULT, _native, aliases=("pi",)))
