"""Heights of the rows of a very long column: guessed first, corrected when a row is seen.

A Fenwick tree answers "where does row i begin" and "which row is at y" in O(log n), and takes a correction
in the same time, so a conversation of any length scrolls like a short one. Everything is in whole logical
pixels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class RowHeights:
    """A growing list of non-negative heights with fast sums."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, row: int) -> int:
        return self._heights[row]

    def __setitem__(self, row: int, height: int) -> None:
        difference = height - self._heights[row]
        if not difference:
            return
        self._heights[row] = height
        index = row + 1
        while index < len(self._tree):
            self._tree[index] += difference
            index += index & -index

    def append(self, height: int) -> None:
        self._heights.append(height)
        index = len(self._heights)
        covered = index - (index & -index)
        self._tree.append(self.top(index - 1) - self.top(covered) + height)

    def top(self, row: int) -> int:
        """The sum of the heights before `row`; `row` may be the length, which gives the total."""
        total = 0
        while row:
            total += self._tree[row]
            row -= row & -row
        return total

    def total(self) -> int:
        return self.top(len(self._heights))

    def row_at(self, y: int) -> tuple[int, int]:
        """The row that covers `y` and the distance into it; clamped to the first and the last row.

        Raises:
            IndexError: there are no rows.
        """
        if not self._heights:
            raise IndexError("no rows")
        if y >= self.total():
            last = len(self._heights) - 1
            return last, self._heights[last]
        row, rest = 0, max(0, y)
        step = 1 << (len(self._heights).bit_length())
        while step:
            following = row + step
            if following < len(self._tree) and self._tree[following] <= rest:
                row = following
                rest -= self._tree[following]
            step >>= 1
        return row, rest


@dataclass(frozen=True, slots=True)
class Metrics:
    """What an estimate needs to know about the column: its width, and a line and a character of its font."""

    width: int
    line_height: float
    character_width: float
    padding: int
    """Space that every turn takes beside its text."""
    step_height: int
    """One tool step."""

    def text_height(self, characters: int, lines: int, width: int) -> float:
        """Wrapped text: each line of the source costs a line, and half a line of air."""
        if not characters:
            return 0.0
        wrapped = characters * self.character_width / max(1, width)
        return self.line_height * (wrapped + 0.7 * max(1, lines))
