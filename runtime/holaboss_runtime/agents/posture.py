"""What a session may do at most: the smaller of what its environment and its agent allow, computed once per run.

Whatever cannot be held to is taken away, and what can neither be held to nor taken away is named. The tools of the
harness are known here by what they need; a tool nobody described is taken to need everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from holaboss_client.agents import Environment, ResourceAttachment
from holaboss_runtime.agents.definition import Access, AgentConfig
from holaboss_runtime.permissions.model import ContainmentDemand

Network = Literal["enabled", "disabled"]

_ORDER: tuple[Access, ...] = ("none", "ro", "rw")
_EVERYTHING = frozenset({"files", "write", "network"})
_NEEDS: dict[str, frozenset[str]] = {
    "read": frozenset({"files"}),
    "grep": frozenset({"files"}),
    "find": frozenset({"files"}),
    "ls": frozenset({"files"}),
    "write": frozenset({"files", "write"}),
    "edit": frozenset({"files", "write"}),
    "bash": frozenset(
        {"files", "write"}
    ),  # how far it reaches is demanded of its containment, see `containment`
    "skill": frozenset({"files"}),
    "write_report": frozenset({"files", "write"}),
    "web_search": frozenset({"network"}),
    "download_url": _EVERYTHING,
    "image_generate": _EVERYTHING,
    # A plan, notes and questions belong to the session; no file of anybody is touched.
    "todo": frozenset(),
    "question": frozenset(),
    "scratchpad": frozenset(),
    # A subagent has the posture of its owner.
    "delegate_task": frozenset(),
    "get_subagent": frozenset(),
    "cancel_subagent": frozenset(),
    "resume_subagent": frozenset(),
    "continue_subagent": frozenset(),
    "list_background_tasks": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Posture:
    """`not_enforced` are sentences about what was asked for and is not kept on this machine."""

    file_tools: bool
    workspace_access: Access
    network: Network
    not_enforced: tuple[str, ...] = ()

    def select(self, tools: Iterable[str]) -> tuple[str, ...]:
        """The tools that may exist, in the order given."""
        return tuple(tool for tool in tools if self.allows(tool))

    def allows(self, tool: str) -> bool:
        needs = _NEEDS.get(tool, _EVERYTHING)
        granted = {
            "files": self.file_tools,
            "write": self.workspace_access == "rw",
            "network": self.network == "enabled",
        }
        return all(granted[need] for need in needs)

    @property
    def containment(self) -> ContainmentDemand:
        """How commands have to be held. A machine that cannot take the network away runs none."""
        offline = self.network == "disabled"
        return ContainmentDemand(required=offline, network="off" if offline else "on")

    def limit(self, resources: Sequence[ResourceAttachment]) -> list[ResourceAttachment]:
        """The attachments as this run gets them: none at all, all of them read-only, or as they are."""
        if not self.file_tools:
            return []
        if self.workspace_access == "rw":
            return list(resources)
        return [resource.model_copy(update={"access": "read_only"}) for resource in resources]

    def describe(self) -> str:
        """One paragraph for a prompt or a status."""
        files = {
            "none": "no access to files",
            "ro": "files can only be read",
            "rw": "files can be read and written",
        }
        parts = [files[self.workspace_access if self.file_tools else "none"], f"network {self.network}"]
        return "; ".join(parts).capitalize() + "." + "".join(f" {sentence}" for sentence in self.not_enforced)


def effective_posture(environment: Environment, config: AgentConfig) -> Posture:
    sandbox = environment.sandbox
    access = _smaller(sandbox.workspace_access, config.sandbox.workspace_access)
    off = "off" in (sandbox.mode, config.sandbox.mode)
    posture = Posture(
        file_tools=not off and access != "none",
        workspace_access="none" if off else access,
        network=sandbox.network_access,
    )
    if sandbox.package_policy == "none" and posture.network == "enabled" and posture.allows("bash"):
        note = "Not enforced: shell commands could install packages although the environment asks for none."
        return Posture(posture.file_tools, posture.workspace_access, posture.network, (note,))
    return posture


def _smaller(one: Access, other: Access) -> Access:
    return one if _ORDER.index(one) <= _ORDER.index(other) else other
