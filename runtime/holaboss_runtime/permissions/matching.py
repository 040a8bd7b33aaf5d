"""What one call comes down to, and whether a rule fits a part of it.

A call is a set of aspects: each simple command, each path, each host, the server of its tool; a call about none of
these is one aspect, its tool. A `soft` aspect is only there for rules that name something of its kind: nobody has to
allow it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from holaboss_runtime.permissions.model import ADDING, READING, SENDING, WHOLE_TEXT, CallFacts, PermissionRule
from holaboss_runtime.permissions.paths import fits, fits_widely, may_become, tidy
from holaboss_runtime.permissions.programs import (
    GIT_FREE,
    named_files,
    names_subcommand,
    only_reads,
    sends_or_changes_the_system,
)
from holaboss_runtime.permissions.shell import ShellReading, SimpleCommand, read_shell
from holaboss_runtime.permissions.unwrap import program_of
from holaboss_runtime.permissions.words import Word, plain_word

Kind = Literal["command", "path", "host", "server", "tool"]
MAX_ASPECTS = 1000
_FIELDS: tuple[Kind, ...] = ("command", "path", "host", "server")
FILE_TOOLS = frozenset({"read", "write", "edit", "bash"})


class Fit(IntEnum):
    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Aspect:
    kind: Kind
    value: str = ""
    soft: bool = False
    command: SimpleCommand | None = None
    word: Word | None = None
    access: Literal["read", "write"] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    facts: CallFacts
    aspects: tuple[Aspect, ...]
    moves: tuple[str, ...] = ()
    """Folders a shell text changes to."""


def call_of(facts: CallFacts) -> Call:
    """Facts may be junk: they come from arguments of a model. What is not text is taken as the text of it."""
    facts = _texts(facts)
    aspects = [
        *_paths(map(plain_word, facts.reads), "read"),
        *_paths(map(plain_word, facts.writes), "write"),
        *(Aspect("host", host) for host in facts.hosts),
    ]
    if facts.server is not None:
        aspects.append(Aspect("server", facts.server))
    moves: tuple[str, ...] = ()
    if facts.command is not None:
        reading = read_shell(facts.command)
        moves = tuple(word.text for word in reading.moves)
        aspects += _of_shell(reading)
    if not any(not aspect.soft for aspect in aspects):
        aspects.append(Aspect("tool", facts.tool))
    return Call(facts, tuple(aspects[:MAX_ASPECTS]), moves)


def _texts(facts: CallFacts) -> CallFacts:
    return CallFacts(
        tool=str(facts.tool),
        command=None if facts.command is None else str(facts.command),
        reads=tuple(map(str, facts.reads)),
        writes=tuple(map(str, facts.writes)),
        hosts=tuple(map(str, facts.hosts)),
        server=None if facts.server is None else str(facts.server),
        read_only=facts.read_only,
        destructive=facts.destructive,
    )


def _of_shell(reading: ShellReading) -> Iterable[Aspect]:
    if len(reading.commands) >= MAX_ASPECTS // 2:
        yield Aspect("command", command=SimpleCommand((), certain=False))
    for command in reading.commands:
        yield Aspect("command", command.text, soft=command.carrier, command=command)
    yield from _paths(reading.writes, "write")
    yield from _paths(reading.reads, "read", soft=True)
    for command in reading.commands:
        reads, writes = named_files(command)
        yield from _paths(reads, "read", soft=True)
        yield from _paths(writes, "write", soft=True)


def _paths(
    words: Iterable[Word], access: Literal["read", "write"], *, soft: bool = False
) -> Iterable[Aspect]:
    return (Aspect("path", tidy(word.text), soft=soft, word=word, access=access) for word in words)


def fit(rule: PermissionRule, aspect: Aspect, call: Call) -> Fit:
    """Whether a rule speaks about this aspect. `MAYBE` only for rules that forbid or ask."""
    if rule.command is not None and rule.command.startswith(WHOLE_TEXT):
        return _whole_text(rule, call)
    if not _tool_fits(rule, aspect, call):
        return Fit.NO
    given: list[Kind] = [kind for kind in _FIELDS if getattr(rule, kind) is not None]
    if not given:
        return Fit.NO if aspect.soft else Fit.YES
    if aspect.kind not in given:
        return Fit.NO
    others = [_elsewhere(rule, kind, call) for kind in given if kind != aspect.kind]
    return Fit(min([_field(rule, aspect, call), *others]))


def _whole_text(rule: PermissionRule, call: Call) -> Fit:
    others = rule.path is not None or rule.host is not None or rule.server is not None
    text = call.facts.command
    same = text is not None and rule.command is not None and text.strip() == rule.command[1:].strip()
    return Fit.YES if same and not others and fnmatchcase(call.facts.tool, rule.tool) else Fit.NO


def _elsewhere(rule: PermissionRule, kind: Kind, call: Call) -> Fit:
    """Of a rule that names several things: one that allows must fit all of the call's, any other one of them."""
    found = [_field(rule, aspect, call) for aspect in call.aspects if aspect.kind == kind]
    if not found:
        return Fit.NO
    return min(found) if rule.effect == "always_allow" else max(found)


