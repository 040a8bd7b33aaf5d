"""The base of every wire model, and the two values every record carries: an id and a time."""

from __future__ import annotations

import os
import time
import uuid
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """Immutable; unknown fields are ignored so that an older client survives a newer runtime."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True, protected_namespaces=())


class RequestModel(BaseModel):
    """A request body; unknown fields are refused so that a misspelt one is noticed (422)."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, protected_namespaces=())


def new_id() -> str:
    """A UUIDv7 (RFC 9562): sorts by creation time, which keeps B-tree inserts at the right edge."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=value))


def utc_now() -> str:
    """Now, as ISO-8601 in UTC with milliseconds and a `Z`: the only time format on the wire and in the
    database."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
