"""What a person allows in a workspace: its profiles and the rules they keep. Every window is told of a change.

It judges no call: that is done where the call is made.
"""

from __future__ import annotations

from holaboss_client.permissions import (
    KeepRule,
    KeptRule,
    PermissionProfile,
    RuleText,
    SetPermissions,
    WorkspacePermissions,
)
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.harness.contract import Harness
from holaboss_runtime.permissions.profiles import PROFILES
from holaboss_runtime.runs.ports import Workspaces
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.permissions import Profiles
from holaboss_runtime.store.records import Records

MOST_RULES = 500
MAX_TEXT = 1_010
"""Somewhat more than the longest rule that is ever suggested."""


class Permissions:
    """Raises `DomainError` `workspace_not_found` wherever a workspace is named."""

    def __init__(
        self, records: Records, publisher: Publisher, workspaces: Workspaces, harness: Harness
    ) -> None:
        self._records = records
        self._harness = harness
        self._publish = publisher
        self._workspaces = workspaces

    def of(self, workspace_id: str) -> WorkspacePermissions:
        self._workspaces.get(workspace_id)
        profiles = self._records.permissions.profiles(workspace_id)
        return WorkspacePermissions(
            workspace_id=workspace_id,
            profile=profiles.attended,
            unattended_profile=profiles.unattended,
            profiles=[
                PermissionProfile(id=profile.id, title=profile.title, summary=profile.summary)
                for profile in PROFILES.values()
            ],
            rules=self._records.permissions.rules(workspace_id),
            containment=self._harness.containment,
        )

    def set(self, workspace_id: str, body: SetPermissions) -> WorkspacePermissions:
        """For runs that begin from now on."""
        with self._records.database.transaction(durable=True):
            self._workspaces.get(workspace_id)
            before = self._records.permissions.profiles(workspace_id)
            wanted = Profiles(body.profile or before.attended, body.unattended_profile or before.unattended)
            if wanted != before:
                self._records.permissions.set_profiles(workspace_id, wanted)
                self._publish.permissions(workspace_id)
        return self.of(workspace_id)

    def keep(self, workspace_id: str, body: KeepRule) -> KeptRule:
        """Raises `DomainError` for a rule that says nothing, and for one too many."""
        rule = RuleText.model_validate(body.model_dump())
        check_rule(rule)
        with self._records.database.transaction(durable=True):
            self._workspaces.get(workspace_id)
            if len(self._records.permissions.rules(workspace_id)) >= MOST_RULES:
                raise DomainError(
                    "conflict",
                    "too_many_rules",
                    f"This workspace has {MOST_RULES} rules. Remove some that are not needed any more.",
                )
            kept = self._records.permissions.keep(workspace_id, rule)
            self._publish.permissions(workspace_id)
        return kept

    def remove(self, workspace_id: str, rule_id: str) -> WorkspacePermissions:
        """Raises `DomainError` `rule_not_found`."""
        with self._records.database.transaction(durable=True):
            self._workspaces.get(workspace_id)
            if not self._records.permissions.remove(workspace_id, rule_id):
                raise not_found("rule", rule_id)
            self._publish.permissions(workspace_id)
        return self.of(workspace_id)


def check_rule(rule: RuleText) -> None:
    """Every part that is given says something and is of a size. Raises `DomainError` `rule_invalid`."""
    for name in ("tool", "command", "path", "host", "server"):
        text: str | None = getattr(rule, name)
        plain = text is None or "".join(text.split("\n")).isprintable()
        if text is not None and not (text.strip() and len(text) <= MAX_TEXT and plain):
            raise DomainError(
                "unprocessable",
                "rule_invalid",
                f"`{name}` of a rule is 1 to {MAX_TEXT} printable characters; leave out what does not matter.",
            )
