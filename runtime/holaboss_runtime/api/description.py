"""The OpenAPI description of the interface, completed with what the framework cannot know: the token, and that
every refusal is problem details.

It deliberately lists no status codes of refusals one by one: a client decides by the `code` inside.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from holaboss_client.problems import Problem

Described = dict[str, Any]

_OPEN = "/healthz"
_SCHEME = "token"
_REFUSED: Described = {
    "description": "Refused or failed; `code` says why.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_NEVER_SENT = ("HTTPValidationError", "ValidationError")
"""How the framework itself would describe invalid fields."""


def describe(app: FastAPI) -> Described:
    """The whole description. `app` has every route."""
    description = app.openapi()
    components: Described = description["components"]
    if "securitySchemes" in components:
        return description  # the application keeps it, and it was completed before
    for name in _NEVER_SENT:
        components["schemas"].pop(name, None)
    components["schemas"]["Problem"] = Problem.model_json_schema()
    components["securitySchemes"] = {_SCHEME: {"type": "http", "scheme": "bearer"}}
    description["security"] = [{_SCHEME: []}]
    for path, operations in description["paths"].items():
        for operation in operations.values():
            _complete(operation, is_open=path == _OPEN)
    return description


def _complete(operation: Described, *, is_open: bool) -> None:
    if is_open:
        operation["security"] = []
    kept = {status: reply for status, reply in operation["responses"].items() if status < "4"}
    operation["responses"] = {**kept, "default": _REFUSED}
