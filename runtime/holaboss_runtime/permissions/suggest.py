"""Rules a person may want to keep when they allow a call, the narrowest first.

Whether such a rule is enough for the call is checked by whoever asks. Programs that run whatever they are told are only
ever suggested with the very text that was asked for.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from holaboss_runtime.permissions.matching import FILE_TOOLS, Aspect, Call
from holaboss_runtime.permissions.model import WHOLE_TEXT, PermissionRule
from holaboss_runtime.permissions.unwrap import SHELLS
from holaboss_runtime.permissions.words import Word, names

MAX_TEXT = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/+-]*")
_TOOL = re.compile(r"[A-Za-z0-9_.-]+")
_NEVER_BY_NAME = SHELLS | names(
    "rm rmdir unlink shred dd mkfs mv chmod chown chgrp ln sudo doas su pkexec chroot env eval exec source . find "
    "xargs ssh scp sftp curl wget nc ncat socat telnet docker podman kubectl systemctl kill pkill killall "
    "crontab at awk gawk sed tee watch expect osascript parallel strace ltrace gdb lldb script"
)
_RUNS_CODE = names("python python2 python3 perl ruby node deno bun php lua Rscript osascript tclsh awk")
_RUNS_OTHERS = names(
    "npx bunx uvx pipx npm pnpm yarn uv poetry pdm hatch rye make just task cargo go git conda mamba pixi pipenv "
    "bundle direnv nix nix-shell tox nox"
)
_RUNS_ANYTHING = names("run exec x dlx develop shell")
"""What follows these is another program, not a part of the one before."""
_OF_THE_FOLDER = names("npm pnpm yarn bun cargo go")
"""With these `run` names something of the folder."""


def is_whole_text(rule: PermissionRule) -> bool:
    """Whether it is about one shell text alone: what is left to suggest where nothing else will do."""
    return rule.command is not None and rule.command.startswith(WHOLE_TEXT)


def candidates(call: Call, asking: Sequence[Aspect]) -> Iterator[PermissionRule]:
    for aspect in asking:
        if aspect.kind == "command":
            yield from _for_command(call, aspect)
        elif aspect.kind == "path":
            yield from _for_path(call, aspect)
        elif aspect.kind == "host" and _NAME.fullmatch(aspect.value):
            yield _allow(call, host=aspect.value)
        elif aspect.kind == "server":
            yield from _for_server(call, aspect)
        elif aspect.kind == "tool" and _TOOL.fullmatch(call.facts.tool):
            yield _allow(call)
    text = (call.facts.command or "").strip()
    if asking and text and len(text) <= MAX_TEXT and text.replace("\n", "").isprintable():
        yield _allow(call, command=f"{WHOLE_TEXT}{text}")


def _allow(call: Call, **fields: str) -> PermissionRule:
    rule = {"effect": "always_allow", "source": "person", "tool": call.facts.tool}
    return PermissionRule.model_validate(rule | fields)


def _for_command(call: Call, aspect: Aspect) -> Iterator[PermissionRule]:
    command = aspect.command
    if command is None or not command.certain or not command.words or not _is_name(command.words[0]):
        return
    program, rest = command.words[0].text, command.words[1:]
    name = program.rpartition("/")[2]
    if name in _NEVER_BY_NAME:
        return
    if rest and _is_name(rest[0]) and not _runs_anything(name, rest[0].text):
        yield _allow(call, command=shlex.join((program, rest[0].text)))
    if name not in _RUNS_CODE | _RUNS_OTHERS:
        yield _allow(call, command=program)


def _runs_anything(program: str, subcommand: str) -> bool:
    runs = program in _RUNS_OTHERS and subcommand in _RUNS_ANYTHING
    return runs and not (subcommand == "run" and program in _OF_THE_FOLDER)


def _is_name(word: Word) -> bool:
    return word.plain and not word.home and _NAME.fullmatch(word.text.removeprefix("./")) is not None


def _for_path(call: Call, aspect: Aspect) -> Iterator[PermissionRule]:
    path, word = aspect.value, aspect.word
    if call.facts.tool not in FILE_TOOLS:
        if _TOOL.fullmatch(call.facts.tool):
            yield _allow(call)
        return
    if word is None or not word.plain or path == "." or set(path) & set("*?"):
        return
    tool = aspect.access or call.facts.tool
    yield _allow(call, tool=tool, path=path)
    folder = path.rpartition("/")[0]
    if folder.strip("/."):
        yield _allow(call, tool=tool, path=f"{folder}/**")


def _for_server(call: Call, aspect: Aspect) -> Iterator[PermissionRule]:
    tool = call.facts.tool
    if not _TOOL.fullmatch(tool):
        return
    yield _allow(call)
    every = f"mcp__{aspect.value}__*"
    if _TOOL.fullmatch(aspect.value) and tool.startswith(every[:-1]):
        yield _allow(call, tool=every, server=aspect.value)
