"""What ignore files leave out: `.gitignore`, `.ignore` and git's own `info/exclude`, from the top of an area down.

A deeper file overrides a higher one, `.ignore` overrides `.gitignore` beside it, and `!` takes back.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.harness.host.search.opening import open_file

FILES = (".gitignore", ".ignore")
MAX_BYTES = 256 * 1024
MAX_LINES = 5_000


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one ignore file in the folder `base` (its parts below the area), and those of above."""

    base: int
    spec: Any
    above: Rules | None

    def ignores(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        """Whether a path below the area is left out by itself; its folders were asked before it."""
        path = "/".join(parts[self.base :]) + ("/" if folder else "")
        verdict = self.spec.check_file(path).include
        if verdict is not None:
            return verdict
        return self.above is not None and self.above.ignores(parts, folder=folder)


def rules_in(root: str, parts: tuple[str, ...], above: Rules | None) -> Rules | None:
    """Those of the folder `parts` below the area `root`, on top of those above it."""
    rules = above
    if not parts:
        rules = _rules(root, (".git", "info", "exclude"), 0, rules)
    for name in FILES:
        rules = _rules(root, (*parts, name), len(parts), rules)
    return rules


def _rules(root: str, file_parts: tuple[str, ...], base: int, above: Rules | None) -> Rules | None:
    try:
        descriptor = open_file(root, os.path.join(root, *file_parts))  # noqa: PTH118 - a hot loop
    except OSError:
        return above
    with os.fdopen(descriptor, "rb") as file:
        lines = file.read(MAX_BYTES).decode("utf-8", "replace").splitlines()[:MAX_LINES]
    from pathspec import GitIgnoreSpec  # most folders have no such file

    spec = GitIgnoreSpec.from_lines([_exact(line) for line in lines if _is_valid(line)], backend="simple")
    return Rules(base, spec, above)


def _is_valid(line: str) -> bool:
    """One pattern that makes no sense does not take the others with it."""
    from pathspec import lookup_pattern

    try:
        lookup_pattern("gitignore")(line)
    except ValueError:
        return False
    return True


def _exact(line: str) -> str:
    """`a/**` is what lies in `a`, not `a` itself, in which other patterns may take something back."""
    return f"{line}/*" if line.endswith("/**") else line
