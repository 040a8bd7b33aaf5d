"""The one exception that crosses rooms: something a caller asked for cannot be done, and why.

Rooms raise it (or a subclass they name); `api/` turns `kind` into a status code, `cli/` into an exit code. `code` is
stable and part of the contract; `detail` is a sentence that tells a person what to do next.
"""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal["invalid", "not_found", "conflict", "unprocessable", "forbidden", "too_large", "unavailable"]


class DomainError(Exception):
    def __init__(self, kind: Kind, code: str, detail: str, /, **context: Any) -> None:  # noqa: ANN401
        super().__init__(detail)
        self.kind: Kind = kind
        self.code = code
        self.detail = detail
        self.context = context


def not_found(noun: str, identifier: str) -> DomainError:
    """`not_found("workspace", id)` has the code `workspace_not_found`."""
    return DomainError(
        "not_found", f"{noun}_not_found", f"There is no {noun} with the id {identifier[:200]!r}."
    )
