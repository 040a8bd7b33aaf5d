"""Globs over the parts of a path: `*` stays within a name, `**` spans any number of them, `{a,b}` is either."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

MAX_ALTERNATIVES = 64

TYPES: dict[str, tuple[str, ...]] = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.h"),
    "cs": ("*.cs",),
    "css": ("*.css", "*.scss", "*.less"),
    "csv": ("*.csv", "*.tsv"),
    "go": ("*.go",),
    "html": ("*.html", "*.htm"),
    "java": ("*.java",),
    "js": ("*.js", "*.jsx", "*.mjs", "*.cjs"),
    "json": ("*.json", "*.jsonl"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "md": ("*.md", "*.markdown", "*.mdx"),
    "php": ("*.php",),
    "py": ("*.py", "*.pyi"),
    "ruby": ("*.rb",),
    "rust": ("*.rs",),
    "sh": ("*.sh", "*.bash", "*.zsh"),
    "sql": ("*.sql",),
    "swift": ("*.swift",),
    "toml": ("*.toml",),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.svg"),
    "yaml": ("*.yaml", "*.yml"),
}
"""The kinds of file a search can be limited to."""


class Glob:
    """One pattern. Without a slash it is about the name of a file, with one about its path below the start."""

    def __init__(self, pattern: str) -> None:
        self._alternatives = [one.removeprefix("./").strip("/").split("/") for one in _alternatives(pattern)]
        self.wants_hidden = any(
            part.startswith(".") and part not in (".", "..")
            for alternative in self._alternatives
            for part in alternative
        )

    def matches(self, parts: Sequence[str]) -> bool:
        return any(
            _matches(parts if len(one) > 1 else parts[-1:], one) if parts else False
            for one in self._alternatives
        )


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Going back to the newest `**` is enough, so no pattern of a model can make this take long."""
    at = place = restart = 0
    spanning: int | None = None
    while at < len(names):
        if place < len(pattern) and pattern[place] == "**":
            spanning, restart = place, at
            place += 1
        elif place < len(pattern) and fnmatch.fnmatchcase(names[at], pattern[place]):
            at, place = at + 1, place + 1
        elif spanning is not None:
            restart += 1
            at, place = restart, spanning + 1
        else:
            return False
    return all(piece == "**" for piece in pattern[place:])


def _alternatives(pattern: str) -> list[str]:
    """Every way to choose within `{a,b}`, up to a bound; braces that do not close are themselves."""
    done: list[str] = []
    todo = [pattern]
    while todo and len(done) + len(todo) <= MAX_ALTERNATIVES:
        one = todo.pop(0)
        start = one.find("{")
        end = one.find("}", start)
        if start < 0 or end < 0:
            done.append(one)
            continue
        start = one.rfind("{", 0, end)
        todo += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return done + todo
