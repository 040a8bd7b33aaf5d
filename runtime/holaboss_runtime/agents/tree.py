"""Where everything of the agent layer lies: the one place that spells a path below `<root>/.openboa`.

Ids are checked before they become a segment, and nothing below the root may be a link: a folder that an agent can
write to must not decide where its files, or those of another agent, end up.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from holaboss_runtime.agents.files import writing
from holaboss_runtime.agents.ids import check_agent_id, check_environment_id, check_session_id
from holaboss_runtime.errors import DomainError

FOLDER = ".openboa"
LEARNING_FILES = {"lesson": "lessons.jsonl", "correction": "corrections.jsonl", "error": "errors.jsonl"}


class AgentTree:
    """Paths only, until `make_folder`. Every method that takes an id raises `DomainError` for one that is no name."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.folder = self.root / FOLDER
        self.state = self.root / "state"
        self.agents = self.folder / "agents"
        self.environments = self.folder / "environments"
        self.bootstrap = self.folder / "bootstrap" / "runtime.json"
        self.base_prompt = self.folder / "system" / "base.prompt"

    # An agent

    def agent(self, agent_id: str) -> Path:
        return self.agents / check_agent_id(agent_id)

    def agent_config(self, agent_id: str) -> Path:
        return self.agent(agent_id) / "agent.json"

    def agent_workspace(self, agent_id: str) -> Path:
        """The substrate: the markdown that steers the agent in all of its sessions."""
        return self.agent(agent_id) / "workspace"

    def agent_learn(self, agent_id: str) -> Path:
        return self.agent(agent_id) / "learn"

    def learnings(self, agent_id: str, kind: str) -> Path:
        """`kind` is lesson, correction or error."""
        return self.agent_learn(agent_id) / LEARNING_FILES[kind]

    def agent_runtime(self, agent_id: str) -> Path:
        return self.agent(agent_id) / "runtime"

    def activations(self, agent_id: str) -> Path:
        return self.agent_runtime(agent_id) / "activation-events.jsonl"

    def agent_prompt(self, agent_id: str) -> Path:
        return self.folder / "system" / "agents" / f"{check_agent_id(agent_id)}.prompt"

    # A session

    def sessions(self, agent_id: str) -> Path:
        return self.agent(agent_id) / "sessions"

    def session(self, agent_id: str, session_id: str) -> Path:
        return self.sessions(agent_id) / check_session_id(session_id)

    def session_document(self, agent_id: str, session_id: str) -> Path:
        return self.session(agent_id, session_id) / "session.json"

    def session_events(self, agent_id: str, session_id: str) -> Path:
        return self.session(agent_id, session_id) / "events.jsonl"

    def wake_queue(self, agent_id: str, session_id: str) -> Path:
        return self.session(agent_id, session_id) / "wake-queue.jsonl"

    def session_workspace(self, agent_id: str, session_id: str) -> Path:
        return self.session(agent_id, session_id) / "workspace"

    def session_runtime(self, agent_id: str, session_id: str) -> Path:
        return self.session(agent_id, session_id) / "runtime"

    def checkpoint(self, agent_id: str, session_id: str) -> Path:
        return self.session_runtime(agent_id, session_id) / "checkpoint.json"

    def session_state(self, agent_id: str, session_id: str) -> Path:
        return self.session_runtime(agent_id, session_id) / "session-state.md"

    def working_buffer(self, agent_id: str, session_id: str) -> Path:
        return self.session_runtime(agent_id, session_id) / "working-buffer.md"

    # The rest

    def environment(self, environment_id: str) -> Path:
        return self.environments / f"{check_environment_id(environment_id)}.json"

    def make_agent(self, agent_id: str) -> None:
        """The folders that belong to the runtime in every agent; the substrate is made by whoever seeds it."""
        for folder in (self.agent_learn(agent_id), self.agent_runtime(agent_id), self.sessions(agent_id)):
            self.make_folder(folder)

    def make_session(self, agent_id: str, session_id: str) -> None:
        self.make_folder(self.session_workspace(agent_id, session_id))
        self.make_folder(self.session_runtime(agent_id, session_id))

    def make_folder(self, path: Path) -> Path:
        """Make a folder below the root and those above it, 0700; returns it.

        Raises `DomainError`: `agent_tree_link`, `agent_tree_blocked`, `agent_tree_not_writable`.
        """
        current = self.root
        for part in path.relative_to(self.root).parts:
            current /= part
            with writing(current):
                try:
                    current.mkdir(mode=0o700)
                except FileExistsError:
                    self._check_folder(current)
        return path

    def safe(self, path: Path) -> Path:
        """The path itself, once nothing on the way to it, nor it, is a link. It need not exist.

        Raises `DomainError` `agent_tree_link`.
        """
        current = self.root
        for part in path.relative_to(self.root).parts:
            current /= part
            try:
                mode = current.lstat().st_mode
            except OSError:
                break
            if stat.S_ISLNK(mode):
                raise _link(current)
        return path

    def agent_ids(self) -> list[str]:
        """Names of the folders under `agents`, also those that no check would pass: for an import that reports."""
        return _folder_names(self.agents)

    def session_ids(self, agent_id: str) -> list[str]:
        return _folder_names(self.sessions(agent_id))

    def _check_folder(self, path: Path) -> None:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise _link(path)
        if not stat.S_ISDIR(mode):
            raise DomainError(
                "conflict",
                "agent_tree_blocked",
                f"{path} has to be a folder, but a file is there. Move it away.",
            )


def _folder_names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _link(path: Path) -> DomainError:
    return DomainError(
        "conflict",
        "agent_tree_link",
        f"{path} is a link. Nothing under {FOLDER} may lead elsewhere: put the real file or folder in its place.",
    )
