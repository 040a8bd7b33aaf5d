"""The markdown that steers an agent: eight files, seeded once, read in a fixed order, and one part of MEMORY.md that
the runtime keeps up.

It writes nothing else in these files: everything outside the marked part belongs to people.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from holaboss_runtime.agents import substrate_texts as texts
from holaboss_runtime.agents.files import read_bounded, replace, stamp_of, write_new
from holaboss_runtime.agents.tree import AgentTree
from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import resolve_inside

NAMES = tuple(texts.FILES)
MEMORY = "MEMORY.md"
MEMORY_OTHER_NAME = "memory.md"
MAX_CHARS = 40_000
MAX_BYTES = 1024 * 1024


class Learning(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def detail(self) -> str: ...


def seed_substrate(tree: AgentTree, agent_id: str) -> None:
    """Write those of the eight files that are missing. Raises `DomainError` of the tree."""
    folder = tree.make_folder(tree.agent_workspace(agent_id))
    present = {entry.name for entry in folder.iterdir()}
    for name, text in texts.FILES.items():
        # The other spelling of the memory is a memory, too.
        if name not in present and not (name == MEMORY and MEMORY_OTHER_NAME in present):
            write_new(folder / name, text.format(agent_id=agent_id).encode())


def read_substrate(folder: Path) -> list[tuple[str, str]]:
    """`(name, text)` of the files that say something, in their order, each at most about `MAX_CHARS` long.

    Raises `DomainError` `substrate_unreadable` for one that is there and cannot be read, or leads out of the folder.
    """
    found: list[tuple[str, str]] = []
    for name in NAMES:
        text = _text(folder, name)
        if not text and name == MEMORY:
            text = _text(folder, MEMORY_OTHER_NAME)
        if text:
            found.append((name, text))
    return found


def read_prompts(tree: AgentTree, agent_id: str) -> list[tuple[str, str]]:
    """What the operator of this tree says to all agents (`base`) and to this one (`agent`); often nothing."""
    paths = (("base", tree.base_prompt), ("agent", tree.agent_prompt(agent_id)))
    found = [(name, _text(tree.folder, str(path.relative_to(tree.folder)))) for name, path in paths]
    return [(name, text) for name, text in found if text]


def has_markers(text: str) -> bool:
    """Whether a text would end or begin a managed part of a memory."""
    return any(marker in text for marker in texts.MARKERS)


def check_no_markers(text: str) -> str:
    """The text itself. Raises `memory_marker_in_text` for one that would end or begin a managed part of a memory."""
    if has_markers(text):
        raise DomainError(
            "unprocessable",
            "memory_marker_in_text",
            "The text contains a marker that delimits parts of MEMORY.md. Leave the marker out.",
        )
    return text


def update_learnings_section(path: Path, learnings: Sequence[Learning]) -> bool:
    """Make the managed part of a MEMORY.md say exactly these learnings; False when it did already.

    Everything else in the file stays byte for byte. Raises `DomainError`: `memory_marker_in_text`,
    `substrate_unreadable`, `agent_tree_not_writable`, or conflict `memory_changed` when somebody keeps saving it.
    """
    section = _section(learnings)
    for _ in range(3):
        before = stamp_of(path)
        current = _memory(path)
        updated = _spliced(current, section)
        if updated == current:
            return False
        if stamp_of(path) == before:
            replace(path, updated.encode("utf-8", "surrogateescape"))
            return True
    raise DomainError(
        "conflict", "memory_changed", f"{path} is being edited. It is brought up to date later."
    )


def _section(learnings: Sequence[Learning]) -> str:
    lines = [
        f"- [{_line(learning.kind)}] {_line(learning.title)}\n  - {_line(learning.detail)}"
        for learning in learnings
    ]
    return "\n".join([texts.LEARNINGS_START, *(lines or [texts.NO_LEARNINGS]), texts.LEARNINGS_END])


def _line(text: str) -> str:
    return check_no_markers(" ".join(text.split()))


def _memory(path: Path) -> str:
    try:
        content = read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        return "# Memory\n"
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be opened") from error
    if len(content) > MAX_BYTES:
        raise _unreadable(path, "it is larger than 1 MiB")
    return content.decode("utf-8", "surrogateescape")  # what is not text comes back as it was


def _spliced(current: str, section: str) -> str:
    """A start marker without its end is left alone: what follows it may be somebody's words."""
    start = current.rfind(texts.LEARNINGS_START)
    while start >= 0:
        end = current.find(texts.LEARNINGS_END, start)
        if end >= 0:
            return current[:start] + section + current[end + len(texts.LEARNINGS_END) :]
        start = current.rfind(texts.LEARNINGS_START, 0, start)
    separator = "" if not current or current.endswith("\n\n") else "\n" if current.endswith("\n") else "\n\n"
    return f"{current}{separator}{texts.LEARNINGS_HEADING}\n{section}\n"


def _text(folder: Path, name: str) -> str:
    """Bounded, and said so where it was cut; empty when the file is missing."""
    try:
        content = read_bounded(resolve_inside(folder, name), 4 * MAX_CHARS)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except DomainError as error:
        raise _unreadable(folder / name, "it leads out of its folder") from error
    except OSError as error:
        raise _unreadable(folder / name, error.strerror or "it cannot be opened") from error
    text = content.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if len(text) <= MAX_CHARS:
        return text
    return (
        f"{text[:MAX_CHARS].rstrip()}\n\n[{name} is longer; only its first {MAX_CHARS} characters are shown.]"
    )


def _unreadable(path: Path, why: str) -> DomainError:
    return DomainError(
        "unprocessable",
        "substrate_unreadable",
        f"{path} cannot be used: {why}. Put a readable text file there, or remove it.",
        path=str(path),
    )
