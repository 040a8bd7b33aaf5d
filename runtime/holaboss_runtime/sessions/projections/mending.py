"""Comparing a journal with the database and mending it: for a first write, after a crash or an import, on request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holaboss_runtime.agents.files import replace, write_new
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections import disk
from holaboss_runtime.sessions.projections.disk import Outcome
from holaboss_runtime.sessions.projections.journals import Comparison, Journal, line_text
from holaboss_runtime.sessions.projections.lines import Lines, problems_of, read_lines
from holaboss_runtime.sessions.projections.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Mend:
    """A journal that has to be compared with the database."""

    stream: str
    name: str
    path: Path
    journal: Journal


def mend(manifest_path: Path, items: Sequence[Mend]) -> Outcome:
    """Make journals say what the database says. What is missing is appended; a file that contradicts the database is
    kept aside and written anew."""
    outcome = Outcome()
    manifest = Manifest(manifest_path)
    for item in items:
        try:
            size = _mend(item, outcome)
        except (OSError, DomainError) as error:
            disk.failed(outcome, item.path, item.stream, error)
            manifest.expect(item.name, [-1, -1])
        else:
            manifest.expect(item.name, [size, size])
            outcome.well.append(str(item.path))
    try:
        manifest.save()
    except OSError as error:
        # The files are right; only the next batch has to ask the database again.
        outcome.problems.append(disk.not_written(manifest_path, error))
    return outcome


def differences(item: Mend) -> list[str]:
    """What a journal says differently, or lacks. Raises `OSError`."""
    lines = _lines_if_there(item.path)
    compared = item.journal.compare(item.journal.fold(lines.records))
    found = [f"lacks {line.get('kind')}" for line in compared.missing] + compared.contradictions
    if lines.damaged or lines.torn:
        found.append("has lines that cannot be read")
    return found


def _mend(item: Mend, outcome: Outcome) -> int:
    """The size of the file once it says what the database says."""
    lines = _lines_if_there(item.path)
    compared = item.journal.compare(item.journal.fold(lines.records))
    if lines.damaged or compared.contradictions:
        why = compared.contradictions[0] if compared.contradictions else "some of its lines cannot be read"
        kept = disk.keep(item.path, "conflict")
        outcome.problems.append(disk.conflict(item.path, kept, why))
        whole = b"".join(line_text(line) for line in item.journal.lines())
        replace(item.path, whole)
        return len(whole)
    return _complete(item.path, lines, compared, outcome)


def _complete(path: Path, lines: Lines, compared: Comparison, outcome: Outcome) -> int:
    missing = [line_text(line) for line in compared.missing]
    if lines.torn:
        if not any(line.startswith(lines.torn) for line in missing):
            kept = disk.aside(path, "torn")
            write_new(kept, lines.torn)
            outcome.problems += problems_of(kept, Lines(torn=lines.torn))
        os.truncate(path, lines.sound)
    addition = (b"\n" if lines.unended else b"") + b"".join(missing)
    if addition:
        disk.append(path, addition)
        outcome.lines += len(missing)
    return lines.sound + len(addition)


def _lines_if_there(path: Path) -> Lines:
    try:
        return read_lines(path)
    except FileNotFoundError:
        return Lines()
