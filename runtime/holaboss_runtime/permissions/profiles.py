"""The profiles a person picks from: how much an agent may do without asking.

What they have in common with every policy is in `decide`. A profile is the weakest source of rules: those of the agent
and of the person are stronger, and a `deny` always holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_runtime.permissions.model import (
    ADDING,
    READING,
    SENDING,
    ContainmentDemand,
    Permission,
    PermissionPolicy,
    PermissionRule,
)
from holaboss_runtime.permissions.protected import DECIDES_WHAT_RUNS, PROTECTED, SECRETS

_READING_TOOLS = ("read", "ls", "grep", "find", "todo", "skill", "question", "web_search", "scratchpad")
_WRITING_TOOLS = ("write", "edit", "write_report", "download_url")
_NETWORK_FILES = ("/dev/tcp/**", "/dev/udp/**")


@dataclass(frozen=True, slots=True)
class Profile:
    """`title` and `summary` are for people."""

    id: str
    title: str
    summary: str
    policy: PermissionPolicy


def policy_of(profile: str) -> PermissionPolicy:
    """Raises `ValueError` for a name that is not one of `PROFILES`."""
    if profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    return PROFILES[profile].policy


def _rule(effect: Permission, tool: str = "*", **about: str) -> PermissionRule:
    return PermissionRule.model_validate({"effect": effect, "tool": tool} | about)


def _secrets() -> list[PermissionRule]:
    return [_rule("always_ask", "read", path=path) for path in SECRETS]


def _read_only() -> PermissionPolicy:
    rules = [
        *(_rule("always_allow", tool) for tool in _READING_TOOLS),
        _rule("always_allow", READING),
        _rule("always_ask", READING, server="*"),
        *_secrets(),
    ]
    return PermissionPolicy(
        profile="read-only", default="deny", rules=rules, containment=ContainmentDemand(network="off")
    )


def _ask() -> PermissionPolicy:
    rules = [
        *(_rule("always_allow", tool) for tool in _READING_TOOLS),
        _rule("always_allow", READING),
        _rule("always_allow", "write_report"),
        *(_rule("always_allow", tool, path="**") for tool in _WRITING_TOOLS),
        _rule("always_allow", "bash", command=READING),
        *(_rule("always_ask", "write", path=path) for path in PROTECTED),
        *_secrets(),
        *(_rule("always_ask", "read", path=path) for path in _NETWORK_FILES),
    ]
    return PermissionPolicy(profile="ask", default="always_ask", rules=rules)


def _trusting() -> list[PermissionRule]:
    return [
        _rule("always_ask", "terminal_*"),
        _rule("always_allow", READING),
        _rule("always_ask", "*", server="*"),
        _rule("always_allow", ADDING, server="*"),
        _rule("always_ask", "*", command=SENDING),
        *(_rule("always_ask", "write", path=path) for path in (*DECIDES_WHAT_RUNS, *_NETWORK_FILES)),
        *(_rule("always_ask", "read", path=path) for path in _NETWORK_FILES),
    ]


def _trusted() -> PermissionPolicy:
    return PermissionPolicy(profile="trusted", default="always_allow", rules=_trusting())


def _unattended() -> PermissionPolicy:
    rules = [*_trusting(), _rule("always_ask", "*", host="*")]
    return PermissionPolicy(
        profile="unattended",
        default="always_allow",
        rules=rules,
        may_ask=False,
        containment=ContainmentDemand(required=True, network="listed"),
    )


PROFILES: dict[str, Profile] = {
    profile.id: profile
    for profile in (
        Profile(
            "read-only",
            "Read only",
            "The agent can read and search. It cannot change files, run commands or start anything.",
            _read_only(),
        ),
        Profile(
            "ask",
            "Ask first",
            "The agent reads and edits files in the workspace, which you can undo, and runs commands that only read. "
            "It asks before everything else.",
            _ask(),
        ),
        Profile(
            "trusted",
            "Trusted",
            "The agent also runs commands. It asks before it sends things out, changes the system, or changes what "
            "decides what runs here.",
            _trusted(),
        ),
        Profile(
            "unattended",
            "Unattended",
            "For work nobody watches: like Trusted, but commands must be held by the system and reach no network, and "
            "what would be asked is refused.",
            _unattended(),
        ),
    )
}
