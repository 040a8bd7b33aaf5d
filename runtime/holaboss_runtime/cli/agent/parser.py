"""The command line of `agent …`, read by the table of its commands.

What may also be given without a flag (`agent wake <session>`) is taken from the words that are left over.
"""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any

from holaboss_runtime.cli.agent.answer import EXIT_CODES
from holaboss_runtime.cli.agent.table import COMMANDS, GROUPS, Command


def build(prog: str) -> ArgumentParser:
    """The parser of `<prog> agent`. What it parses holds `command`, a `Command`, and `leaf`, the parser of it."""
    top = _parser(
        prog=f"{prog} agent", description="Agents and their sessions.", example=None, prog_word=prog
    )
    subs = top.add_subparsers(metavar="command", required=True)
    groups: dict[tuple[str, ...], Any] = {(): subs}
    for path, about in GROUPS.items():
        group = subs.add_parser(path[0], help=about, **_words(about, None, prog))
        groups[path] = group.add_subparsers(metavar="command", required=True)
    for command in COMMANDS:
        leaf = groups[command.path[:-1]].add_parser(
            command.path[-1],
            aliases=command.aliases,
            help=command.about,
            **_words(command.about, command.example, prog),
        )
        _global_flags(leaf)
        for flag in command.flags:
            leaf.add_argument(*flag.names, **flag.options)
        leaf.set_defaults(command=command, leaf=leaf)
    return top


def parse(prog: str, argv: Sequence[str]) -> Namespace:
    """Raises `SystemExit` 2 for a command line that makes no sense, and 0 after `--help`."""
    rest = list(argv)
    _check_words(prog, rest)
    tail: list[str] = []
    if "--" in rest:  # everything behind it is a word, whatever it looks like
        place = rest.index("--")
        rest, tail = rest[:place], rest[place + 1 :]
    args, extra = build(prog).parse_known_args(rest)
    leaf: ArgumentParser = args.leaf
    unknown = [word for word in extra if word.startswith("-") and " " not in word and word != "-"]
    if unknown:
        leaf.error(f"unrecognized arguments: {' '.join(unknown)}")
    _place_words(args, [*extra, *tail])
    return args


def _check_words(prog: str, words: Sequence[str]) -> None:
    """Nothing but UTF-8 can be stored, and no file can be named in a database otherwise."""
    for place, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            print(f"{prog} agent: error: word {place} is not UTF-8 text: {word[:80]!a}", file=sys.stderr)
            raise SystemExit(2) from None


def _place_words(args: Namespace, words: list[str]) -> None:
    command: Command = args.command
    for name in command.words:
        if words and getattr(args, name) is None:
            setattr(args, name, words.pop(0))
    leaf: ArgumentParser = args.leaf
    if words:
        leaf.error(f"unrecognized arguments: {' '.join(words)}")
    missing = [name for name in command.required if getattr(args, name) is None]
    if missing:
        leaf.error(f"the following arguments are required: {', '.join(f'--{name}' for name in missing)}")


def _parser(*, prog: str, description: str, example: str | None, prog_word: str) -> ArgumentParser:
    parser = ArgumentParser(prog=prog, **_words(description, example, prog_word))
    _global_flags(parser)
    return parser


def _words(description: str, example: str | None, prog: str) -> dict[str, Any]:
    shown = f"Example:\n  {prog} {example}\n\n" if example else ""
    return {
        "description": description,
        "epilog": f"{shown}{EXIT_CODES}",
        "formatter_class": RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def _global_flags(parser: ArgumentParser) -> None:
    """On every level, so that they may stand anywhere; a level that is not given one leaves it as it is."""
    parser.add_argument("--root", default=SUPPRESS, metavar="FOLDER", help="where everything is kept")
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="one JSON document on stdout")
