"""Whether a glob of a rule fits a path. Nothing here looks at a disk.

`*` and `?` stay within a name, `**` spans folders. A rule that forbids or asks is read widely: letters in either case,
the same letters written differently, and for shell commands wherever the path may begin. One that allows is not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_PATH = 4096


def tidy(path: str) -> str:
    """Without `.`, doubled slashes and, as far as the text tells, `..`. The workspace itself is `.`."""
    parts: list[str] = []
    for part in path[:MAX_PATH].split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and path.startswith("/"):
            continue
        elif part not in ("", "."):
            parts.append(part)
    inside = "/".join(parts)
    return f"/{inside}" if path.startswith("/") else inside or "."


def fits(pattern: str, path: str) -> bool:
    return _compiled(tidy(pattern)).fullmatch(tidy(path)) is not None


def fits_widely(pattern: str, path: str, *, anywhere: bool = False, whole: bool = False) -> bool:
    """`anywhere`: the beginning of the path is not known, so what follows it counts as well. `whole`: it stands for all
    that is below it."""
    pattern, path = _folded(tidy(pattern)), _folded(tidy(path))
    candidates = [path]
    if anywhere:
        parts = path.removeprefix("/").split("/")
        candidates += ["/".join(parts[start:]) for start in range(len(parts))]
    glob = _compiled(pattern)
    fixed = _fixed(pattern)
    if any(
        glob.fullmatch(candidate) or (candidate == fixed and pattern.endswith("/**"))
        for candidate in candidates
    ):
        return True
    above = path == "." and not fixed.startswith("/")
    return whole and bool(fixed) and (above or f"{fixed}/".startswith(f"{path}/"))


def may_become(words: str, pattern: str) -> bool:
    """Whether the shell may turn a word with globs into a path the pattern fits."""
    words, pattern = _folded(tidy(words)), _folded(tidy(pattern))
    if fixed := _fixed(pattern):
        pairs = zip(words.split("/"), fixed.split("/"), strict=False)
        return all(_shell_glob(part).fullmatch(name) for part, name in pairs)
    return words.rpartition("/")[2].startswith(".")


def _fixed(pattern: str) -> str:
    """The folders and names a pattern begins with, before anything that varies."""
    return (
        re.split(r"[*?]", pattern, maxsplit=1)[0].rpartition("/")[0]
        if re.search(r"[*?]", pattern)
        else pattern
    )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Folded or not. Runs of `*` are one, so that no pattern takes long."""
    pieces = re.split(r"(\*\*/|/\*\*$|\*{2,}|\*|\?)", re.sub(r"(\*\*/)+", "**/", pattern))
    table = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]", "/**": "/.*"}
    body = "".join(
        table.get(piece) or (".*" if re.fullmatch(r"\*{2,}", piece) else re.escape(piece)) for piece in pieces
    )
    outside = "" if pattern.startswith(("/", "..")) else r"(?!/|\.\.(?:/|$))"
    return re.compile(outside + body, re.DOTALL)


@lru_cache(maxsize=256)
def _shell_glob(words: str) -> re.Pattern[str]:
    body = re.sub(r"\\\*+", "[^/]*", re.escape(words)).replace(r"\?", "[^/]")
    return re.compile(re.sub(r"\\\[.*?\\\]", "[^/]", body), re.DOTALL)
