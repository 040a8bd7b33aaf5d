"""Row heights against the obvious slow way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_app.core.heights import Metrics, RowHeights

HEIGHTS = st.lists(st.integers(0, 900), max_size=40)


@given(HEIGHTS, st.lists(st.tuples(st.integers(0, 100), st.integers(0, 900)), max_size=30), HEIGHTS)
def test_sums_are_those_of_a_plain_list(
    start: list[int], changes: list[tuple[int, int]], added: list[int]
) -> None:
    plain, heights = list(start), RowHeights(start)
    for row, height in changes:
        if row < len(plain):
            plain[row] = heights[row] = height
    for height in added:
        plain.append(height)
        heights.append(height)
    assert len(heights) == len(plain)
    assert [heights[row] for row in range(len(plain))] == plain
    assert [heights.top(row) for row in range(len(plain) + 1)] == [
        sum(plain[:row]) for row in range(len(plain) + 1)
    ]
    assert heights.total() == sum(plain)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=40), st.integers(-50, 40_000))
def test_the_row_at_a_place_covers_it(start: list[int], y: int) -> None:
    heights = RowHeights(start)
    row, inside = heights.row_at(y)
    assert heights.top(row) + inside == max(0, min(y, heights.total()))
    assert 0 <= inside <= heights[row]


def test_rows_without_height_are_passed_over() -> None:
    assert RowHeights([0, 0, 10, 0, 5]).row_at(3) == (2, 3)
    assert RowHeights([0, 0, 10, 0, 5]).row_at(10) == (4, 0)


def test_there_is_nothing_in_an_empty_column() -> None:
    with pytest.raises(IndexError):
        RowHeights().row_at(0)


def test_more_text_is_estimated_higher() -> None:
    metrics = Metrics(width=700, line_height=20, character_width=7, padding=40, step_height=30)
    short, long = metrics.text_height(100, 1, 700), metrics.text_height(5_000, 60, 700)
    assert metrics.text_height(0, 0, 700) == 0
    assert 20 <= short < long
