"""`agent store …`: the ways back when files or the database were lost, and taking in a tree from elsewhere."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from holaboss_client.inspection import FileProblem, ImportedTree
from holaboss_runtime.agents.service import Agents
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.cli.agent.answer import DONE, REFUSED, Answer, bullets, shown
from holaboss_runtime.cli.agent.desk import Desk
from holaboss_runtime.cli.place import Place
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.rebuilding import rebuild_database
from holaboss_runtime.store.change_log import ChangeLog
from holaboss_runtime.store.database import Database, DatabaseError
from holaboss_runtime.workspace.registry import WorkspaceRegistry


async def rebuild_projections(desk: Desk, args: Namespace) -> Answer:
    """The old files stay beside the new ones under another name."""
    rebuilt = await desk.sessions.files.rebuild_projections(args.agent)
    lines = ["projections rebuilt", *bullets(lines=rebuilt.lines, complete=rebuilt.complete)]
    code = DONE if rebuilt.complete else REFUSED
    return Answer([*lines, *_problems(rebuilt.problems)], rebuilt, code)


async def import_tree(desk: Desk, _args: Namespace) -> Answer:
    imported = await desk.sessions.files.import_tree()
    await desk.changed()
    return _imported("tree imported", desk.place.database_path, imported)


async def rebuild_db(place: Place, args: Namespace) -> Answer:
    """Refused where a database is already; it is for the person to move that one away."""
    target = place.database_path if args.to is None else Path.cwd() / args.to

    def agents(database: Database) -> Agents:
        workspaces = WorkspaceRegistry(database, ChangeLog(database), place.root)
        workspaces.discover()
        return Agents(database, AgentTree(place.agent_root), workspaces)

    try:
        report = rebuild_database(target, agents)
    except DatabaseError as error:
        raise DomainError("unavailable", error.code, str(error)) from error
    problems = [FileProblem(path=one.path, code=one.code, detail=one.detail) for one in report.problems]
    imported = ImportedTree(
        agents=report.agents, sessions=report.sessions, events=report.events, problems=problems
    )
    return _imported("database rebuilt", target, imported)


def _imported(what: str, database: Path, imported: ImportedTree) -> Answer:
    named = bullets(
        database=database,
        agents=len(imported.agents),
        sessions=len(imported.sessions),
        events=imported.events,
    )
    return Answer([what, *named, *_problems(imported.problems)], imported)


def _problems(problems: Iterable[FileProblem]) -> list[str]:
    """The sentence names the file where it can."""
    return [
        f"- problem: {one.code} {shown(one.detail if one.path in one.detail else f'{one.path}: {one.detail}')}"
        for one in problems
    ]
