"""The loop block of an agent never reaches a screen, however it is cut into pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holaboss_client.events import RunEvent
from holaboss_runtime.sessions.speech import Said, Speech

BLOCK = '<openboa-session-loop>{"outcome": "sleep"}</openboa-session-loop>'


def _delta(text: str, offset: int, index: int = 0) -> dict[str, Any]:
    return {"delta": text, "content_index": index, "offset": offset, "delta_kind": "output"}


def _play(pieces: list[str], speech: Speech | None = None) -> list[Said]:
    speech = speech or Speech()
    said: list[Said] = []
    offset = 0
    for piece in pieces:
        said += speech.hear(RunEvent.OUTPUT_DELTA, _delta(piece, offset))
        offset += len(piece)
    return said + speech.end()


def _joined(said: list[Said]) -> str:
    text = ""
    for _, payload in said:
        assert payload["offset"] == len(text), "offsets follow what was shown"
        text += payload["delta"]
    return text


@given(
    st.text(alphabet="ab<>/ -openbasil", max_size=60),
    st.text(alphabet="ab<>/ ", max_size=20),
    st.data(),
)
def test_a_block_vanishes_and_the_rest_stays(before: str, after: str, data: st.DataObject) -> None:
    whole = before + BLOCK + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    assert _joined(_play(pieces)) == before + after


def test_text_without_a_block_comes_at_once() -> None:
    speech = Speech()
    assert speech.hear(RunEvent.OUTPUT_DELTA, _delta("Hello", 0)) == [
        (RunEvent.OUTPUT_DELTA, _delta("Hello", 0))
    ]


def test_what_only_looks_like_a_tag_is_said_before_anything_else() -> None:
    speech = Speech()
    assert _joined(speech.hear(RunEvent.OUTPUT_DELTA, _delta("a <open", 0))) == "a "
    said = speech.hear(RunEvent.TOOL_CALL, {"phase": "started"})
    assert said == [
        (RunEvent.OUTPUT_DELTA, _delta("<open", 2)),
        (RunEvent.TOOL_CALL, {"phase": "started"}),
    ]


def test_a_block_that_is_never_closed_stays_hidden() -> None:
    assert _joined(_play(["Done.", "<openboa-session-loop>{", '"outcome": "sleep"'])) == "Done."


def test_each_part_has_offsets_of_its_own() -> None:
    speech = Speech()
    first = speech.hear(RunEvent.OUTPUT_DELTA, _delta("one", 0, index=0))
    second = speech.hear(RunEvent.OUTPUT_DELTA, _delta("two", 0, index=2))
    assert [payload["offset"] for _, payload in first + second] == [0, 0]
