"""Logging of a server: JSON lines on stderr, with every secret this process knows taken out by value."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from holaboss_runtime.redaction import redact, worth_hiding


class JsonLines(logging.Formatter):
    """`secrets` is asked for each record, so that a key put in a minute ago is covered."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: Callable[[], frozenset[str]] = frozenset

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        secrets = worth_hiding(self.secrets())
        return json.dumps({name: redact(value, secrets) for name, value in line.items()}, ensure_ascii=False)


def start_logging() -> JsonLines:
    """Send all logging to stderr. stdout belongs to the handshake."""
    formatter = JsonLines()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("httpx", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a parent that closed our stderr must not make us write to it about it
    return formatter
