"""What a parent and an embedded runtime say to each other over the pipes at start (protocol 1.0).

The parent writes one `Hello` line to stdin and keeps the pipe open; end of file means stop. The runtime
writes one `Ready` or `StartFailure` line to stdout. Nothing else ever goes to stdout.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel


class Hello(WireModel):
    """First stdin line of an embedded runtime. `secrets` maps provider id to key and may be empty."""

    token: str
    secrets: dict[str, str] = Field(default_factory=dict[str, str])


class Ready(WireModel):
    """First stdout line of a runtime that listens."""

    event: Literal["ready"] = "ready"
    url: str
    pid: int
    instance_id: str
    protocol: str
    version: str


class StartFailure(WireModel):
    """First stdout line of a runtime that could not start; it then exits with status 2.

    Codes: `settings_invalid`, `root_locked`, `root_not_writable`, `port_in_use`, `database_newer`,
    `database_foreign`, `database_damaged`, `handshake_invalid`, `internal`.
    """

    event: Literal["failed"] = "failed"
    code: str
    message: str


class Version(WireModel):
    """`GET /api/v1/version`."""

    product: str = "holaboss-runtime"
    version: str
    protocol: str
    schema_version: int
    instance_id: str


class Poke(RequestModel):
    """`POST /lifecycle/poke`: with a `session_id` the answer comes once that session was woken and its run is over,
    with an `agent_id` once nothing of that agent could run right now."""

    session_id: str | None = None
    agent_id: str | None = None
    reason: str = Field(default="manual", min_length=1, max_length=200)


class Poked(WireModel):
    """`wake_id` is what ran; otherwise `skipped` says why nothing did."""

    ok: bool = True
    wake_id: str | None = None
    skipped: str | None = None
