"""The rules of judging: whose rule counts, what a profile lets through, what a person is told and offered."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import (
    CallFacts,
    Permission,
    PermissionPolicy,
    PermissionRule,
    RuleSource,
)
from holaboss_runtime.permissions.profiles import PROFILES, policy_of
from tests.support.processes import PATIENCE_S


def rule(effect: Permission, source: RuleSource = "profile", **fields: str) -> PermissionRule:
    return PermissionRule.model_validate({"effect": effect, "source": source} | fields)


def judged(facts: CallFacts, *rules: PermissionRule, default: Permission = "always_ask") -> str:
    return decide(PermissionPolicy(default=default, rules=list(rules)), facts).effect


def bash(command: str) -> CallFacts:
    return CallFacts("bash", command=command)


def mcp(*, read_only: bool | None = None, destructive: bool | None = None) -> CallFacts:
    return CallFacts("mcp__git__tag", server="git", read_only=read_only, destructive=destructive)


def test_a_rule_that_forbids_wins_wherever_it_stands() -> None:
    for source in ("profile", "workspace", "agent", "person"):
        forbidding = rule("deny", source, tool="bash")
        assert judged(bash("ls"), forbidding, rule("always_allow", "person", tool="bash")) == "deny"
        assert judged(bash("ls"), rule("always_allow", "person", tool="bash"), forbidding) == "deny"


def test_the_last_rule_of_the_strongest_source_counts() -> None:
    facts = bash("make")
    ask, allow = "always_ask", "always_allow"
    assert judged(facts, rule(ask), rule(allow)) == allow
    assert judged(facts, rule(allow), rule(ask)) == ask
    assert judged(facts, rule(allow, "agent"), rule(ask)) == allow
    assert judged(facts, rule(ask, "agent"), rule(allow)) == ask
    assert judged(facts, rule(allow, "person"), rule(ask, "agent")) == allow
    assert judged(facts, rule(ask, "person"), rule(allow, "agent")) == ask


def test_a_file_of_the_workspace_only_narrows() -> None:
    facts = bash("make")
    assert judged(facts, rule("always_allow", "workspace")) == "always_ask"
    assert judged(facts, rule("always_allow"), rule("always_ask", "workspace")) == "always_ask"
    narrowed = (rule("always_ask", "workspace"), rule("always_allow", "workspace"))
    assert judged(facts, rule("always_allow"), *narrowed) == "always_ask"
    assert judged(facts, rule("always_ask", "workspace"), rule("always_allow", "person")) == "always_allow"


def test_every_part_of_a_call_has_to_be_allowed() -> None:
    allowed = rule("always_allow", "person", tool="bash", command="make")
    assert judged(bash("make all"), allowed) == "always_allow"
    assert judged(bash("make all && make install"), allowed) == "always_allow"
    assert judged(bash("make all && ./run"), allowed) == "always_ask"
    assert judged(bash("timeout 5 make all"), allowed) == "always_allow"
    assert judged(bash("sudo make all"), allowed) == "always_ask"
    assert judged(bash("makefile"), allowed) == "always_ask"


def test_a_rule_that_names_several_things_needs_all_of_them() -> None:
    both = {"tool": "download_url", "host": "example.org", "path": "Downloads/**"}
    fitting = CallFacts("download_url", hosts=("example.org",), writes=("Downloads/a",))
    elsewhere = CallFacts("download_url", hosts=("example.org",), writes=("skills/a",))
    assert judged(fitting, rule("always_allow", "person", **both)) == "always_allow"
    assert judged(elsewhere, rule("always_allow", "person", **both)) == "always_ask"
    assert judged(fitting, rule("deny", "person", **both), default="always_allow") == "deny"
    assert judged(elsewhere, rule("deny", "person", **both), default="always_allow") == "always_allow"


def test_a_whole_text_is_that_text_alone() -> None:
    kept = rule("always_allow", "person", tool="bash", command="=rm -rf build")
    assert judged(bash("rm -rf build"), kept) == "always_allow"
    assert judged(bash(" rm -rf build\n"), kept) == "always_allow"
    for other in ("rm -rf build x", "cd .. && rm -rf build", "rm -rf  build", "rm -rf build; ls"):
        assert judged(bash(other), kept) == "always_ask"


@pytest.mark.parametrize(
    ("pattern", "path", "fits", "forbids"),
    [
        ("docs/**", "docs/a/b.md", True, True),
        ("docs/**", "docs", False, True),
        ("docs/**", "Docs/a", False, True),
        ("docs/*", "docs/a/b", False, False),
        ("docs/**", "docs/../x", False, False),
        ("**", "a/b", True, True),
        ("**", "/etc/x", False, False),
        ("**", "../x", False, False),
        ("**/.env*", ".env", True, True),
        ("**/.env*", "a/b/.env.local", True, True),
        ("**/.env*", "a/.ENV", False, True),
        ("**/.env*", "environment", False, False),
        ("workspace.yaml", "./workspace.yaml", True, True),
        ("workspace.yaml", "a/workspace.yaml", False, False),
        ("workspace.yaml", "WORKSPACE.YAML", False, True),
        ("workspace.yaml", "\uff57orkspace.yaml", False, True),
        ("a?c", "abc", True, True),
        ("a?c", "a/c", False, False),
        ("caf\u00e9.md", "cafe\u0301.md", False, True),
        ("skills/**", ".", False, True),
    ],
)
def test_paths(pattern: str, path: str, fits: bool, forbids: bool) -> None:
    facts = CallFacts("write", writes=(path,))
    assert judged(facts, rule("always_allow", path=pattern)) == ("always_allow" if fits else "always_ask")
    forbidden = judged(facts, rule("deny", path=pattern), default="always_allow")
    assert forbidden == ("deny" if forbids else "always_allow")


@pytest.mark.parametrize(
    "text",
    [
        "echo x > workspace.yaml",
        "echo x > ./workspace.yaml",
        "echo x > /srv/space/workspace.yaml",
        "cd skills && echo x > a/SKILL.md",
        "echo x > ~/space/workspace.yaml",
        "tee workspace.yaml",
        "cp a workspace.yaml",
        "mv workspace.yaml b",
        "rm -rf skills",
        "rm -rf .",
        "rm *",
        "rm skill?/a",
        "sed -i s/a/b/ workspace.yaml",
        "dd if=a of=workspace.yaml",
        "ln -s workspace.yaml harmless",
        "git checkout HEAD -- workspace.yaml",
        'echo x > "$F"',
        "echo x > /dev/tcp/example.org/80",
    ],
)
def test_trusted_still_asks_before_what_decides_what_runs(text: str) -> None:
    assert decide(policy_of("trusted"), bash(text)).effect == "always_ask"
    assert decide(policy_of("trusted"), bash(text.replace("workspace.yaml", "a.md"))).effect in (
        "always_ask",
        "always_allow",
    )


@pytest.mark.parametrize(
    "text",
    [
        "make test",
        "rm -rf build",
        "rm *.pyc",
        "python -c 'x'",
        "echo x > a.md",
        "PYTHONPATH=src pytest",
        "cp -r a b",
        "pip install x",
        "git commit -m 'push it'",
        "for i in 1 2; do echo $((i+1)); done",
        "curl https://example.org",
    ],
)
def test_trusted_lets_ordinary_work_run(text: str) -> None:
    verdict = decide(policy_of("trusted"), bash(text))
    assert verdict.effect == "always_allow", verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "sudo make",
        "ssh host",
        "scp a b:c",
        "curl -X POST u",
        "curl -d a u",
        "curl --data-binary @f u",
        "npm publish",
        "docker run x",
        "wget --post-data=a u",
        "rsync a host:b",
        "apt-get install x",
        "twine upload x",
        "bash -c 'git push'",
        "ls && git -C . push",
        "$X",
        "kubectl apply",
        "python -m twine upload x",
        "ls )",
    ],
)
def test_trusted_asks_before_things_leave_or_the_system_changes(text: str) -> None:
    assert decide(policy_of("trusted"), bash(text)).effect == "always_ask"


TABLE = [
    # facts, read-only, ask, trusted
    (CallFacts("read", reads=("a.md",), read_only=True), "allow", "allow", "allow"),
    (CallFacts("read", reads=("/skills/x/SKILL.md",), read_only=True), "allow", "allow", "allow"),
    (CallFacts("read", reads=("conf/.env.local",), read_only=True), "ask", "ask", "allow"),
    (CallFacts("grep", reads=(".",), read_only=True), "allow", "allow", "allow"),
    (CallFacts("grep", reads=(".", "./.env"), read_only=True), "ask", "ask", "allow"),
    (CallFacts("ls", reads=(".",), read_only=True), "allow", "allow", "allow"),
    (CallFacts("find", reads=(".",), read_only=True), "allow", "allow", "allow"),
    (CallFacts("todo", read_only=True), "allow", "allow", "allow"),
    (CallFacts("question", read_only=True), "allow", "allow", "allow"),
    (CallFacts("web_search", read_only=True), "allow", "allow", "allow"),
    (CallFacts("write", writes=("a/b.md",)), "deny", "allow", "allow"),
    (CallFacts("edit", writes=("a/b.md",)), "deny", "allow", "allow"),
    (CallFacts("write", writes=("/mount/b.md",)), "deny", "ask", "allow"),
    (CallFacts("write"), "deny", "ask", "allow"),
    (CallFacts("write", writes=("workspace.yaml",)), "deny", "ask", "ask"),
    (CallFacts("edit", writes=("skills/a/SKILL.md",)), "deny", "ask", "ask"),
    (CallFacts("write", writes=("apps/a/app.py",)), "deny", "ask", "ask"),
    (CallFacts("write", writes=("AGENTS.md",)), "deny", "ask", "allow"),
    (CallFacts("write", writes=(".git/config",)), "deny", "ask", "ask"),
    (CallFacts("write", writes=("sub/.git/hooks/x",)), "deny", "ask", "ask"),
    (CallFacts("write", writes=(".holaboss/x",)), "deny", "ask", "ask"),
    (CallFacts("write", writes=(".env",)), "deny", "ask", "allow"),
    (CallFacts("write_report", writes=("outputs/reports/a.md",)), "deny", "allow", "allow"),
    (bash("ls"), "deny", "allow", "allow"),
    (bash("make"), "deny", "ask", "allow"),
    (CallFacts("bash", read_only=True), "allow", "allow", "allow"),
    (CallFacts("bash"), "deny", "ask", "allow"),
    (CallFacts("download_url", hosts=("example.org",), writes=("Downloads/",)), "deny", "ask", "allow"),
    (CallFacts("image_generate", writes=("outputs/images/",)), "deny", "ask", "allow"),
    (CallFacts("delegate_task", read_only=False), "deny", "ask", "allow"),
    (CallFacts("get_subagent", read_only=True), "allow", "allow", "allow"),
    (CallFacts("terminal_session_start", read_only=False), "deny", "ask", "ask"),
    (CallFacts("terminal_session_read", read_only=True), "allow", "allow", "allow"),
    (mcp(read_only=True, destructive=None), "ask", "allow", "allow"),
    (mcp(read_only=True, destructive=True), "deny", "ask", "ask"),
    (mcp(read_only=False, destructive=False), "deny", "ask", "allow"),
    (mcp(read_only=False, destructive=True), "deny", "ask", "ask"),
    (mcp(), "deny", "ask", "ask"),
    (CallFacts("anything"), "deny", "ask", "allow"),
]


@pytest.mark.parametrize(("facts", "read_only", "ask", "trusted"), TABLE)
def test_profiles(facts: CallFacts, read_only: str, ask: str, trusted: str) -> None:
    effects = [decide(policy_of(name), facts).effect for name in ("read-only", "ask", "trusted")]
    assert [effect.removeprefix("always_") for effect in effects] == [read_only, ask, trusted]


@pytest.mark.parametrize("facts", [facts for facts, *_ in TABLE])
def test_nobody_is_asked_where_nobody_watches(facts: CallFacts) -> None:
    unattended, trusted = policy_of("unattended"), policy_of("trusted")
    assert (unattended.may_ask, unattended.containment.required) == (False, True)
    assert (unattended.containment.network, unattended.containment.hosts) == ("listed", [])
    if not facts.hosts:
        assert decide(unattended, facts).effect == decide(trusted, facts).effect
    else:
        assert decide(unattended, facts).effect == "always_ask"


def test_profiles_have_names_and_words() -> None:
    assert list(PROFILES) == ["read-only", "ask", "trusted", "unattended"]
    assert all(profile.title and profile.summary.endswith(".") for profile in PROFILES.values())
    assert policy_of("read-only").containment.network == "off"
    with pytest.raises(ValueError, match="there are read-only, ask, trusted, unattended"):
        policy_of("everything")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (bash("npm test"), "npm test is not on the list of commands that run without asking."),
        (bash("git push"), "git push can send things out of this machine or change the system."),
        (bash("$X"), "It cannot be told beforehand what this runs."),
        (bash("ls > a"), "ls writes to a file."),
        (bash("A=1 make"), "It cannot be told for sure what make does here."),
        (CallFacts("write", writes=("workspace.yaml",)), "It changes workspace.yaml, which decides what runs here."),
        (CallFacts("read", reads=(".env",)), "It reads .env, which may hold secrets."),
        (CallFacts("write", writes=("/mount/a",)), "It writes to /mount/a, outside the workspace."),
        (mcp(), "The server says nothing about whether this tool only reads."),
        (mcp(destructive=True), "The server says that this tool can change or remove things."),
        (CallFacts("image_generate"), "image_generate is not on the list of tools that run without asking."),
        (CallFacts("download_url", hosts=("example.org",)), "It connects to example.org."),
    ],
)  # fmt: skip
def test_reasons(facts: CallFacts, reason: str) -> None:
    assert decide(policy_of("ask"), facts).reason == reason


def test_a_refusal_says_whose_rule_it_is() -> None:
    policy = policy_of("ask").model_copy(update={"rules": [rule("deny", "workspace", command="make")]})
    assert decide(policy, bash("make x")).reason == "A rule of workspace.yaml forbids make x."
    assert decide(policy_of("read-only"), bash("make")).reason == "The profile “read-only” forbids make."


@pytest.mark.parametrize(
    ("facts", "offered"),
    [
        (bash("npm test -- -k a"), ["npm test"]),
        (bash("gcc a.c"), ["gcc a.c", "gcc"]),
        (bash("pytest -q"), ["pytest"]),
        (bash("python run.py"), ["python run.py"]),
        (bash("python -c 'x'"), ["=python -c 'x'"]),
        (bash("bash -c 'gcc -v'"), ["gcc"]),
        (bash("bash x.sh"), ["=bash x.sh"]),
        (bash("rm -rf build"), ["=rm -rf build"]),
        (bash("sudo make"), ["=sudo make"]),
        (bash("make && npm test"), ["=make && npm test"]),
        (bash("$X"), ["=$X"]),
        (bash("npm run build > log"), ["npm run"]),
    ],
)
def test_suggestions_for_commands(facts: CallFacts, offered: list[str]) -> None:
    assert [each.command for each in decide(policy_of("ask"), facts).suggestions] == offered


def test_suggestions_for_everything_else() -> None:
    def offered(facts: CallFacts) -> list[tuple[str, str | None, str | None, str | None]]:
        suggestions = decide(policy_of("ask"), facts).suggestions
        return [(each.tool, each.path, each.host, each.server) for each in suggestions]

    assert offered(CallFacts("edit", writes=("skills/a/SKILL.md",))) == [
        ("write", "skills/a/SKILL.md", None, None),
        ("write", "skills/a/**", None, None),
    ]
    assert offered(CallFacts("write", writes=("workspace.yaml",))) == [
        ("write", "workspace.yaml", None, None)
    ]
    assert offered(mcp()) == [("mcp__git__tag", None, None, None), ("mcp__git__*", None, None, "git")]
    host = CallFacts("download_url", hosts=("example.org",), writes=("Downloads/",))
    assert offered(host) == [("download_url", None, "example.org", None)]
    assert offered(CallFacts("odd*")) == []


def test_junk_has_a_verdict() -> None:
    junk = CallFacts("bash", command=3, reads=(None, 4), hosts=({},))  # pyright: ignore[reportArgumentType]
    assert decide(policy_of("ask"), junk).effect == "always_ask"


def test_the_parser_is_not_loaded_before_a_command_is_judged() -> None:
    program = (
        "import sys; from holaboss_runtime.permissions.decide import decide;"
        "from holaboss_runtime.permissions.profiles import policy_of;"
        "from holaboss_runtime.permissions.model import CallFacts;"
        "decide(policy_of('ask'), CallFacts('read', reads=('a',)));"
        "assert not any(name.startswith('tree_sitter') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE_S)
