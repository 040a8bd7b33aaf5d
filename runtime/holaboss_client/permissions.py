"""What an agent may do in a workspace, as it travels: profiles, kept rules."""

from __future__ import annotations

from typing import Literal

from holaboss_client.base import RequestModel, WireModel

Permission = Literal["always_allow", "always_ask", "deny"]
ProfileId = Literal["read-only", "ask", "trusted", "unattended"]


class RuleText(WireModel):
    """What a rule is about; see the permissions of the runtime. Everything that is given must fit a call."""

    effect: Permission = "always_allow"
    tool: str = "*"
    command: str | None = None
    path: str | None = None
    host: str | None = None
    server: str | None = None


class KeptRule(RuleText):
    """A rule a person keeps for a workspace."""

    id: str
    created_at: str


class PermissionProfile(WireModel):
    """`title` and `summary` are for people."""

    id: str
    title: str
    summary: str


class WorkspacePermissions(WireModel):
    """`profile` holds for conversations; sessions that nobody watches have `unattended_profile`.

    `containment` names what holds commands on this machine: bubblewrap, seatbelt or none.
    """

    workspace_id: str
    profile: str
    unattended_profile: str
    profiles: list[PermissionProfile]
    rules: list[KeptRule]
    containment: str | None = None


class SetPermissions(RequestModel):
    """`PUT /workspaces/{id}/permissions`: absent leaves as is."""

    profile: ProfileId | None = None
    unattended_profile: ProfileId | None = None


class KeepRule(RequestModel):
    """`POST /workspaces/{id}/permissions/rules`."""

    effect: Permission
    tool: str
    command: str | None = None
    path: str | None = None
    host: str | None = None
    server: str | None = None
