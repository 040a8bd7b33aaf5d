from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holaboss_runtime.harness.host.deltas import LONGEST_CHARS, MERGED_CHARS, DeltaMerger
from holaboss_runtime.harness.host.text import bounded_arguments, clip, plain_text, valid_text

PIECES = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=400), st.booleans()), max_size=60)


def merge(pieces: list[tuple[int, str, bool]]) -> list[dict[str, Any]]:
    merger = DeltaMerger()
    events: list[Any] = []
    for index, text, flush_after in pieces:
        events += merger.push(index, "thinking" if index % 2 else "output", text)
        events += merger.flush() if flush_after else []
    return [event.payload for event in events + merger.flush()]


@given(PIECES)
def test_merging_changes_neither_text_nor_order(pieces: list[tuple[int, str, bool]]) -> None:
    expected: dict[int, str] = defaultdict(str)
    for index, text, _ in pieces:
        expected[index] += text
    told: dict[int, str] = defaultdict(str)
    for delta in merge(pieces):
        assert delta["offset"] == len(told[delta["content_index"]])
        assert delta["delta"]
        told[delta["content_index"]] += delta["delta"]
    assert told == {index: text for index, text in expected.items() if text}


@given(PIECES)
def test_each_part_begins_at_once_and_alone(pieces: list[tuple[int, str, bool]]) -> None:
    first_pieces: dict[int, str] = {}
    for index, text, _ in pieces:
        if text:
            first_pieces.setdefault(index, text)
    first_deltas: dict[int, str] = {}
    for delta in merge(pieces):
        first_deltas.setdefault(delta["content_index"], delta["delta"])
    assert first_deltas == first_pieces


def test_many_small_pieces_become_few_events() -> None:
    deltas = merge([(0, "token ", False)] * 10_000)
    assert len(deltas) <= 10_000 * 6 / MERGED_CHARS + 2


def test_one_huge_piece_is_cut_into_events_of_bounded_size() -> None:
    deltas = merge([(0, "x" * (3 * LONGEST_CHARS + 1), False)])
    assert [len(delta["delta"]) for delta in deltas] == [LONGEST_CHARS] * 3 + [1]


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_text_can_always_be_encoded(text: str) -> None:
    assert valid_text(text).encode().decode() == valid_text(text)


def test_surrogate_halves_become_the_character_they_are() -> None:
    assert valid_text("\ud83d\ude00 \ud83d") == "😀 �"


def test_program_output_loses_what_could_fool_a_reader() -> None:
    assert plain_text(b"\x1b[31mred\x1b[0m\r\n\x00\x07\xe2\x80\xaeback\xff") == "red\nback�"


def test_clipping_keeps_both_ends() -> None:
    clipped = clip("a" * 500 + "b" * 500, 100)
    assert clipped.startswith("a" * 50 + "\n[…")
    assert clipped.endswith("b" * 50)


def test_arguments_are_bounded() -> None:
    shown = bounded_arguments({"path": "a", "content": "x" * 100_000, "more": ["y" * 20_000], "last": 1})
    assert shown["path"] == "a"
    assert len(str(shown)) < 9 * 1024
    assert "last" not in shown
