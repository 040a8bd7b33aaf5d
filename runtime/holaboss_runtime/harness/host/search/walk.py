"""The files below a folder, in a fixed order: those of a folder by name, then its folders by name.

Hidden and ignored ones are left out unless asked for, what belongs to git and to the runtime always is. No link is
followed, and nothing is opened but folders and ignore files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from holaboss_runtime.harness.host.search.ignoring import Rules, rules_in
from holaboss_runtime.harness.host.search.opening import list_folder

ALWAYS_SKIPPED = frozenset({".git", ".holaboss"})
BULK_FOLDERS = frozenset({"node_modules", ".venv", "__pycache__"})
MAX_DEPTH = 200


@dataclass(slots=True)
class Walk:
    """`root` is the area, `top` the parts of where to start below it. Counts what it leaves out."""

    root: str
    top: tuple[str, ...]
    hidden: bool
    no_ignore: bool
    folders_too: bool = False
    left_out: int = 0
    unreadable: int = 0
    too_deep: int = 0
    _rules: Rules | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The parts of each entry below `root`, and whether it is a folder."""
        rules: Rules | None = None
        if not self.no_ignore:
            for depth in range(len(self.top)):
                above = self.top[:depth]
                rules = rules_in(self.root, above, rules)
        stack: list[tuple[tuple[str, ...], Rules | None]] = [(self.top, rules)]
        while stack:
            parts, above_rules = stack.pop()
            folder = os.path.join(self.root, *parts)  # noqa: PTH118 - a hot loop
            here = above_rules if self.no_ignore else rules_in(self.root, parts, above_rules)
            folders: list[tuple[str, ...]] = []
            for name, is_folder in self._entries(folder):
                below = (*parts, name)
                if not self._wanted(name, below, here, folder=is_folder):
                    continue
                if is_folder:
                    folders.append(below)
                else:
                    yield below, False
            for below in folders if self.folders_too else ():
                yield below, True
            if folders and len(parts) - len(self.top) >= MAX_DEPTH:
                self.too_deep += len(folders)
                continue
            stack.extend((below, here) for below in reversed(folders))

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        try:
            return list_folder(self.root, folder)
        except OSError:
            self.unreadable += 1
            return []

    def _wanted(self, name: str, parts: tuple[str, ...], rules: Rules | None, *, folder: bool) -> bool:
        if folder and name.casefold() in ALWAYS_SKIPPED:
            return False
        if folder and name in BULK_FOLDERS and not self.no_ignore:
            return False
        skipped = (name.startswith(".") and not self.hidden) or (
            rules is not None and not self.no_ignore and rules.ignores(parts, folder=folder)
        )
        self.left_out += skipped
        return not skipped
