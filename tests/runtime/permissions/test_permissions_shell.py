"""What a shell text would run, however it is written; and what of it may run without asking."""

from __future__ import annotations

import pytest

from holaboss_runtime.permissions.decide import decide
from holaboss_runtime.permissions.model import CallFacts, PermissionPolicy, PermissionRule
from holaboss_runtime.permissions.profiles import policy_of
from holaboss_runtime.permissions.shell import MAX_TEXT, read_shell

NBSP, ZERO_WIDTH, FULLWIDTH = "\u00a0", "\u200b", "\uff0d"

RUNS = [
    "ls -la",
    "pwd && ls",
    "git status",
    "git log --oneline -5 | head -3",
    "git diff HEAD~1 -- src/a.py",
    "git --no-pager show HEAD",
    "git branch -a",
    "git remote -v",
    "/usr/bin/git status",
    "g\"i\"t sta'tus'",
    "\\git status",
    "timeout 5 git log",
    "nice -n 5 nohup ls",
    "env LANG=C ls",
    "command ls",
    "time -p ls",
    "bash -lc 'ls | wc -l'",
    "eval ls -la",
    "x=1; echo $x",
    "echo $(date +%F)",
    'for f in a b; do echo "$f"; done',
    "if [ -f a.txt ]; then cat a.txt; fi",
    "[[ -d src ]] && ls src",
    "cat a.txt | sort | uniq -c | sort -rn",
    "find . -name '*.py' -type f",
    "rg -n TODO src/app.py",
    "grep -n foo a.py b.py",
    "sed -n 1,20p a.py",
    "ls 2>/dev/null",
    "cat a 2>&1",
    "cat <<'E'\n$(rm x)\nE",
    "ls \\\n  -la",
    "ls # rm -rf .",
    "python3 --version",
    "command -v git",
    "set -euo pipefail; ls",
    "find . -name x -print | xargs ls",
    "trap 'echo done' EXIT; ls",
    "git diff --stat --no-color",
    "date -u +%s",
    "ls *.py",
    "cat <<E\nhello $name\nE",
    "cat <<'E'\nall of it: ` $( \"\nE",
    "wc -l <<< hello",
    "(cd src && ls)",
    "echo '$(rm x)'",
    "true || false",
]
"""Under `ask`, without asking."""

