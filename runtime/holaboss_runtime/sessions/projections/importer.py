"""Takes sessions that only exist as files into the database: a tree somebody else wrote, or one that was put back.

A session the database knows is never touched. Each session is read whole, written in one transaction, and reported;
what cannot be taken over is named, stays where it is, and does not hold up the others. Afterwards the files follow the
database: flush the projections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from holaboss_client.agents import AttachResource, ResourceAttachment
from holaboss_client.base import utc_now
from holaboss_runtime.agents.environments import LOCAL_DEFAULT
from holaboss_runtime.agents.ids import check_agent_id, check_session_id
from holaboss_runtime.agents.resources import (
    LOCAL_FILE,
    Owner,
    default_resources,
    from_document,
    local_file,
    local_source,
)
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.adoption import Adoption, Place, adopt
from holaboss_runtime.sessions.projections.driving import Procedure, drive, drive_now
from holaboss_runtime.sessions.projections.learned import activation_rows, learning_rows
from holaboss_runtime.sessions.projections.problems import FileProblem
from holaboss_runtime.sessions.projections.reading import (
    AgentFilesRead,
    SessionFiles,
    read_agent,
    read_session,
)
from holaboss_runtime.sessions.projections.values import object_of, text_of
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.outbox import ACTIVATIONS, LEARN
from holaboss_runtime.store.rebuild import SESSION_STREAMS, Families
from holaboss_runtime.store.records import Records

Fields = dict[str, Any]


@dataclass(slots=True)
class ImportReport:
    """Ids of what is new in the database, and everything that has to be said about the files."""

    agents: list[str] = field(default_factory=list[str])
    sessions: list[str] = field(default_factory=list[str])
    events: int = 0
    problems: list[FileProblem] = field(default_factory=list[FileProblem])


class Importer:
    """`agents` serves the tree that is imported; `private` are files and folders no session may reach. `outside` says
    that files may attach places beside the root: only where a person answers for the tree."""

    def __init__(
        self, records: Records, agents: Agents, *, private: Sequence[Path] = (), outside: bool = False
    ) -> None:
        self._records = records
        self._database = records.database
        self._families = Families(records.database)
        self._agents = agents
        self._tree = agents.tree
        self._private = private
        self._outside = outside

    async def import_new(self) -> ImportReport:
        """Take in every agent and session that is not in the database. Cheap when there are none: names are compared,
        no file is opened. Raises `DomainError` `disk_full`."""
        return await drive(self._import())

    def import_new_now(self) -> ImportReport:
        """The same for a program without a loop."""
        return drive_now(self._import())

    def _import(self) -> Procedure[ImportReport]:
        report = ImportReport()
        found: dict[str, list[str]] = yield self._names
        usable = [agent_id for agent_id in found if self._usable(agent_id, len(found[agent_id]), report)]
        known = self._families.known_agents(usable)
        for agent_id in usable:
            new = self._new_sessions(agent_id, found[agent_id], report)
            if new or agent_id not in known:
                yield from self._import_agent(agent_id, new, report, known=agent_id in known)
        return report

    def _usable(self, agent_id: str, sessions: int, report: ImportReport) -> bool:
        """Whether a folder's name can be an id; first of all, because not every name can even be asked about."""
        try:
            check_agent_id(agent_id)
        except DomainError as error:
            left_out = f"Until then the agent and its {sessions} sessions are left out."
            sentence = f"{error.detail} Rename the folder. {left_out}"
            where = _shown(self._tree.agents / agent_id)
            report.problems.append(FileProblem(where, error.code, sentence))
            return False
        return True

    def _names(self) -> dict[str, list[str]]:
        """Folders of agents and, of each, of its sessions. An agent without a file and without sessions is none."""
        found: dict[str, list[str]] = {}
        for agent_id in self._tree.agent_ids():
            try:
                sessions = self._tree.session_ids(agent_id)
                defined = self._tree.agent_config(agent_id).is_file()
            except DomainError:
                sessions, defined = [], True  # named when its turn comes
            if sessions or defined:
                found[agent_id] = sessions
        return found

    def _new_sessions(self, agent_id: str, session_ids: Sequence[str], report: ImportReport) -> list[str]:
        new: list[str] = []
        for session_id in session_ids:
            try:
                check_session_id(session_id)
            except DomainError as error:
                where = _shown(Path(agent_id, "sessions", session_id))
                report.problems.append(FileProblem(where, error.code, f"{error.detail} Rename the folder."))
            else:
                new.append(session_id)
        known = self._families.known_sessions(new)
        return [session_id for session_id in new if session_id not in known]

    def _import_agent(
        self, agent_id: str, session_ids: Sequence[str], report: ImportReport, *, known: bool
    ) -> Procedure[None]:
        try:
            record = self._agents.prepare(agent_id)
            self._agents.environments.get(LOCAL_DEFAULT)
        except DomainError as error:
            where = str(self._tree.agents / agent_id)
            sentence = (
                f"{error.detail} The agent and its {len(session_ids)} new sessions were left out until then."
            )
            report.problems.append(FileProblem(where, error.code, sentence))
            return
        if not known:
            report.agents.append(agent_id)
        for session_id in session_ids:
            files: SessionFiles = yield partial(read_session, self._tree, agent_id, session_id)
            if not self._refused(files):
                self._take(files, record.workspace_id, report)
            report.problems += files.problems
        journals: AgentFilesRead = yield partial(read_agent, self._tree, agent_id)
        self._take_journals(agent_id, journals)
        report.problems += journals.problems

    def _refused(self, files: SessionFiles) -> bool:
        """Whether there is nothing to take, or not what the folder's name promises; the reason is noted."""
        if files.empty:
            return True
        document = files.document or {}
        path = files.path / "session.json"
        if document.get("id") not in (None, files.session_id):
            files.problem(
                path, "session_id_mismatch", f"{path} is about another session than its folder. Correct it."
            )
            return True
        if document.get("agentId") not in (None, files.agent_id):
            sentence = f"{path} names another agent; the session belongs to the one it lies with."
            files.problem(path, "session_agent_mismatch", sentence)
        return False

    def _take(self, files: SessionFiles, workspace_id: str, report: ImportReport) -> None:
        self._leave_out_known(files)
        place = self._place(files, workspace_id)
        adoption = adopt(files, place, utc_now())
        with self._database.transaction(durable=True):
            # Somebody else may have been faster.
            if self._families.known_sessions([files.session_id]):
                return
            self._insert(adoption)
            for stream in SESSION_STREAMS:
                self._records.outbox.mark(files.session_id, stream)
        report.sessions.append(files.session_id)
        report.events += len(adoption.events)

    def _leave_out_known(self, files: SessionFiles) -> None:
        """Ids are unique in the database: what another session has already is left out, by name."""
        wakes = self._families.known_wakes(files.wakes)
        for event_id in self._families.known_events(files.events):
            del files.events[event_id]
            sentence = f"The event {event_id!r} is in the log of another session and was left out."
            files.problem(files.path / "events.jsonl", "event_id_in_use", sentence)
        for wake_id in wakes:
            del files.wakes[wake_id]
            sentence = f"The wake {wake_id!r} belongs to another session and was left out."
            files.problem(files.path / "wake-queue.jsonl", "wake_id_in_use", sentence)

    def _insert(self, adoption: Adoption) -> None:
        insert = self._families.insert
        insert("agent_sessions", [adoption.session])
        seqs = self._families.free_seqs([event["seq"] for event in adoption.events])
        insert(
            "session_events",
            (
                event | {"seq": seq, "payload": encode(event["payload"])}
                for event, seq in zip(adoption.events, seqs, strict=True)
            ),
        )
        insert("agent_session_inputs", adoption.inputs)
        insert("session_wakes", adoption.wakes)
        insert("pending_actions", adoption.actions)
        insert("session_messages", adoption.messages)
        insert("session_checkpoints", [adoption.checkpoint] if adoption.checkpoint else [])

    def _take_journals(self, agent_id: str, journals: AgentFilesRead) -> None:
        now = utc_now()
        with self._database.transaction():
            self._families.insert("learnings", learning_rows(agent_id, journals.learnings, now))
            if not self._families.activations(agent_id):
                self._families.insert("activations", activation_rows(agent_id, journals.activations))
            for stream in (LEARN, ACTIVATIONS):
                self._records.outbox.mark_agent(agent_id, stream)

    def _place(self, files: SessionFiles, workspace_id: str) -> Place:
        document = files.document or {}
        notes: Fields = {}
        wanted: object = document.get("environmentId", LOCAL_DEFAULT)
        environment_id = self._environment(files, wanted, notes)
        resources, left_out = self._resources(files, environment_id or LOCAL_DEFAULT)
        if left_out:
            notes["unsupported_resources"] = left_out
        rows = [resource.model_dump() for resource in resources]
        return Place(workspace_id, environment_id, rows, notes)

    def _environment(self, files: SessionFiles, wanted: object, notes: Fields) -> str | None:
        if wanted is None:
            return None
        try:
            return self._agents.environments.get(str(wanted)).environment_id
        except DomainError as error:
            notes["missing_environment"] = wanted
            sentence = f"{error.detail} The session uses {LOCAL_DEFAULT!r} instead."
            files.problem(files.path / "session.json", "environment_missing", sentence)
            return LOCAL_DEFAULT

    def _resources(
        self, files: SessionFiles, environment_id: str
    ) -> tuple[list[ResourceAttachment], list[Fields]]:
        """The attachments of the session, those of the tree itself where this tree lies; and what cannot be served."""
        owner = Owner(self._tree, files.agent_id, files.session_id)
        substrate = self._agents.substrate_folder(files.agent_id)
        defaults = default_resources(owner, substrate, self._agents.environments.get(environment_id))
        listed: object = (files.document or {}).get("resources")
        if not isinstance(listed, list):
            return defaults, []
        own_places = {(resource.kind, resource.role): resource for resource in defaults}
        found: list[ResourceAttachment] = []
        left_out: list[Fields] = []
        for item in cast("list[object]", listed):
            fields = object_of(item)
            try:
                found.append(
                    _resource(fields, owner, found, own_places, self._private, outside=self._outside)
                )
            except DomainError as error:
                left_out.append(fields)
                where = text_of(fields.get("mountPath")) or "a resource"
                sentence = f"{where[:80]} is not available in the session: {error.detail}"
                files.problem(files.path / "session.json", "resource_left_out", sentence)
        return found, left_out


def _shown(path: Path) -> str:
    """Also of a name that is no text."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _resource(
    fields: Fields,
    owner: Owner,
    attached: Sequence[ResourceAttachment],
    own_places: Mapping[tuple[str, str | None], ResourceAttachment],
    private: Sequence[Path],
    *,
    outside: bool,
) -> ResourceAttachment:
    resource = from_document(fields, owner.session_id)
    if resource.kind == LOCAL_FILE:
        body = AttachResource(
            source_ref=resource.source_ref,
            mount_path=resource.mount_path,
            access=resource.access,
            prompt=resource.prompt,
        )
        source = local_source(body, owner, private=private)
        if not (outside or source.is_relative_to(owner.tree.root)):
            raise DomainError(
                "forbidden",
                "resource_source_forbidden",
                f"{source} lies elsewhere, and only a person may say that an agent reaches it. Attach it again.",
            )
        return local_file(body, source, owner.session_id, attached).model_copy(update={"id": resource.id})
    own = own_places[resource.kind, resource.role]
    changes: Fields = {"source_ref": own.source_ref}
    if own.access == "read_only":
        # Who an agent is, and what the runtime keeps, is not for the agent to write: a file cannot give that away.
        changes["access"] = "read_only"
    return resource.model_copy(update=changes)
