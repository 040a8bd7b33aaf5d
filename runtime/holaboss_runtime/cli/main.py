"""The programs `holaboss` and `openboa`: one command line under two names."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USAGE = """\
usage: {prog} agent <command> … | {prog} state-store <operation> … | {prog} --version

  agent        agents and their sessions: create, send, wake, status, events, orchestrator (see `{prog} agent --help`)
  state-store  one operation on the database, for programs
"""


def holaboss(argv: Sequence[str] | None = None) -> int:
    return _program("holaboss", sys.argv[1:] if argv is None else argv)


def openboa(argv: Sequence[str] | None = None) -> int:
    return _program("openboa", sys.argv[1:] if argv is None else argv)


def _program(prog: str, argv: Sequence[str]) -> int:
    """Ctrl-C while the modules of a command are loaded is no error either."""
    try:
        return run(prog, argv)
    except KeyboardInterrupt:
        return 130


def run(prog: str, argv: Sequence[str]) -> int:
    """The exit status; 2 for a command line that makes no sense."""
    words = list(argv)
    match words:
        case ["agent", *rest]:
            from holaboss_runtime.cli.agent.main import run as agent

            return agent(rest, prog)
        case ["state-store", *rest]:
            from holaboss_runtime.cli.state_store import main as state_store

            return state_store(rest)
        case ["--root", root, *rest] if rest:
            return run(prog, _with_root(rest, f"--root={root}"))
        case [flag, *rest] if flag.startswith("--root=") and rest:
            return run(prog, _with_root(rest, flag))
        case ["--version" | "-V"]:
            from holaboss_client import PRODUCT_VERSION

            print(f"{prog} {PRODUCT_VERSION}")
            return 0
        case ["--help" | "-h" | "help", *_]:
            print(USAGE.format(prog=prog), end="")
            return 0
        case _:
            print(USAGE.format(prog=prog), end="", file=sys.stderr)
            return 2


def _with_root(words: list[str], flag: str) -> list[str]:
    """A flag in front of the command counts like one behind it."""
    return [words[0], flag, *words[1:]]
