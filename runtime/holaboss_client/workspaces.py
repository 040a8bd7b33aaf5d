"""Workspaces and the files inside them, as they travel."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from holaboss_client.base import RequestModel, WireModel

MAX_MESSAGE = 4_000


class Workspace(WireModel):
    """`folder_state` is `healthy` or `missing`; `status` is `provisioning`, `active`, `error` or
    `deleted`. A workspace of `kind` agent stands for an agent of its own."""

    id: str
    name: str
    kind: str = "workspace"
    status: str
    harness: str
    error_message: str | None = None
    onboarding_status: str = "not_required"
    onboarding_session_id: str | None = None
    onboarding_completed_at: str | None = None
    onboarding_completion_summary: str | None = None
    onboarding_requested_at: str | None = None
    onboarding_requested_by: str | None = None
    created_at: str
    updated_at: str
    deleted_at_utc: str | None = None
    icon: str | None = None
    icon_color: str | None = None
    workspace_path: str
    folder_state: str = "healthy"


class WorkspaceReply(WireModel):
    workspace: Workspace


class WorkspaceList(WireModel):
    items: list[Workspace]
    total: int
    limit: int
    offset: int


class CreateWorkspace(RequestModel):
    """`POST /workspaces`. `workspace_path` must be absolute and empty or absent; without it the runtime
    picks one."""

    name: str
    harness: str = "native"
    workspace_id: str | None = None
    status: str = "active"
    workspace_path: str | None = None
    error_message: str | None = Field(default=None, max_length=MAX_MESSAGE)
    onboarding_status: str = Field(default="not_required", max_length=64)


class PatchWorkspace(RequestModel):
    """`PATCH /workspaces/{id}`: null or absent leaves a field as it is."""

    name: str | None = None
    status: str | None = None
    error_message: str | None = Field(default=None, max_length=MAX_MESSAGE)
    icon: str | None = Field(default=None, max_length=100)
    icon_color: str | None = Field(default=None, max_length=64)
    workspace_path: str | None = None


class FileEntry(WireModel):
    """One row of a folder listing. `path` is relative to the workspace, with forward slashes."""

    name: str
    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    modified_at: str


class FolderListing(WireModel):
    """`GET /workspaces/{id}/folders?path=`. Folders first, then files, each by name; hidden state is left
    out."""

    path: str
    entries: list[FileEntry]
    truncated: bool = False


class FileContent(WireModel):
    """`GET /workspaces/{id}/files/{path}`. `sha256` is the hex digest of the raw bytes and goes back with a
    PUT."""

    path: str
    content: str
    encoding: Literal["utf-8", "base64"]
    size: int
    sha256: str
    executable: bool = False


class PutFile(RequestModel):
    """`PUT /workspaces/{id}/files/{path}`.

    With `expected_sha256` the write happens only if the file still has that digest (`""`: only if it does not
    exist); otherwise 409 `file_changed` and nothing is written.
    """

    content_base64: str
    executable: bool = False
    expected_sha256: str | None = None


class FileWritten(WireModel):
    path: str
    status: Literal["written"] = "written"
    sha256: str
