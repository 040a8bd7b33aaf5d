"""What an adapter is opened with."""

from __future__ import annotations

from dataclasses import dataclass, field

from holaboss_runtime.harness.services import HostServices
from holaboss_runtime.harness.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class HarnessOptions:
    """`hosts` are processes in the pool of an adapter that has one. The rest is what executors may call back."""

    hosts: int = 1
    toolbox: Toolbox = field(default_factory=Toolbox)
    services: HostServices = field(default_factory=HostServices)
