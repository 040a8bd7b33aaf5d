"""Runs one command of `agent …`: finds the place, opens the desk, does the work, writes the files, says the answer."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from holaboss_runtime.cli.agent.answer import FAILED, STOPPED, Answer, give, plain, refuse, speak_any_encoding
from holaboss_runtime.cli.agent.parser import parse
from holaboss_runtime.cli.agent.table import Command
from holaboss_runtime.cli.place import Place, find_place
from holaboss_runtime.errors import DomainError
from holaboss_runtime.redaction import redact, worth_hiding

log = logging.getLogger(__name__)

Work = Callable[..., Awaitable[Answer]]


def run(argv: Sequence[str], prog: str) -> int:
    """The exit status."""
    speak_any_encoding()
    try:
        args = parse(prog, argv)
    except SystemExit as end:
        return int(end.code or 0)
    args.json = as_json = bool(getattr(args, "json", False))
    args.root = root = getattr(args, "root", None)
    args.program = [prog, "agent"] if root is None else [prog, "agent", "--root", root]
    warnings = _warn_on_stderr()
    try:
        answer = asyncio.run(_carry_out(args, warnings))
    except DomainError as error:
        return refuse(error, as_json=as_json)
    except OSError as error:
        return refuse(_unusable(error), as_json=as_json)
    except KeyboardInterrupt:
        return STOPPED
    except Exception:  # the boundary of the process: a defect is neither a refusal nor a success
        log.exception("This command met an unexpected error.")
        return FAILED
    return give(answer, as_json=as_json)


async def _carry_out(args: Namespace, warnings: _Warnings) -> Answer:
    command: Command = args.command
    place = find_place(args.root, os.environ, Path.cwd())
    module, _, name = command.work.partition(":")
    if not place.exists and not command.makes:
        return _nothing_here(command, place)
    work: Work = getattr(importlib.import_module(f"holaboss_runtime.cli.agent.{module}"), name)
    if command.needs_no_database:
        return await work(place, args)
    from holaboss_runtime.cli.agent.desk import open_desk

    async with open_desk(place, imports=not command.imports) as desk:
        warnings.secrets = desk.services.config.live_secrets
        return await work(desk, args)


def _nothing_here(command: Command, place: Place) -> Answer:
    if command.empty is not None:
        return Answer([command.empty], {"items": [], "count": 0})
    raise DomainError(
        "not_found",
        "nothing_stored",
        f"Nothing is stored under {place.agent_root} yet. Start with `agent session create`, or name another folder"
        " with --root.",
    )


def _unusable(error: OSError) -> DomainError:
    """Permissions, a full disk, a folder where a file belongs: nothing a traceback would explain better."""
    where = "A file or folder" if error.filename is None else str(error.filename)
    return DomainError(
        "unavailable",
        "root_not_writable",
        f"{where} cannot be used ({error.strerror or error}). Check what is there, its permissions and the space on"
        " the disk.",
    )


class _Warnings(logging.Formatter):
    """Plain sentences on stderr, without any secret this process knows."""

    def __init__(self) -> None:
        super().__init__("%(message)s")
        self.secrets: Callable[[], frozenset[str]] = frozenset

    def format(self, record: logging.LogRecord) -> str:
        return plain(redact(super().format(record), worth_hiding(self.secrets())))


def _warn_on_stderr() -> _Warnings:
    formatter = _Warnings()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    return formatter