ASKS = [
    # what only reads, with an option that does not
    "sort -o out in",
    "sort --outp=out in",
    "sort -ro out in",
    "sort --compress-program=./x in",
    "find . -delete",
    "find . -exec rm {} \\;",
    "find . -execdir sh -c 'rm x' \\;",
    "find . -fprintf out x",
    "find . $X",
    "find . {-delete,-print}",
    "git diff --output=x",
    "git log --outpu=x",
    "git diff --ext-diff",
    "git -c core.pager=./x log",
    "git --exec-path=./x status",
    "git -C elsewhere status",
    "git --git-dir=x status",
    "git grep -O./x foo",
    "git branch new",
    "git stash",
    "git config core.pager ./x",
    "git reflog expire --all",
    "git push origin main",
    "cd evil && git status",
    "rg --pre ./x foo",
    "rg --hidden KEY",
    "rg -uu KEY",
    "grep -r KEY .",
    "diff -r a b",
    "date -s 2020-01-01",
    "date 010100002020",
    "date -f .env",
    "file -C -m x",
    "tree -o out",
    "uniq in out",
    "uniq - out",
    "uniq -- in out",
    "[ a > out ]",
    "ls a\n\\\n rm x",
    "tail -n 3 .env",
    "cat .e*",
    "cat $F",
    "cat {.env,a}",
    "cat < .env",
    "git show HEAD:.env",
    "sed -i s/a/b/ f",
    "sed -n '1e rm x' f",
    "sed 's/a/b/w out' f",
    "hostname other",
    "printf -v x y",
    "test -v 'a[$(rm x)]'",
    "[ -v 'a[$(rm x)]' ]",
    "\\[ -v 'a[$(rm x)]' ]",
    "[[ 'a[$(rm x)]' -eq 1 ]]",
    "echo $((a[1]))",
    "echo ${x@P}",
    "awk 'BEGIN{system(\"rm x\")}'",
    "env -S 'rm -rf x'",
    # what writes
    "echo x > notes",
    "echo x >> notes",
    "ls &> notes",
    "ls >| notes",
    "{ ls; } > notes",
    "bash -c 'ls' > notes",
    "exec > notes; ls",
    "ls | tee notes",
    'ls > "$F"',
    "> notes",
    "ls\n>| notes",
    "sh -c x= > notes",
    # another command beside, within or behind
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls & rm x",
    "ls | rm x",
    "ls |& rm x",
    "ls\nrm x",
    "ls;& rm x",
    "(rm x)",
    "{ rm x; }",
    "! rm x",
    "echo $(rm x)",
    "echo `rm x`",
    'echo "$(rm x)"',
    'echo "${x:-$(rm x)}"',
    "echo $((1+$(rm x)))",
    "cat <(rm x)",
    "ls > >(rm x)",
    "cat <<E\n$(rm x)\nE",
    "cat <<E\n`rm x`\nE",
    "cat <<E\n${x:-`rm x`}\nE",
    "cat <<E\na\\\\`rm x`\nE",
    "cat <<E\n$\\\n(rm x)\nE",
    'echo "$\\\n(rm x)"',
    "cat <\\\n(rm x)",
    "cat <<< `rm x`",
    'cat <<< "$(rm x)"',
    "case `rm x` in a) ls;; esac",
    "for i in `rm x`; do ls; done",
    'x="`rm x`"',
    "bash <<'E'\nrm x\nE",
    "cat <<'E' | sh\nrm x\nE",
    "x=$(rm x)",
    "a=(1 $(rm x))",
    "if rm x; then ls; fi",
    "while rm x; do ls; done",
    "until rm x; do ls; done",
    "for i in $(rm x); do ls; done",
    "case $x in a) rm x;; esac",
    "select i in a; do rm x; done",
    "f() { rm x; }; f",
    "function ls { rm x; }; ls",
    "ls() { rm x; }; ls",
    "alias ls='rm x'; ls",
    "coproc rm x",
    "trap 'rm x' EXIT",
    "export A=$(rm x)",
    # carriers
    "sudo ls",
    "sudo -u bob ls",
    "doas ls",
    "env rm x",
    "env -i -u HOME rm x",
    "timeout -k 1 5 rm x",
    "nohup rm x",
    "stdbuf -oL rm x",
    "setsid nice -n 3 rm x",
    "exec rm x",
    "command rm x",
    "builtin eval 'rm x'",
    "watch -n 1 rm x",
    "flock lock rm x",
    "busybox rm x",
    "ls | xargs rm",
    "ls -a | xargs cat",
    "xargs -I{} sh -c 'cat {}'",
    "bash -c 'rm x'",
    "bash -c \"bash -c 'rm x'\"",
    "sh -ec 'rm x'",
    "bash -o pipefail -c 'rm x'",
    'bash -c "$X"',
    "bash -ic ls",
    "bash script.sh",
    "source script.sh",
    ". script.sh",
    'eval "$X"',
    "eval 'rm' x",
    "time sudo ls",
    # another program of the same name, or another environment
    "./git status",
    "/tmp/git status",
    "~/bin/ls",
    "PATH=/tmp:$PATH ls",
    "LD_PRELOAD=./x.so ls",
    "export PATH=/tmp; ls",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "env PAGER=./x git log",
    "for PATH in /tmp; do ls; done",
    "IFS=x; ls",
    # nobody can tell
    "$X",
    "$X push",
    "${x}ls",
    "g$(echo i)t status",
    "r\\\nm x",
    "$'\\x72m' x",
    "$'rm' x",
    'echo "unclosed',
    "ls )",
    f"ls{NBSP}-la",
    f"ls{ZERO_WIDTH}",
    "ls\r\n",
    "ls\x00",
    "*",
    "{rm,x}",
    "python -c 'print(1)'",
    "ssh -o ProxyCommand='rm x' host",
    "",
    "# nothing",
]


@pytest.mark.parametrize("text", RUNS)
def test_what_only_reads_runs(text: str) -> None:
    verdict = decide(policy_of("ask"), CallFacts("bash", command=text))
    assert verdict.effect == "always_allow", verdict.reason


@pytest.mark.parametrize("text", ASKS)
def test_everything_else_asks(text: str) -> None:
    verdict = decide(policy_of("ask"), CallFacts("bash", command=text))
    assert verdict.effect == "always_ask"
    assert verdict.reason.endswith(".")


def test_there_are_many_of_them() -> None:
    assert len(RUNS) + len(ASKS) >= 150
    assert len(set(RUNS + ASKS)) == len(RUNS + ASKS)


