"""Profiles and kept rules over the routes: what they say, what they refuse, and who hears of a change."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.permissions import KeepRule, SetPermissions
from holaboss_client.problems import ProblemError
from holaboss_client.workspaces import CreateWorkspace
from holaboss_runtime.sessions.permissions import MOST_RULES
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.wire import problem_of, refused
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio

PUSH = KeepRule(effect="always_allow", tool="bash", command="git push")


def told(core: Core, after: int) -> list[tuple[str, str | None]]:
    return [(change.kind, change.workspace_id) for change in core.changes.after(after) or []]


async def test_a_workspace_begins_with_the_careful_profiles(client: RuntimeClient) -> None:
    found = await client.permissions(WORKSPACE)
    assert (found.profile, found.unattended_profile, found.rules) == ("ask", "unattended", [])
    assert [profile.id for profile in found.profiles] == ["read-only", "ask", "trusted", "unattended"]
    assert all(profile.title and profile.summary for profile in found.profiles)


async def test_profiles_are_set_one_by_one_and_every_window_is_told(
    client: RuntimeClient, core: Core
) -> None:
    position = core.changes.last_seq()
    changed = await client.set_permissions(WORKSPACE, SetPermissions(profile="trusted"))
    assert (changed.profile, changed.unattended_profile) == ("trusted", "unattended")
    await client.set_permissions(WORKSPACE, SetPermissions(unattended_profile="read-only"))
    assert told(core, position) == [("permissions", WORKSPACE)] * 2
    again = await client.set_permissions(WORKSPACE, SetPermissions(profile="trusted"))
    assert (again.profile, again.unattended_profile) == ("trusted", "read-only")
    assert len(told(core, position)) == 2, "what was so before is no change"


async def test_rules_are_kept_in_order_and_removed_by_id(client: RuntimeClient, core: Core) -> None:
    position = core.changes.last_seq()
    first = await client.keep_rule(WORKSPACE, PUSH)
    second = await client.keep_rule(WORKSPACE, KeepRule(effect="deny", tool="*", host="*.example.org"))
    assert [rule.id for rule in (await client.permissions(WORKSPACE)).rules] == [first.id, second.id]
    left = await client.remove_rule(WORKSPACE, first.id)
    assert [rule.id for rule in left.rules] == [second.id]
    assert told(core, position) == [("permissions", WORKSPACE)] * 3
    with pytest.raises(ProblemError) as gone:
        await client.remove_rule(WORKSPACE, first.id)
    assert problem_of(gone.value) == (404, "rule_not_found")


async def test_the_same_rule_is_kept_once_and_is_the_newest(client: RuntimeClient) -> None:
    await client.keep_rule(WORKSPACE, PUSH)
    other = await client.keep_rule(WORKSPACE, KeepRule(effect="deny", tool="bash", command="git push"))
    again = await client.keep_rule(WORKSPACE, PUSH)
    assert [rule.id for rule in (await client.permissions(WORKSPACE)).rules] == [other.id, again.id]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"effect": "always_allow", "tool": ""}, "rule_invalid"),
        ({"effect": "always_allow", "tool": "bash", "command": " "}, "rule_invalid"),
        ({"effect": "always_allow", "tool": "bash", "command": "x" * 2000}, "rule_invalid"),
        ({"effect": "always_allow", "tool": "bash", "path": "a\u0000b"}, "rule_invalid"),
        ({"effect": "sometimes", "tool": "bash"}, "invalid_request"),
        ({"effect": "deny"}, "invalid_request"),
        ({"effect": "deny", "tool": "bash", "comand": "x"}, "invalid_request"),
    ],
)
async def test_a_rule_that_says_nothing_is_refused(url: str, body: dict[str, Any], code: str) -> None:
    problem = await refused(url, "POST", f"/workspaces/{WORKSPACE}/permissions/rules", body)
    assert (problem.status, problem.code) == (422, code)


async def test_a_profile_nobody_knows_is_refused(url: str) -> None:
    problem = await refused(url, "PUT", f"/workspaces/{WORKSPACE}/permissions", {"profile": "everything"})
    assert problem.status == 422


async def test_there_is_an_end_to_rules(client: RuntimeClient, core: Core) -> None:
    with core.database.transaction():
        for number in range(MOST_RULES):
            rule = KeepRule(effect="deny", tool=f"t{number}")
            core.records.permissions.keep(WORKSPACE, rule)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProblemError) as too_many:
        await client.keep_rule(WORKSPACE, PUSH)
    assert problem_of(too_many.value) == (409, "too_many_rules")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PUT", ""), ("POST", "/rules"), ("DELETE", "/rules/r1")],
)
async def test_an_unknown_workspace_has_no_permissions(url: str, method: str, path: str) -> None:
    body = {"PUT": {"profile": "ask"}, "POST": PUSH.model_dump(exclude_none=True)}.get(method)
    problem = await refused(url, method, f"/workspaces/nobody/permissions{path}", body)
    assert (problem.status, problem.code) == (404, "workspace_not_found")


async def test_they_go_with_their_workspace(runtime: RuntimeProcess) -> None:
    async with runtime.client() as client:
        made = await client.create_workspace(CreateWorkspace(name="Short-lived", workspace_id="short-lived"))
        await client.set_permissions(made.id, SetPermissions(profile="trusted"))
        await client.keep_rule(made.id, PUSH)
        assert len((await client.permissions(made.id)).rules) == 1
        await client.delete_workspace(made.id)
        with pytest.raises(ProblemError) as gone:
            await client.permissions(made.id)
        assert problem_of(gone.value) == (404, "workspace_not_found")
    connection = apsw.Connection(str(runtime.root / "state" / "runtime.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for table in ("permission_rules", "workspace_permissions"):
            query = f"SELECT count(*) FROM {table} WHERE workspace_id = ?"
            assert next(iter(connection.execute(query, (made.id,)))) == (0,)
    finally:
        connection.close()
