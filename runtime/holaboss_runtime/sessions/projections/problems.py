"""What went wrong with a file, by name: for reports, logs and the person who has to act."""

from __future__ import annotations

import logging
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """`code` is stable; `detail` says what was done about it and what to do next."""

    path: str
    code: str
    detail: str


class ProblemLog:
    """Logs each problem once, until the file was well in between."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()

    def report(self, problem: FileProblem) -> None:
        key = (problem.path, problem.code)
        if key not in self._known:
            self._known.add(key)
            logger.warning("%s: %s", problem.code, problem.detail)

    def well(self, path: str) -> None:
        self._known = {key for key in self._known if key[0] != path}