def _tool_fits(rule: PermissionRule, aspect: Aspect, call: Call) -> bool:
    facts = call.facts
    if rule.tool in (READING, ADDING):
        reads = facts.read_only is True and facts.destructive is not True
        return reads or (rule.tool == ADDING and facts.destructive is False)
    if fnmatchcase(facts.tool, rule.tool):
        return True
    shared = aspect.kind == "path" and rule.path is not None and rule.tool == aspect.access
    return shared and (rule.effect != "always_allow" or facts.tool in FILE_TOOLS)


def _field(rule: PermissionRule, aspect: Aspect, call: Call) -> Fit:
    allows = rule.effect == "always_allow"
    if aspect.kind == "command" and aspect.command is not None:
        return _command_fits(rule.command or "", aspect.command, call, allows=allows)
    if aspect.kind == "path":
        return _path_fits(rule.path or "", aspect, call, allows=allows)
    if aspect.kind == "host":
        host, pattern = aspect.value.rstrip(".").casefold(), (rule.host or "").rstrip(".").casefold()
        return Fit.YES if fnmatchcase(host, pattern) else Fit.NO
    return Fit.YES if aspect.kind == "server" and fnmatchcase(aspect.value, rule.server or "") else Fit.NO


# --- commands ---


@lru_cache(maxsize=512)
def _words_of(pattern: str) -> tuple[str, ...]:
    """The words of a rule; a `*` at the end says what holds anyway."""
    try:
        words = shlex.split(pattern)
    except ValueError:
        words = pattern.split()
    return tuple(words[:-1] if len(words) > 1 and words[-1] == "*" else words)


def _command_fits(pattern: str, command: SimpleCommand, call: Call, *, allows: bool) -> Fit:
    if allows:
        return Fit.YES if _allows(pattern, command, call) else Fit.NO
    if not program_of(command.words):
        return Fit.MAYBE
    if pattern == SENDING:
        return Fit.YES if sends_or_changes_the_system(command) else Fit.NO
    if pattern == READING:
        return Fit.YES if only_reads(command) else Fit.NO
    words = _words_of(pattern)
    if not words or program_of(command.words) != words[0].rpartition("/")[2]:
        return Fit.NO
    return Fit.YES if names_subcommand(command.words[1:], words[1:]) else Fit.NO


def _allows(pattern: str, command: SimpleCommand, call: Call) -> bool:
    if not command.certain:
        return False
    if pattern == READING:  # what git reads of a folder may tell it to run something
        return only_reads(command) and not (call.moves and program_of(command.words) == "git")
    words = _words_of(pattern)
    given = command.words
    if given and given[0].text == "git":
        rest = list(given[1:])
        while rest and rest[0].text in GIT_FREE:
            rest.pop(0)
        given = (given[0], *rest)
    begins = given[: len(words)]
    return bool(words) and all(word.plain for word in begins) and tuple(word.text for word in begins) == words


# --- paths ---


def _path_fits(pattern: str, aspect: Aspect, call: Call, *, allows: bool) -> Fit:
    word = aspect.word
    if word is None:
        return Fit.NO
    clear = word.plain and not word.home
    if allows:
        return Fit.YES if clear and not call.moves and fits(pattern, aspect.value) else Fit.NO
    by_shell = call.facts.command is not None
    whole = aspect.access == "write" or call.facts.tool == "grep"
    lost = by_shell and (word.home or aspect.value.startswith(("/", "..")) or bool(call.moves))
    paths = [aspect.value, *(f"{move}/{aspect.value}" for move in call.moves)]
    if any(fits_widely(pattern, path, anywhere=lost, whole=whole) for path in paths):
        return Fit.YES
    if word.holes or word.brace:
        return Fit.NO if aspect.soft else Fit.MAYBE
    return Fit.MAYBE if word.glob and any(may_become(path, pattern) for path in paths) else Fit.NO