HIDDEN_RM = [
    "rm x",
    "\\rm x",
    "r'm' x",
    '"rm" x',
    "$'rm' x",
    "$'\\x72m' x",
    "/bin/rm x",
    "./rm x",
    "r\\\nm x",
    "ls; rm x",
    "ls &\nrm x",
    "echo `rm x`",
    'echo "`rm x`"',
    "cat <(rm x)",
    "bash -c 'rm x'",
    "bash -c \"bash -c 'rm x'\"",
    "bash -lc 'ls && rm x'",
    "sh -c -- 'rm x'",
    'eval "rm x"',
    "sudo -E -u bob rm x",
    "sudo --user=bob -- rm x",
    "env -u A B=1 rm x",
    "env -S 'rm x'",
    "env -S'rm x'",
    "timeout --signal=KILL 5s rm x",
    "nice -5 rm x",
    "nohup setsid rm x",
    "ionice -c 3 rm x",
    "ls | xargs -0 -n 1 rm",
    "find . -exec rm {} +",
    "find . -name a -ok rm {} \\;",
    "f() { rm x; }; f",
    "if true; then rm x; fi",
    "case a in a) rm x;; esac",
    "bash <<E\nrm x\nE",
    "cat <<E\n$(rm x)\nE",
    "cat <<E\n`rm x`\nE",
    "trap 'rm x' EXIT",
    "watch -n 1 'rm x'",
    "flock -n lock rm x",
    "busybox rm x",
    "rm x ;& ls",
    "rm x | (",
    "X=1 rm x",
    "! rm x",
    "coproc rm x",
    "time -p rm x",
    "command -p rm x",
]


@pytest.mark.parametrize("text", HIDDEN_RM)
def test_a_rule_that_forbids_finds_its_command(text: str) -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="deny", tool="bash", command="rm")])
    assert decide(policy, CallFacts("bash", command=text)).effect == "deny"


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "git -C a push",
        "git -c a=b push x",
        "git --no-pager push",
        'g"i"t push',
        "git $X",
        "sudo git push",
    ],
)
def test_options_do_not_hide_a_subcommand(text: str) -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="deny", tool="bash", command="git push")])
    assert decide(policy, CallFacts("bash", command=text)).effect == "deny"


@pytest.mark.parametrize("text", ["git commit -m push", "echo git push", "gitk push", "git pushed"])
def test_words_that_are_not_the_subcommand_do_not_count(text: str) -> None:
    policy = PermissionPolicy(rules=[PermissionRule(effect="deny", tool="bash", command="git push")])
    assert decide(policy, CallFacts("bash", command=text)).effect == "always_allow"


def test_a_program_nobody_knows_yet_is_asked_where_programs_are_forbidden() -> None:
    facts = CallFacts("bash", command="$X push")
    forbidding = PermissionPolicy(rules=[PermissionRule(effect="deny", tool="bash", command="git push")])
    assert decide(forbidding, facts).effect == "always_ask"
    assert decide(PermissionPolicy(), facts).effect == "always_allow"


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("echo a > b", ["b"], []),
        ("echo a >> 'b c' 2>&1", ["b c"], []),
        ("ls 2> err > out", ["err", "out"], []),
        ("sort < in > out", ["out"], ["in"]),
        ("ls > /dev/null 2> /dev/stderr", [], []),
        ("echo $(ls > inner)", ["inner"], []),
        ("bash -c 'ls > inner'", ["inner"], []),
        ("echo $(<file)", [], ["file"]),
    ],
)
def test_redirections(text: str, writes: list[str], reads: list[str]) -> None:
    reading = read_shell(text)
    assert [word.text for word in reading.writes] == writes
    assert [word.text for word in reading.reads] == reads


@pytest.mark.parametrize(
    "text",
    [
        "ls " + "a" * MAX_TEXT,
        "(" * 5000,
        "a|" * 5000,
        "$(" * 5000,
        "bash -c " + "'" * 999,
        "sudo " * 100 + "ls",
        "ls " + "x " * 5000,
        "ls;" * 900,
        "\ud800ls",
        "if " * 2000,
        "[[ " * 400,
    ],
)
def test_texts_without_end_are_asked(text: str) -> None:
    reading = read_shell(text)
    assert not all(command.certain for command in reading.commands)
    assert len(reading.commands) <= 1001
    assert decide(policy_of("ask"), CallFacts("bash", command=text)).effect == "always_ask"
    assert decide(policy_of("trusted"), CallFacts("bash", command=text)).effect == "always_ask"
