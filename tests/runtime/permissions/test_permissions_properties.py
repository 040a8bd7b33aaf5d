"""What holds of every policy and every call."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import (
    CallFacts,
    Permission,
    PermissionPolicy,
    PermissionRule,
    RuleSource,
)
from holaboss_runtime.permissions.profiles import PROFILES

STRICTNESS = {"always_allow": 0, "always_ask": 1, "deny": 2}

TEXTS = [
    "ls", "git push origin", "git status", "rm -rf x", "npm test && git push", "$X push", "sudo ls", "cat .env", "",
    "python -c 'x'", "echo a > workspace.yaml", "cd x && tee y", "bash -c 'git push'", "ls\r", "echo `rm x`", "a=b",
    "find . -exec rm {} ;", "rm *", "ls | xargs rm", "(((", "git $X", "./build.sh --all", "make test", "echo > a b",
    "X=1 make", "curl -d a b", "cp a skills/b/SKILL.md",
]  # fmt: skip
PATHS = [
    "a.txt",
    "workspace.yaml",
    "docs/a.md",
    ".env",
    "skills/x/SKILL.md",
    "../out",
    "/abs",
    "WORKSPACE.yaml",
    ".",
    "a*",
]
TOOLS = ["bash", "read", "write", "edit", "mcp__git__status", "download_url", "image_generate", "odd tool*"]

commands = st.sampled_from(TEXTS) | st.text(alphabet="ab ;|&$(){}<>'\"`\\\n-=gitrm", max_size=30)
paths = st.lists(st.sampled_from(PATHS) | st.text(max_size=8), max_size=2).map(tuple)
facts = st.builds(
    CallFacts,
    tool=st.sampled_from(TOOLS),
    command=st.none() | commands,
    reads=paths,
    writes=paths,
    hosts=st.lists(st.sampled_from(["example.org", "a.example.org", ""]), max_size=2).map(tuple),
    server=st.none() | st.sampled_from(["git", "x"]),
    read_only=st.sampled_from([None, True, False]),
    destructive=st.sampled_from([None, True, False]),
)
rules = st.builds(
    PermissionRule,
    effect=st.sampled_from(get_args(Permission)),
    tool=st.sampled_from(["*", "bash", "read", "write", "@reads", "@adds", "mcp__*", "download_url"]),
    command=st.none()
    | st.sampled_from(["git push", "git", "rm", "@reads", "@sends", "=ls", "npm test", "'", ""]),
    path=st.none() | st.none() | st.sampled_from(["**", "docs/**", "workspace.yaml", "**/.env*", "*", ""]),
    host=st.none() | st.none() | st.sampled_from(["*", "example.org", "*.example.org"]),
    server=st.none() | st.none() | st.sampled_from(["*", "git"]),
    source=st.sampled_from(get_args(RuleSource)),
)
policies = st.builds(
    PermissionPolicy,
    default=st.sampled_from(get_args(Permission)),
    rules=st.lists(rules, max_size=6),
) | st.sampled_from([profile.policy for profile in PROFILES.values()])


def with_rules(policy: PermissionPolicy, *more: PermissionRule) -> PermissionPolicy:
    return policy.model_copy(update={"rules": [*policy.rules, *more]})


@settings(max_examples=300, deadline=None)
@given(policies, facts)
def test_every_call_has_one_verdict_with_a_reason(policy: PermissionPolicy, call: CallFacts) -> None:
    verdict = decide(policy, call)
    assert verdict == decide(policy, call)
    assert (verdict.effect == "always_allow") == (verdict.reason == "")
    assert "\n" not in verdict.reason
    assert len(verdict.reason) < 250


@settings(max_examples=300, deadline=None)
@given(policies, facts, rules)
def test_forbidding_more_never_loosens(
    policy: PermissionPolicy, call: CallFacts, rule: PermissionRule
) -> None:
    before = decide(policy, call)
    after = decide(with_rules(policy, rule.model_copy(update={"effect": "deny"})), call)
    assert STRICTNESS[after.effect] >= STRICTNESS[before.effect]


@settings(max_examples=300, deadline=None)
@given(policies, facts, rules)
def test_a_rule_of_the_workspace_never_loosens(
    policy: PermissionPolicy, call: CallFacts, rule: PermissionRule
) -> None:
    before = decide(policy, call)
    after = decide(with_rules(policy, rule.model_copy(update={"source": "workspace"})), call)
    assert STRICTNESS[after.effect] >= STRICTNESS[before.effect]


@settings(max_examples=400, deadline=None)
@given(policies, facts)
def test_a_suggested_rule_really_lets_the_call_run(policy: PermissionPolicy, call: CallFacts) -> None:
    verdict = decide(policy, call)
    for rule in verdict.suggestions:
        assert (rule.effect, rule.source) == ("always_allow", "person")
        assert decide(with_rules(policy, rule), call).effect == "always_allow"
    assert verdict.effect == "always_ask" or not verdict.suggestions


UNCLEAR = [
    "$X a",
    "ls\r",
    "PATH=x ls",
    "ls )",
    "echo $((a))",
    "bash -ic ls",
    "ls $(",
    "r\\\nm",
    "xargs -I{} ls {}",
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(UNCLEAR),
    st.lists(st.sampled_from(["ls", "bash", "git", "$X", "@reads", "rm", "xargs"]), max_size=7),
)
def test_what_is_not_certain_is_never_allowed_by_how_it_begins(text: str, allowed: list[str]) -> None:
    kept: list[Any] = [
        PermissionRule(effect="always_allow", tool="bash", command=command, source="person")
        for command in allowed
    ]
    policy = PermissionPolicy(default="always_ask", rules=kept)
    assert decide(policy, CallFacts("bash", command=text)).effect == "always_ask"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ls;|&$(){}<>'\"`\\\n rm-=#[]!*?~", max_size=40))
def test_nothing_that_names_another_program_is_taken_for_reading(text: str) -> None:
    """`rm` is the only other program these letters can name."""
    policy = PermissionPolicy(
        default="always_allow", rules=[PermissionRule(effect="deny", tool="bash", command="rm")]
    )
    asking = PROFILES["ask"].policy
    if decide(policy, CallFacts("bash", command=text)).effect == "deny":
        assert decide(asking, CallFacts("bash", command=text)).effect == "always_ask"
