"""What a session may reach: the attachments every agent session has, and local files a person adds.

Attachments are frozen into their session when it is made. Kinds that are only reserved are refused by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from holaboss_client.agents import Access, AttachResource, Environment, ResourceAttachment
from holaboss_runtime.agents.tree import FOLDER, AgentTree
from holaboss_runtime.errors import DomainError

WORKSPACE_DIRECTORY = "workspace_directory"
LOCAL_FILE = "local_file"
LEARNINGS = "learnings_memory_store"
RUNTIME_MEMORY = "session_runtime_memory"
KINDS = frozenset({WORKSPACE_DIRECTORY, LOCAL_FILE, LEARNINGS, RUNTIME_MEMORY})
RESERVED = frozenset({"vault", "remote_file_store", "repo_mount"})

SESSION_WORKSPACE = "session_workspace"
SUBSTRATE = "agent_workspace_substrate"

MAX_RESOURCES = 100
MAX_PATH = 1024
MAX_PROMPT = 2_000
LEARNINGS_PATH = "/memory/learnings"
FILES_PATH = "/files"

_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Where other processes keep their environment, and with it their keys."""

_PROMPTS = {
    SESSION_WORKSPACE: "Your own working folder in this session.",
    SUBSTRATE: "The files that say who you are; every session of this agent shares them.",
    LEARNINGS: "What this agent learned in all of its sessions.",
    RUNTIME_MEMORY: "What the runtime keeps about this session.",
}


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose session the attachments belong to."""

    tree: AgentTree
    agent_id: str
    session_id: str


def default_resources(owner: Owner, substrate: Path, environment: Environment) -> list[ResourceAttachment]:
    """In their fixed order. Only the folder of the session itself can be written to."""
    tree, agent_id, session_id = owner.tree, owner.agent_id, owner.session_id
    workspace = environment.workspace_path
    plain: list[tuple[str, str | None, Path, str, Access]] = [
        (
            WORKSPACE_DIRECTORY,
            SESSION_WORKSPACE,
            tree.session_workspace(agent_id, session_id),
            workspace,
            "read_write",
        ),
        (WORKSPACE_DIRECTORY, SUBSTRATE, substrate.resolve(), f"{workspace}/agent", "read_only"),
        (LEARNINGS, None, tree.agent_learn(agent_id), LEARNINGS_PATH, "read_only"),
        (
            RUNTIME_MEMORY,
            None,
            tree.session_runtime(agent_id, session_id),
            environment.runtime_path,
            "read_only",
        ),
    ]
    return [
        ResourceAttachment(
            id=resource_id(session_id, mount_path),
            kind=kind,
            role=role,
            source_ref=str(source),
            mount_path=mount_path,
            access=access,
            prompt=_PROMPTS[role or kind],
        )
        for kind, role, source, mount_path, access in plain
    ]


def local_source(
    body: AttachResource, owner: Owner, *, base: Path | None = None, private: Sequence[Path] = ()
) -> Path:
    """The real place of a file or folder that may be attached; looks at the disk.

    `base` is the folder a relative path starts from; without it only absolute ones are taken. `private` are files and
    folders of the runtime beside its root. Raises `DomainError`: `resource_source_invalid`,
    `resource_source_forbidden`.
    """
    source = _source(body.source_ref, base)
    _check_allowed(source, body.access, owner, private)
    return source


def local_file(
    body: AttachResource, source: Path, session_id: str, attached: Sequence[ResourceAttachment]
) -> ResourceAttachment:
    """`source` as an attachment of a session that has `attached`; asking for the same gives the one that is there.

    Raises `DomainError`: `mount_path_invalid`, conflict `mount_path_taken`, conflict `too_many_resources`.
    """
    mount_path = check_mount_path(
        f"{FILES_PATH}/{source.name}" if body.mount_path is None else body.mount_path
    )
    wanted = ResourceAttachment(
        id=resource_id(session_id, mount_path),
        kind=LOCAL_FILE,
        source_ref=str(source),
        mount_path=mount_path,
        access=body.access,
        prompt=body.prompt.strip()[:MAX_PROMPT],
    )
    for other in attached:
        if other.mount_path == mount_path:
            if other == wanted:
                return other
            raise DomainError(
                "conflict",
                "mount_path_taken",
                f"{mount_path} is used by {other.source_ref}. Give another mount_path.",
            )
    if len(attached) >= MAX_RESOURCES:
        raise DomainError(
            "conflict",
            "too_many_resources",
            f"A session has at most {MAX_RESOURCES} resources. Attach a folder that holds the files instead.",
        )
    return wanted


def check_mount_path(path: str) -> str:
    """The path as it is compared: absolute, without `..`, double or trailing slashes. Raises `mount_path_invalid`."""
    parts = path.split("/")
    plain = path.isprintable() and "\\" not in path and len(path) <= MAX_PATH
    if not plain or not path.startswith("/") or ".." in parts or "." in parts:
        raise _bad_mount(path)
    normal = posixpath.normpath("/" + path.strip("/"))
    if normal == "/":
        raise _bad_mount(path)
    return normal


def resource_id(session_id: str, mount_path: str) -> str:
    """The same for ever: a mount path is used once in a session."""
    return "res_" + hashlib.sha256(f"{session_id}\0{mount_path}".encode()).hexdigest()[:24]


def setup_fingerprint(resources: Sequence[ResourceAttachment]) -> str:
    """Equal for sessions that can reach the same things in the same way, whoever they are and wherever it lies."""
    facts = sorted((one.kind, one.mount_path, one.access, one.role or "", one.prompt) for one in resources)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def from_document(document: Mapping[str, Any], session_id: str) -> ResourceAttachment:
    """An attachment of a file or a row, in either spelling of fields and kinds.

    Raises `DomainError`: `resource_kind_unsupported` for a kind that is only reserved, `resource_invalid`,
    `mount_path_invalid`.
    """
    metadata: object = document.get("metadata")
    details = cast(Mapping[str, Any], metadata) if isinstance(metadata, dict) else dict[str, Any]()
    mount_path = check_mount_path(_text(document, "mountPath", "mount_path"))
    access = document.get("access")
    if access not in ("read_only", "read_write"):
        raise _bad_document("access", "must be read_only or read_write.")
    stated = document.get("role") or details.get("scope")
    kind, role = _kind_and_role(_text(document, "kind", "kind"), str(stated or ""), mount_path, access)
    prompt = details.get("prompt") or document.get("prompt") or ""
    return ResourceAttachment(
        id=str(document.get("id") or resource_id(session_id, mount_path)),
        kind=kind,
        role=role,
        source_ref=_text(document, "sourceRef", "source_ref"),
        mount_path=mount_path,
        access=access,
        prompt=str(prompt)[:MAX_PROMPT],
    )


def _kind_and_role(kind: str, stated: str, mount_path: str, access: str) -> tuple[str, str | None]:
    if kind in RESERVED:
        raise DomainError(
            "unprocessable",
            "resource_kind_unsupported",
            f"Resources of the kind {kind!r} are not supported yet. Attach a local_file instead.",
        )
    if kind in (SESSION_WORKSPACE, SUBSTRATE):  # the other spelling has two kinds instead of a role
        return WORKSPACE_DIRECTORY, kind
    if kind not in KINDS:
        raise _bad_document("kind", f"is {kind[:80]!r}, which is no kind of resource.")
    if kind != WORKSPACE_DIRECTORY:
        return kind, None
    if stated in (SESSION_WORKSPACE, SUBSTRATE):
        return kind, stated
    if stated == "agent_shared_substrate" or mount_path.endswith("/agent") or access == "read_only":
        return kind, SUBSTRATE
    return kind, SESSION_WORKSPACE


def _source(source_ref: str, base: Path | None) -> Path:
    """The real place, every link followed: what the session gets must not change with a link."""
    shown = source_ref[:200].encode("utf-8", "backslashreplace").decode()
    given = Path(source_ref)
    if "\0" in source_ref or not source_ref.strip() or (base is None and not given.is_absolute()):
        raise DomainError(
            "unprocessable",
            "resource_source_invalid",
            f"{shown!r} is not an absolute path. Give the whole path.",
        )
    try:
        path = (given if base is None else base / given).resolve(strict=True)
        mode = path.stat().st_mode
        str(path).encode()
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise DomainError(
            "unprocessable",
            "resource_source_invalid",
            f"{shown!r} cannot be attached: {reason}. Check the path.",
        ) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or not os.access(path, os.R_OK):
        raise DomainError(
            "unprocessable", "resource_source_invalid", f"{shown!r} is not a readable file or folder."
        )
    return path


def _check_allowed(source: Path, access: Access, owner: Owner, private: Sequence[Path]) -> None:
    """State, keys and other agents stay out of reach, also through a folder that contains them."""
    if any(_inside(source, place) for place in _SYSTEM):
        raise _forbidden(source, "It shows processes and devices, not files.")
    tree = owner.tree
    own = tree.agent(owner.agent_id)
    for place in (tree.state, *(path.resolve() for path in private)):
        if _inside(source, place):
            raise _forbidden(source, "It holds the data of Holaboss itself.")
        if _inside(place, source):  # the root itself is such a folder
            raise _forbidden(
                source, "The data of Holaboss lies in it. Attach the folders in it that you mean."
            )
    if _inside(source, tree.folder):
        if not _inside(source, own):
            raise _forbidden(source, f"It is part of {FOLDER} and does not belong to this agent.")
        if access != "read_only":
            raise _forbidden(source, "What belongs to an agent can only be attached read_only.")


def _inside(path: Path, folder: Path) -> bool:
    """By identity, not only by name: some file systems know one folder by several spellings."""
    if path.is_relative_to(folder):
        return True
    try:
        goal = folder.stat()
    except OSError:
        return False
    return any(_is(parent, goal) for parent in (path, *path.parents))


def _is(path: Path, goal: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), goal)
    except OSError:
        return False


def _text(document: Mapping[str, Any], camel: str, snake: str) -> str:
    value: object = document.get(camel, document.get(snake))
    if not isinstance(value, str) or not value or len(value) > 4 * MAX_PATH:
        raise _bad_document(camel, "must be a text.")
    return value


def _forbidden(source: Path, why: str) -> DomainError:
    return DomainError("forbidden", "resource_source_forbidden", f"{source} cannot be attached. {why}")


def _bad_mount(path: str) -> DomainError:
    shown = path[:200].encode("utf-8", "backslashreplace").decode()
    return DomainError(
        "unprocessable",
        "mount_path_invalid",
        f"{shown!r} is not a mount path. Use an absolute path like /files/report.pdf, without dots as a part of it.",
    )


def _bad_document(field: str, what: str) -> DomainError:
    return DomainError(
        "unprocessable", "resource_invalid", f"The {field} of a resource {what} Correct the record."
    )
