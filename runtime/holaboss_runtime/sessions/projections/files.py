"""Writing the files of one folder: append lines to journals, replace whole files. No database in here.

Every function gets plain data and runs in a thread, under the lock of the agent's tree. A file that cannot be written
is reported and left for later; the others of the folder go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holaboss_runtime.agents.files import replace
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections import disk
from holaboss_runtime.sessions.projections.disk import Outcome
from holaboss_runtime.sessions.projections.lines import parse_object
from holaboss_runtime.sessions.projections.manifest import Manifest, digest


@dataclass(frozen=True, slots=True)
class Append:
    """Lines for a journal, in order."""

    stream: str
    name: str
    path: Path
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class Replace:
    """The content of a whole file; None leaves alone what is there."""

    stream: str
    name: str
    path: Path
    content: bytes | None


def write(manifest_path: Path, appends: Sequence[Append], replaces: Sequence[Replace]) -> Outcome:
    """Bring the files of a folder up to date. Appending trusts the manifest; where that does not fit the file, the
    stream is `unsure` and nothing was appended."""
    outcome = Outcome()
    manifest = Manifest(manifest_path)
    ready = _ready(manifest, appends, outcome)
    changed = _changed_files(manifest, replaces, outcome)
    try:
        manifest.save()
    except OSError as error:
        for item in (*appends, *replaces):
            disk.failed(outcome, manifest_path, item.stream, error)
        return outcome
    for lines, written in ready:
        try:
            disk.append(lines.path, b"".join(lines.lines)[written:])
        except OSError as error:
            disk.failed(outcome, lines.path, lines.stream, error)
        else:
            outcome.lines += len(lines.lines)
            outcome.well.append(str(lines.path))
    for item, wanted in changed:
        try:
            replace(item.path, wanted)
        except DomainError as error:
            disk.failed(outcome, item.path, item.stream, error)
        else:
            outcome.well.append(str(item.path))
    return outcome


def _ready(manifest: Manifest, appends: Sequence[Append], outcome: Outcome) -> list[tuple[Append, int]]:
    """The journals that can simply grow, and how many bytes of their lines are there already."""
    ready: list[tuple[Append, int]] = []
    for item in appends:
        try:
            written = _written_before(manifest, item)
        except OSError as error:
            disk.failed(outcome, item.path, item.stream, error)
            continue
        if written is None:
            outcome.unsure.add(item.stream)
        else:
            ready.append((item, written))
    return [(item, written) for item, written in ready if item.stream not in outcome.unsure]


def _written_before(manifest: Manifest, item: Append) -> int | None:
    """How many bytes of these lines are in the file already, and note what it will be. None: ask the database."""
    sizes = manifest.sizes(item.name)
    size = disk.size_of(item.path)
    if sizes is None or size is None or not sizes[0] <= size <= sizes[1]:
        return None
    first, last = sizes
    joined = b"".join(item.lines)
    tail = disk.read_from(item.path, first)
    if joined.startswith(tail):
        # A crash between writing and forgetting: the file has a part of this batch, perhaps half a line of it.
        written = len(tail)
    elif size == last:
        first, written = size, 0
    else:
        return None
    manifest.expect(item.name, [first, first + len(joined)])
    return written


def _changed_files(
    manifest: Manifest, replaces: Sequence[Replace], outcome: Outcome
) -> list[tuple[Replace, bytes]]:
    """The whole files that have to be written; an edited one is kept aside first."""
    changed: list[tuple[Replace, bytes]] = []
    for item in replaces:
        if item.content is None:
            outcome.well.append(str(item.path))
            continue
        wanted = digest(item.content)
        try:
            current = disk.content(item.path)
            if current is not None and current != item.content:
                _keep_foreign(item.path, current, manifest.digests(item.name), outcome)
        except (OSError, DomainError) as error:
            disk.failed(outcome, item.path, item.stream, error)
            continue
        if current == item.content:
            manifest.expect(item.name, [wanted])
            outcome.well.append(str(item.path))
        else:
            manifest.expect(item.name, [wanted] if current is None else [digest(current), wanted])
            changed.append((item, item.content))
    return changed


def _keep_foreign(path: Path, current: bytes, ours: list[str] | None, outcome: Outcome) -> None:
    if ours is not None and digest(current) in ours:
        return
    # Nobody said that we wrote it: it came with an import, or a person changed it.
    why = "original" if ours is None else "conflict"
    kept = disk.keep(path, why)
    if ours is not None:
        outcome.problems.append(disk.conflict(path, kept, "it was changed by hand"))


def same_document(item: Replace) -> bool:
    """Whether a whole file says what it should. The lease of a run counts versions of the row and is no change."""
    if item.content is None:
        return True
    current = disk.content(item.path)
    if current == item.content or current is None or not item.name.endswith(".json"):
        return current == item.content
    found, wanted = parse_object(current), parse_object(item.content)
    ignored = {"rowVersion": None, "updatedAt": None}
    return found is not None and wanted is not None and found | ignored == wanted | ignored
