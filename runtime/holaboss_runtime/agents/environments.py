"""Environments: reusable descriptions of where a session executes. The file is the truth, the table a copy of it.

Only this machine exists so far (`kind: local`); another kind is refused by name, never treated as if it were local.
"""

from __future__ import annotations

import hashlib
import logging
import posixpath
from dataclasses import dataclass
from pathlib import Path

from holaboss_client.agents import CreateEnvironment, Environment, EnvironmentList, SandboxPosture
from holaboss_client.base import utc_now
from holaboss_client.events import Change
from holaboss_runtime.agents.documents import Document, Fail, Section, encode_document, load_document
from holaboss_runtime.agents.files import Stamp, stamp_of, write_new
from holaboss_runtime.agents.resources import LEARNINGS_PATH
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError, not_found
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.environments import EnvironmentRecords

log = logging.getLogger(__name__)

LOCAL_DEFAULT = "local-default"
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: Stamp
    environment: Environment


class Environments:
    """Lives on the thread of its database. Reads a file again when it was saved since."""

    def __init__(self, database: Database, tree: AgentTree, changes: ChangeLog) -> None:
        self._database = database
        self._changes = changes
        self._records = EnvironmentRecords(database)
        self._tree = tree
        self._known: dict[str, _Read] = {}
        self._complained: dict[str, Stamp | None] = {}

    def get(self, environment_id: str = LOCAL_DEFAULT) -> Environment:
        """Its row exists afterwards, so that a session may refer to it.

        Raises `DomainError`: `environment_id_invalid`, `environment_not_found`, `environment_invalid`,
        `environment_kind_unsupported`.
        """
        path = self._tree.environment(environment_id)
        stamp = stamp_of(path)
        if stamp is None and environment_id == LOCAL_DEFAULT:
            self._write(CreateEnvironment(environment_id=LOCAL_DEFAULT, name="This machine"))
            stamp = stamp_of(path)
        known = self._known.get(environment_id)
        if known is not None and known.stamp == stamp:
            return known.environment
        self._tree.safe(path)
        try:
            document, raw = load_document(path, _fail(path))
        except FileNotFoundError:
            raise not_found("environment", environment_id) from None
        return self._remember(environment_id, document, raw, stamp)

    def list(self) -> EnvironmentList:
        """Those that can be used, the default one first; one that cannot is logged and does not hide the others."""
        found = [self.get(LOCAL_DEFAULT)]
        for path in sorted(self._tree.environments.glob("*.json")):
            try:
                if path.stem != LOCAL_DEFAULT:
                    found.append(self.get(path.stem))
            except DomainError as error:
                self._complain(path, error)
        return EnvironmentList(items=found, count=len(found))

    def create(self, body: CreateEnvironment) -> Environment:
        """Raises `DomainError`: `environment_id_invalid`, conflict `environment_exists`."""
        if not self._write(body):
            raise DomainError(
                "conflict",
                "environment_exists",
                f"There is an environment {body.environment_id!r} already. Edit its file, or choose another id.",
            )
        return self.get(body.environment_id)

    def _write(self, body: CreateEnvironment) -> bool:
        path = self._tree.environment(body.environment_id)
        self._tree.make_folder(path.parent)
        now = utc_now()
        sandbox = body.sandbox
        document: Document = {
            "id": body.environment_id,
            "name": (body.name or "").strip() or body.environment_id,
            "kind": LOCAL,
            "sandbox": {
                "mode": sandbox.mode,
                "workspaceAccess": sandbox.workspace_access,
                "networkAccess": sandbox.network_access,
                "packagePolicy": sandbox.package_policy,
            },
            "workspaceMountDefaults": {"workspacePath": "/workspace", "runtimePath": "/runtime"},
            "createdAt": now,
            "updatedAt": now,
        }
        _read(body.environment_id, document, now, now, _fail(path))
        return write_new(path, encode_document(document))

    def _remember(
        self, environment_id: str, document: Document, raw: bytes, stamp: Stamp | None
    ) -> Environment:
        path = self._tree.environment(environment_id)
        fingerprint = hashlib.sha256(raw).hexdigest()
        row = self._records.get(environment_id)
        now = utc_now()
        created = now if row is None else row.created_at
        updated = row.updated_at if row is not None and row.file_fingerprint == fingerprint else now
        environment = _read(environment_id, document, created, updated, _fail(path))
        with self._database.transaction():
            if row is None or row.file_fingerprint != fingerprint:
                self._records.put(environment, document, fingerprint)
                self._changes.append(Change.AGENT, payload={"environment_id": environment_id})
            if stamp is not None:
                # A transaction around this one may still be undone, and the row with it.
                read = _Read(stamp, environment)
                self._database.after_commit(lambda: self._known.update({environment_id: read}))
        return environment

    def _complain(self, path: Path, error: DomainError) -> None:
        stamp = stamp_of(path)
        if self._complained.get(path.name, ()) != stamp:
            self._complained[path.name] = stamp
            log.warning("An environment is left out: %s", error.detail)


def _fail(path: Path) -> Fail:
    def fail(sentence: str) -> DomainError:
        return DomainError(
            "unprocessable",
            "environment_invalid",
            f"{path}: {sentence} Nothing runs in this environment until the file is right.",
            path=str(path),
        )

    return fail


def _read(environment_id: str, document: Document, created: str, updated: str, fail: Fail) -> Environment:
    root = Section(document, "", fail)
    kind = root.text("kind", LOCAL)
    if kind != LOCAL:
        raise DomainError(
            "unprocessable",
            "environment_kind_unsupported",
            f"The environment {environment_id!r} is of the kind {kind!r}. Only {LOCAL!r} can be executed here.",
        )
    if root.text("id", environment_id) != environment_id:
        raise root.wrong("id", f"must be {environment_id!r}, like the name of the file.")
    mounts = root.section("workspaceMountDefaults")
    workspace, runtime = (
        _mount(mounts, "workspacePath", "/workspace"),
        _mount(mounts, "runtimePath", "/runtime"),
    )
    if len({workspace, f"{workspace}/agent", runtime, LEARNINGS_PATH}) < 4:
        raise mounts.wrong(
            "workspacePath", "and runtimePath must lie beside each other and beside the learnings."
        )
    return Environment(
        environment_id=environment_id,
        name=root.text("name", environment_id),
        sandbox=_posture(root.section("sandbox")),
        workspace_path=workspace,
        runtime_path=runtime,
        created_at=root.text("createdAt", created),
        updated_at=root.text("updatedAt", updated),
    )


def _posture(section: Section) -> SandboxPosture:
    base = SandboxPosture()
    return SandboxPosture(
        mode=section.choice("mode", ("off", "workspace"), base.mode),
        workspace_access=section.choice("workspaceAccess", ("none", "ro", "rw"), base.workspace_access),
        network_access=section.choice("networkAccess", ("enabled", "disabled"), base.network_access),
        package_policy=section.choice("packagePolicy", ("workspace", "none"), base.package_policy),
    )


def _mount(section: Section, key: str, default: str) -> str:
    path = section.text(key, default)
    if not path.startswith("/") or path == "/" or path != posixpath.normpath(path) or "\\" in path:
        raise section.wrong(key, "must be an absolute path like /workspace.")
    return path
