"""The permissions of one run: the profile of its workspace, what the workspace's own file narrows, and the rules the
person keeps.

Only a person widens: `workspace.yaml` travels with templates and lies where an agent can write, so its rules ask or
deny. It judges no call; the gate of the executor does.
"""

from __future__ import annotations

from collections.abc import Sequence

from holaboss_runtime.permissions.model import PermissionPolicy, PermissionRule
from holaboss_runtime.permissions.profiles import policy_of
from holaboss_runtime.runs import fingerprint
from holaboss_runtime.store.permissions import Profiles
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import SessionRecord

UNWATCHED = frozenset({"cronjob", "task_proposal"})
"""Kinds of sessions that run while nobody looks."""

SUBAGENT = "subagent"
_MOST_PARENTS = 8
_AGENT_PROFILE = "agent"


class RunPolicies:
    def __init__(self, records: Records) -> None:
        self._records = records

    def of_workspace(self, session: SessionRecord, rules: Sequence[PermissionRule]) -> PermissionPolicy:
        """For a session in a workspace; `rules` are those of its `workspace.yaml`."""
        profiles = self._records.permissions.profiles(session.workspace_id)
        policy = policy_of(self._profile(session, profiles))
        return _with(policy, [*rules, *self._kept(session.workspace_id)])

    def of_agent(self, session: SessionRecord, rules: Sequence[PermissionRule]) -> PermissionPolicy:
        """For a session of an agent; `rules` are those of its definition."""
        policy = PermissionPolicy(profile=_AGENT_PROFILE)
        return _with(policy, [*rules, *self._kept(session.workspace_id)])

    def of_person(self, workspace_id: str) -> PermissionPolicy:
        """For what a person does by themselves in a workspace, such as a terminal they open."""
        policy = policy_of(self._records.permissions.profiles(workspace_id).attended)
        return _with(policy, self._kept(workspace_id))

    def _profile(self, session: SessionRecord, profiles: Profiles) -> str:
        """A subagent may do what its parent may, also when it was begun by something that nobody watches."""
        asking = session
        for _ in range(_MOST_PARENTS):
            if asking.kind != SUBAGENT or asking.parent_session_id is None:
                break
            parent = self._records.sessions.get(asking.parent_session_id)
            if parent is None or parent.workspace_id != session.workspace_id:
                break
            asking = parent
        return profiles.unattended if asking.kind in UNWATCHED else profiles.attended

    def _kept(self, workspace_id: str) -> list[PermissionRule]:
        return [
            PermissionRule(
                effect=rule.effect,
                tool=rule.tool,
                command=rule.command,
                path=rule.path,
                host=rule.host,
                server=rule.server,
                source="person",
            )
            for rule in self._records.permissions.rules(workspace_id)
        ]


def described(policy: PermissionPolicy) -> dict[str, object]:
    """What a snapshot says of a policy: enough to prove which one it was."""
    return {
        "profile": policy.profile,
        "default": policy.default,
        "may_ask": policy.may_ask,
        "rule_count": len(policy.rules),
        "rules_fingerprint": fingerprint.of_value([rule.model_dump() for rule in policy.rules]),
        "containment": policy.containment.model_dump(),
    }


def _with(policy: PermissionPolicy, rules: Sequence[PermissionRule]) -> PermissionPolicy:
    return policy.model_copy(update={"rules": [*policy.rules, *rules]})
