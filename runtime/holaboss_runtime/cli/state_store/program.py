"""The command itself: one operation, one JSON value on stdout; what goes wrong is JSON on stderr and exit status 1."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence

from holaboss_runtime.cli.remote import Remote
from holaboss_runtime.cli.state_store import apps, automation, outputs, queue, sessions, workspaces
from holaboss_runtime.cli.state_store.context import Context, Options, read_options
from holaboss_runtime.cli.state_store.operation import Operation, Reply
from holaboss_runtime.cli.state_store.request import Request
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database, DatabaseError

OPERATIONS: dict[str, Operation] = {
    **workspaces.OPERATIONS,
    **queue.OPERATIONS,
    **sessions.OPERATIONS,
    **outputs.OPERATIONS,
    **automation.OPERATIONS,
    **apps.OPERATIONS,
}
_JOINED = "--request-base64="
USAGE = "usage: holaboss-state-store <operation> --request-base64 <JSON in base64>"


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0, or 1 with `{"error": …, "code": …}` on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--help"], ["-h"]):
        print(USAGE, *sorted(OPERATIONS), sep="\n  ")
        return 0
    try:
        reply = _answer(*_read(arguments))
    except DomainError as error:
        return _refuse(error.detail, error.code)
    except DatabaseError as error:
        return _refuse(str(error), error.code)
    except Exception as error:  # noqa: BLE001 (whoever called is a program: it gets JSON whatever happened)
        return _refuse(f"{type(error).__name__}: {error}", "internal")
    print(json.dumps(reply, ensure_ascii=False))
    return 0


def _read(arguments: Sequence[str]) -> tuple[Operation, Request]:
    """Raises `DomainError` (`usage_invalid`, `operation_unknown`, `request_invalid`)."""
    match arguments:
        case [name, "--request-base64", text] if not name.startswith("-"):
            pass
        case [name, joined] if joined.startswith(_JOINED) and not name.startswith("-"):
            text = joined.removeprefix(_JOINED)
        case _:
            raise DomainError(
                "invalid", "usage_invalid", f"{USAGE}. Operations: {', '.join(sorted(OPERATIONS))}."
            )
    operation = OPERATIONS.get(name)
    if operation is None:
        raise DomainError(
            "invalid",
            "operation_unknown",
            f"There is no operation {name!r}. Use one of: {', '.join(sorted(OPERATIONS))}.",
        )
    return operation, Request.decode(text)


def _answer(operation: Operation, request: Request) -> Reply:
    options = read_options(request.part("options"), os.environ)
    _prepare(options)
    remote = Remote(options.place)
    beside_server = remote.find() is not None
    database = Database.open(options.place.database_path, beside_others=beside_server)
    try:
        reply = operation.run(Context(database, options), request)
    finally:
        database.close()
    if operation.asks_for_work and beside_server:
        asyncio.run(remote.tell())
    return reply


def _prepare(options: Options) -> None:
    """A folder for the database. Raises `DomainError` `root_not_writable`."""
    folder = options.place.database_path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DomainError(
            "unavailable",
            "root_not_writable",
            f"{folder} cannot be used ({error.strerror}). Name another one.",
        ) from error


def _refuse(sentence: str, code: str) -> int:
    print(json.dumps({"error": sentence, "code": code}, ensure_ascii=False), file=sys.stderr)
    return 1
