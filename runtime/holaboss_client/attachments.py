"""Files that are added to a message without being in the workspace yet, as they travel."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel

PIECE_BYTES = 4 * 1024 * 1024
"""How much of a file a client sends at a time; a request body is bounded."""


class StageAttachment(RequestModel):
    """`POST /workspaces/{id}/attachments`: a file, or its first piece, with the `name` it has for the person.

    Further pieces name the `workspace_path` of the reply and the `offset` they begin at. Files of one message may share
    a `batch`.
    """

    content_base64: str
    name: str | None = Field(default=None, max_length=1000)
    batch: str | None = Field(default=None, max_length=64)
    workspace_path: str | None = None
    offset: int = Field(default=0, ge=0)


class StagedAttachment(WireModel):
    """What to send as an attachment with a message: `workspace_path`, `name`, `kind`; `size` is what is there."""

    workspace_path: str
    name: str
    kind: Literal["image", "file"]
    size: int
    batch: str


class MessageAttachment(WireModel):
    """A file that came with a message, as history tells it. `kind` is image, file or folder; `size` is in bytes, 0
    where nobody said."""

    workspace_path: str
    name: str
    kind: str = "file"
    size: int = 0
