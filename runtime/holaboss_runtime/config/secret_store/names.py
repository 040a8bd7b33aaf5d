"""What a stored secret may be called, and which parts of its value must never be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

from holaboss_runtime.errors import DomainError

OAUTH = "mcp-oauth"
PLACEHOLDER = "mcp"
MAX_VALUE = 64 * 1024

_NAME = re.compile(
    rf"({OAUTH}|{PLACEHOLDER}):[A-Za-z0-9][A-Za-z0-9._-]{{0,127}}:[A-Za-z0-9_][A-Za-z0-9_-]{{0,63}}"
)
_SECRET_FIELDS = frozenset(
    {"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token"}
)


def oauth_name(workspace_id: str, server: str) -> str:
    return f"{OAUTH}:{workspace_id}:{server}"


def placeholder_name(workspace_id: str, name: str) -> str:
    return f"{PLACEHOLDER}:{workspace_id}:{name}"


def workspace_of(name: str) -> str:
    return name.split(":")[1]


def check_name(name: str) -> None:
    """Raises `DomainError` `secret_name_invalid`."""
    if not _NAME.fullmatch(name):
        raise DomainError(
            "unprocessable",
            "secret_name_invalid",
            "A stored secret is called mcp:<workspace>:<NAME> or mcp-oauth:<workspace>:<server>.",
        )


def check_value(value: str) -> None:
    """Raises `DomainError` `secret_invalid`."""
    if not value or len(value) > MAX_VALUE or "\x00" in value:
        raise DomainError(
            "unprocessable", "secret_invalid", "A secret has 1 to 65,536 characters, and no NUL among them."
        )


def parts_to_hide(value: str) -> Iterator[str]:
    """The value, and what is secret inside it where it is a document: those parts appear alone elsewhere."""
    yield value
    if value.startswith("{"):
        try:
            document: object = json.loads(value)
        except (ValueError, RecursionError):
            return
        yield from _secret_leaves(document)


def _secret_leaves(document: object) -> Iterator[str]:
    if not isinstance(document, dict):
        return
    for name, value in cast("dict[str, object]", document).items():
        if isinstance(value, str) and name in _SECRET_FIELDS:
            yield value
        elif isinstance(value, dict):
            yield from _secret_leaves(cast("object", value))
