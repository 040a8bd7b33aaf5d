"""Errors as they travel: problem details (RFC 9457) with a stable `code`, and the exception a client raises.

Clients decide by `code`, never by the wording of `detail`.
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from holaboss_client.base import WireModel


class Problem(WireModel):
    """Body of every error reply, `application/problem+json`. Extra members carry context (`workspace_path`,
    …)."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    code: str = "error"
    errors: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class ProblemError(Exception):
    """A request was answered with a problem. `problem.code` is stable, `str(error)` is a sentence for
    people."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


class RuntimeUnreachableError(Exception):
    """No answer came from the runtime at all: it is stopped, restarting, or the address is wrong."""
