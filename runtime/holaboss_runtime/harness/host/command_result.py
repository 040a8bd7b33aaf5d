"""How a command ended."""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_runtime.containment.view import ContainmentName, NetworkMode


@dataclass(frozen=True)
class CommandResult:
    """`exit_code` is None when the command was killed for taking too long.

    `whole` is all that was printed where `output` leaves something out. `refused_hosts` are not on the list.
    """

    exit_code: int | None
    output: str
    containment: ContainmentName
    network: NetworkMode = "on"
    whole: str | None = None
    refused_hosts: tuple[str, ...] = ()
