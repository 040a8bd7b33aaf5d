"""Programs that run other programs: `sudo`, `env`, `timeout`, `xargs`, `bash -c`. From the words of one command to the
commands that are really run by it.

Options a carrier is not known to have make what follows uncertain; it is named all the same, for rules that forbid.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from holaboss_runtime.permissions.words import UNKNOWN_WORDS, Word, names, plain_word

MAX_STEPS = 12

SYSTEM_FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/")
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "rbash"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the chain. `scripts` are shell texts it runs, `assigns` the variables it sets for the next one."""

    words: tuple[Word, ...]
    certain: bool = True
    carrier: bool = False
    scripts: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Carrier:
    """`valued` options take a value, `flags` none; both name short ones by letter. `operands` come before the command.

    A `privileged` one is judged on its own as well: it makes more of the command than it is. One that `appends` gives
    the command more words, one that `joins` makes a shell text of it. One that `rewrites` may change the words.
    """

    valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    privileged: bool = False
    appends: bool = False
    joins: bool = False
    rewrites: bool = False


def _carrier(valued: str = "", flags: str = "", operands: int = 0, **more: bool) -> _Carrier:
    return _Carrier(names(valued), names(flags), operands, **more)


_CARRIERS = {
    "sudo": _carrier(
        "u g h p C D R r t T U user group host prompt close-from chdir chroot role type",
        "A b E e H K k n P S s i v askpass background preserve-env set-home non-interactive stdin login shell",
        assigns=True,
        privileged=True,
    ),
    "doas": _carrier("u C a", "n s L", assigns=True, privileged=True),
    "pkexec": _carrier("user", "disable-internal-agent keep-cwd", privileged=True),
    "chroot": _carrier("userspec groups", "skip-chdir", 1, privileged=True),
    "env": _carrier("u unset C chdir", "i 0 v null debug ignore-environment", assigns=True),
    "timeout": _carrier("s k signal kill-after", "f v foreground preserve-status verbose", 1),
    "gtimeout": _carrier("s k signal kill-after", "f v foreground preserve-status verbose", 1),
    "nice": _carrier("n adjustment", "0 1 2 3 4 5 6 7 8 9"),
    "ionice": _carrier("c n class classdata", "t ignore"),
    "chrt": _carrier("T P D", "a b d f i o r R v", 1),
    "taskset": _carrier("", "a c", 1),
    "nohup": _carrier(),
    "setsid": _carrier("", "c f w ctty fork wait"),
    "stdbuf": _carrier("i o e input output error"),
    "time": _carrier("f format", "p v a portability verbose append"),
    "command": _carrier("", "p"),
    "builtin": _carrier(),
    "exec": _carrier("a", "c l"),
    "coproc": _carrier(),
    "caffeinate": _carrier("t w", "d i m s u"),
    "unbuffer": _carrier("", "p"),
    "chronic": _carrier("", "v e"),
    "busybox": _carrier(),
    "toybox": _carrier(),
    "xargs": _carrier(
        "I i L l n P s d E a delimiter max-args max-procs max-lines replace max-chars arg-file eof",
        "0 r t x p o null no-run-if-empty verbose exit interactive open-tty",
        appends=True,
        rewrites=True,
    ),
    "watch": _carrier(
        "n interval q equexit", "b c d e g t p w x beep color errexit exec no-title", joins=True
    ),
    "flock": _carrier(
        "w E wait timeout conflict-exit-code", "s x e n u o F nonblock exclusive shared close", 1
    ),
}
_SHELL_VALUED = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_REWRITES = ("-I", "-i", "--replace")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def unwrap(words: Sequence[Word]) -> list[Step]:
    """The command itself first, then what it runs, and so on. Bounded; the rest of a longer chain is not certain."""
    steps: list[Step] = []
    pending, certain = tuple(words), True
    while pending and len(steps) < MAX_STEPS:
        pending = _without_path(pending)
        step, pending = _one(pending)
        certain = certain and step.certain
        steps.append(Step(step.words, certain, step.carrier and certain, step.scripts, step.assigns))
    if pending:
        steps.append(Step(pending, certain=False))
    return steps


def program_of(words: Sequence[Word]) -> str:
    """The name of the program, without folders; empty where it is not known before it runs."""
    return words[0].text.rpartition("/")[2] if words and words[0].plain else ""


def _without_path(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A program of the system by its name alone. Any other path stays: it is another program."""
    first = words[0]
    for folder in SYSTEM_FOLDERS:
        name = first.text.removeprefix(folder)
        if first.plain and name != first.text and name and "/" not in name:
            return (plain_word(name), *words[1:])
    return words


def _one(words: tuple[Word, ...]) -> tuple[Step, tuple[Word, ...]]:
    """The first step of the chain, and the command it carries."""
    name = program_of(words)
    if not name:
        return Step(words, certain=False), ()
    known = words[0].text == name
    if name in SHELLS:
        return _shell(words), ()
    if name in ("eval", "trap", "find", "env") and (special := _special(name, words)) is not None:
        return special
    carrier = _CARRIERS.get(name)
    if carrier is None or (name == "command" and words[1:] and words[1].text in ("-v", "-V")):
        return Step(words), ()
    return _carried(words, carrier, known=known)


def _carried(words: tuple[Word, ...], carrier: _Carrier, *, known: bool) -> tuple[Step, tuple[Word, ...]]:
    at, sure = _past_options(words, carrier)
    options = words[1:at]
    sure = sure and known and all(word.plain for word in options)
    sure = sure and not (carrier.rewrites and any(word.text.startswith(_REWRITES) for word in options))
    assigns: list[str] = []
    while carrier.assigns and at < len(words) and (match := _ASSIGNMENT.match(words[at].text)):
        assigns.append(match[1])
        at += 1
    at += carrier.operands
    inner = words[at:]
    if not inner:
        return Step(words, certain=sure), ()
    here = Step(words, sure, carrier=not carrier.privileged, assigns=tuple(assigns))
    if words[0].text == "flock" and inner[0].text in ("-c", "--command"):
        return _with_script(here, inner[1:2]), ()
    if carrier.joins:
        return _with_script(here, inner), ()
    return here, (*inner, UNKNOWN_WORDS) if carrier.appends else inner


def _past_options(words: Sequence[Word], carrier: _Carrier) -> tuple[int, bool]:
    """Where the options end, and whether all of them are known."""
    at, sure = 1, True
    while at < len(words) and (text := words[at].text).startswith("-") and text != "-":
        at += 1
        if text == "--":
            break
        takes, known = _option(text, carrier)
        sure = sure and known
        at += takes
    return min(at, len(words)), sure


def _option(text: str, carrier: _Carrier) -> tuple[int, bool]:
    """How many words more an option takes, and whether it is known."""
    if text.startswith("--"):
        name, has_value, _ = text[2:].partition("=")
        if name in carrier.valued:
            return (0 if has_value else 1), True
        return 0, name in carrier.flags
    for place, letter in enumerate(text[1:], 2):
        if letter in carrier.valued:
            return (1 if place == len(text) else 0), True
        if letter not in carrier.flags:
            return 0, False
    return 0, True


def _with_script(step: Step, words: Sequence[Word]) -> Step:
    """The step with the text these words make. One that is only known when it runs is not certain."""
    if not words:
        return Step(step.words, certain=False)
    sure = step.certain and all(word.plain for word in words)
    script = " ".join(word.text for word in words)
    return Step(step.words, sure, step.carrier, (script,), step.assigns)


def _shell(words: tuple[Word, ...]) -> Step:
    at, runs_text, sure = 1, False, words[0].text in SHELLS
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 2 if text in _SHELL_VALUED else 1
        if text == "--":
            break
        if not text.startswith("--"):
            runs_text = runs_text or "c" in text
            sure = sure and "i" not in text  # start-up files may change what names mean
            at += 1 if text not in _SHELL_VALUED and text[-1] in "oO" else 0
        else:
            sure = sure and text in ("--norc", "--noprofile", "--posix", "--login")
    if not runs_text:
        return Step(words, sure)
    return _with_script(Step(words, sure, carrier=True), words[at : at + 1])


def _special(name: str, words: tuple[Word, ...]) -> tuple[Step, tuple[Word, ...]] | None:
    if name == "eval":
        rest = words[2:] if words[1:] and words[1].text == "--" else words[1:]
        return (_with_script(Step(words, carrier=True), rest), ()) if rest else (Step(words), ())
    if name == "trap":
        rest = [word for word in words[1:] if word.text != "--"]
        if len(rest) < 2 or rest[0].text.startswith("-"):
            return Step(words), ()
        return _with_script(Step(words, carrier=True), rest[:1]), ()
    return _find(words) if name == "find" else _env_split(words)


def _find(words: tuple[Word, ...]) -> tuple[Step, tuple[Word, ...]] | None:
    """`find` is judged on its own; the command it runs for each file gets names nobody knows yet."""
    scripts: list[str] = []
    for at, word in enumerate(words):
        if word.text in _FIND_RUNS:
            run = [each.text for each in words[at + 1 :]]
            ends = [place for place, text in enumerate(run) if text in (";", "+")]
            scripts.append(_quoted(run[: ends[0] if ends else len(run)]))
    return (Step(words, scripts=tuple(scripts)), ()) if scripts else None


def _quoted(words: Sequence[str]) -> str:
    return " ".join('"$_"' if word == "{}" else shlex.quote(word) for word in words)


def _env_split(words: tuple[Word, ...]) -> tuple[Step, tuple[Word, ...]] | None:
    """`env -S 'one string of words'`."""
    for at, word in enumerate(words[1:], 1):
        if not word.text.startswith("-") and "=" not in word.text:
            return None
        name, _, value = word.text.partition("=")
        if name == "--split-string" and value:
            return _split(words, value, words[at + 1 :])
        if word.text in ("-S", "--split-string", "-vS") and at + 1 < len(words):
            return _split(words, words[at + 1].text, words[at + 2 :])
        if word.text.startswith("-S") and len(word.text) > 2:
            return _split(words, word.text[2:], words[at + 1 :])
    return None


def _split(words: tuple[Word, ...], text: str, rest: Sequence[Word]) -> tuple[Step, tuple[Word, ...]]:
    try:
        said = shlex.split(text)
    except ValueError:
        said = text.split()
    step = Step(words, certain=False, carrier=True)
    return step, (plain_word("env"), *(plain_word(each) for each in said), *rest)
