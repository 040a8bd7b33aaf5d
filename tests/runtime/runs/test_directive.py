"""The loop block of an answer: found in any disguise, bounded in every field, and never a reason to fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_runtime.runs.directive import (
    MAX_DELAY_S,
    CustomToolWish,
    Directive,
    LearningWish,
    WakeWish,
    parse_directive,
    resolve,
    summary_of,
)

OPEN, CLOSE = "<openboa-session-loop>", "</openboa-session-loop>"


def block(**fields: Any) -> str:
    return f"{OPEN}{json.dumps({'outcome': 'sleep', **fields})}{CLOSE}"


def directive(**fields: Any) -> Directive:
    _, found = parse_directive(f"Done.\n\n{block(**fields)}")
    assert found is not None
    return found


def test_a_block_becomes_a_directive_and_leaves_the_answer() -> None:
    text = "All is well.\n\n" + block(
        outcome="continue",
        summary=" Checked the build. ",
        followUpSeconds=90.9,
        queuedWakes=[
            {"reason": "look again", "delaySeconds": 600, "note": "n", "dedupeKey": "k", "priority": "high"}
        ],
        learnings=[
            {"kind": "error", "title": "T", "detail": "D", "promoteToMemory": True, "dedupeKey": "t"},
        ],
        customToolRequest={"name": "deploy", "input": {"to": "staging"}},
    )
    assert parse_directive(text) == (
        "All is well.",
        Directive(
            outcome="continue",
            summary="Checked the build.",
            follow_up_seconds=90,
            wakes=(WakeWish("look again", 600, "n", "k", "high"),),
            learnings=(LearningWish("error", "T", "D", True, "t"),),
            custom_tool=CustomToolWish("deploy", {"to": "staging"}),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        f'Hi.\n{OPEN}\n{{"outcome": "continue"}}\n{CLOSE}',
        f'Hi.\n\n```json\n{OPEN}\n{{"outcome": "continue"}}\n{CLOSE}\n```',
        f'Hi.\n\n```\n{OPEN}{{"outcome": "continue"}}{CLOSE}',
        f'Hi.\n{OPEN}\n```json\n{{"outcome": "continue"}}\n```\n{CLOSE}\n',
        f'Hi.\n{OPEN}\n```json\n{{"outcome": "continue"}}\n```',
        f'Hi.\n{OPEN}{{"outcome": "continue"}}',
        'Hi.\n< OpenBoa-Session-Loop >{"outcome": "continue"}< / openboa-session-loop >',
        f'{OPEN}{{"outcome": "continue", "summary": "ends in {CLOSE} inside"}}{CLOSE}\n\nHi.',
        f'Hi.\n{OPEN}{{"outcome": "continue", "summary": "a\nb"}};{CLOSE}',
    ],
)
def test_fences_a_missing_end_tag_and_sloppy_json_are_tolerated(text: str) -> None:
    visible, found = parse_directive(text)
    assert visible == "Hi."
    assert found is not None
    assert found.outcome == "continue"


def test_only_the_first_block_counts_and_the_text_around_it_stays() -> None:
    visible, found = parse_directive(f"One.\n{block(summary='first')}\nTwo.\n{block(summary='second')}")
    assert visible.startswith("One.\n\nTwo.")
    assert found is not None
    assert found.summary == "first"


def test_a_code_block_before_the_loop_block_keeps_its_fences() -> None:
    visible, found = parse_directive(f"```py\nprint(1)\n```\n{block()}")
    assert visible == "```py\nprint(1)\n```"
    assert found is not None


@pytest.mark.parametrize("text", ["", "Just an answer.", f"I end with `{OPEN}` as told.", f"`{CLOSE}` alone"])
def test_an_answer_without_a_block_has_no_directive(text: str) -> None:
    assert parse_directive(text) == (text, None)


def test_a_tag_that_is_only_mentioned_does_not_hide_the_block() -> None:
    visible, found = parse_directive(f"The `{OPEN}` block follows.\n{block(summary='here')}")
    assert visible == f"The `{OPEN}` block follows."
    assert found is not None
    assert found.summary == "here"


@pytest.mark.parametrize(
    "inside", ["sleep", "[1]", '{"outcome": "continue"', "", "{" * 100_000, '{"a": ' * 100_000, "null"]
)
def test_a_block_that_cannot_be_read_is_removed_and_means_sleep(inside: str) -> None:
    visible, found = parse_directive(f"Hi.\n{OPEN}{inside}{CLOSE}")
    assert visible == "Hi."
    assert found is not None
    assert found.outcome == "sleep"
    assert "not a JSON object" in found.problems[0]


def test_a_block_that_was_cut_off_is_removed() -> None:
    visible, found = parse_directive(f'Hi.\n{OPEN}{{"outcome": "conti')
    assert visible == "Hi."
    assert found is not None
    assert found.outcome == "sleep"


@pytest.mark.parametrize(
    ("delay", "kept"),
    [
        (1, 1),
        (59.99, 59),
        (10**9, MAX_DELAY_S),
        (10**400, MAX_DELAY_S),
        (0, None),
        (0.5, None),
        (-5, None),
        (True, None),
        ("60", None),
        (None, None),
        ([1], None),
    ],
)
def test_delays_are_whole_positive_and_capped(delay: object, kept: int | None) -> None:
    found = directive(
        followUpSeconds=delay, outcome="continue", queuedWakes=[{"reason": "r", "delaySeconds": delay}]
    )
    assert found.follow_up_seconds == kept
    assert [wake.delay_seconds for wake in found.wakes] == ([] if kept is None else [kept])
    assert any("queued wake was left out" in problem for problem in found.problems) == (kept is None)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_numbers_that_are_none_do_no_harm(number: str) -> None:
    _, found = parse_directive(
        f'{OPEN}{{"outcome": "continue", "followUpSeconds": {number},'
        f' "customToolRequest": {{"name": "t", "input": {{"n": {number}}}}}}}{CLOSE}'
    )
    assert found is not None
    assert found.follow_up_seconds in (None, MAX_DELAY_S)
    assert found.custom_tool == CustomToolWish("t", {"n": None})


def test_lists_are_bounded_and_unknown_words_are_mapped() -> None:
    found = directive(
        outcome="dance",
        queuedWakes=[{"reason": f"r{n}", "delaySeconds": 5, "priority": "urgent"} for n in range(5)]
        + ["x", {"delaySeconds": 5}],
        learnings=[{"kind": "wisdom", "title": "t" * 500, "detail": "d" * 900} for _ in range(5)],
    )
    assert found.outcome == "sleep"
    assert [wake.reason for wake in found.wakes] == ["r0", "r1", "r2"]
    assert {wake.priority for wake in found.wakes} == {"normal"}
    assert len(found.learnings) == 3
    assert {(learning.kind, len(learning.title), len(learning.detail)) for learning in found.learnings} == {
        ("lesson", 120, 400)
    }
    assert len(found.problems) == 4


def test_a_learning_without_a_title_is_named_by_its_detail() -> None:
    found = directive(learnings=[{"detail": "x" * 300}, {"kind": "lesson"}])
    assert [(learning.title, len(learning.detail)) for learning in found.learnings] == [
        ("x" * 119 + "…", 300)
    ]


@pytest.mark.parametrize("given_input", [None, [], "text", 3])
def test_the_input_of_a_custom_tool_is_an_object(given_input: object) -> None:
    assert directive(customToolRequest={"name": "t", "input": given_input}).custom_tool == CustomToolWish(
        "t", {}
    )


@pytest.mark.parametrize(
    "request_", [{}, {"name": ""}, {"name": "two words"}, {"name": "x" * 129}, "deploy", 1]
)
def test_a_custom_tool_without_a_usable_name_is_reported(request_: object) -> None:
    found = directive(customToolRequest=request_)
    assert found.custom_tool is None
    assert "customToolRequest" in found.problems[0]


def test_an_input_that_is_nested_too_deep_is_left_out() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    found = directive(customToolRequest={"name": "t", "input": {"a": deep}})
    assert found.custom_tool == CustomToolWish("t", {})
    assert "nested deeper" in found.problems[0]


def test_text_that_no_database_stores_is_cleaned() -> None:
    _, found = parse_directive(f'{OPEN}{{"outcome": "sleep", "summary": "a\\ud800b\\u0000c"}}{CLOSE}')
    assert found is not None
    assert found.summary == "a?bc"


def test_a_summary_falls_back_to_the_beginning_of_the_answer() -> None:
    assert summary_of("Long  answer\nhere.", None) == "Long answer here."
    assert summary_of("Answer.", Directive(summary="Mine.")) == "Mine."
    assert summary_of("Answer.", Directive()) == "Answer."
    assert len(summary_of("word " * 500, None)) <= 220
    assert summary_of("", None) == ""


def test_continuing_is_counted_and_capped_and_sleep_resets() -> None:
    wish = Directive(outcome="continue", summary="more to do")
    consecutive, seen = 0, list[str]()
    for _ in range(4):
        resolution = resolve(wish, consecutive=consecutive, max_follow_ups=3, default_interval_s=300)
        consecutive = resolution.consecutive
        seen.append(resolution.outcome)
    assert seen == ["continue", "continue", "continue", "sleep"]
    assert (resolution.capped, resolution.consecutive, resolution.wakes) == (True, 0, ())
    asleep = resolve(Directive(), consecutive=2, max_follow_ups=3, default_interval_s=300)
    assert (asleep.outcome, asleep.consecutive, asleep.capped) == ("sleep", 0, False)
    assert resolve(None, consecutive=2, max_follow_ups=3, default_interval_s=300) == asleep


def test_the_follow_up_is_a_wake_like_any_other() -> None:
    own, reserved = WakeWish("own", 9, dedupe_key="own"), WakeWish("mine", 5, dedupe_key="follow-up")
    wish = Directive(outcome="continue", summary="go on", wakes=(own, reserved))
    resolution = resolve(wish, consecutive=0, max_follow_ups=3, default_interval_s=300)
    assert resolution.wakes == (WakeWish("session.follow_up", 300, "go on", "follow-up"), own)
    soon = Directive(outcome="continue", follow_up_seconds=7)
    assert resolve(soon, consecutive=0, max_follow_ups=3, default_interval_s=300).wakes[0].delay_seconds == 7
    asleep = resolve(Directive(wakes=(own,)), consecutive=1, max_follow_ups=3, default_interval_s=300)
    assert asleep.wakes == (own,)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=12,
)
_wakes = st.lists(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("reason", "delaySeconds", "note", "dedupeKey", "priority"), _values)
    ),
    max_size=8,
)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "outcome": st.sampled_from(["sleep", "continue", "x"]) | _values,
        "summary": st.text(max_size=3_000) | _values,
        "followUpSeconds": _values,
        "queuedWakes": _wakes | _values,
        "learnings": _values
        | st.lists(st.dictionaries(st.sampled_from(["kind", "title", "detail"]), _values)),
        "customToolRequest": _values | st.fixed_dictionaries({"name": st.just("tool"), "input": _values}),
    },
)
_pieces = st.lists(
    st.sampled_from([OPEN, CLOSE, "```json\n", "```", "\n", " ", "{", "}", '"', "text", "{}", "null"])
    | st.text(max_size=20)
    | _fields.map(json.dumps),
    max_size=12,
).map("".join)


@given(_pieces | _fields.map(lambda fields: f"Hi.\n{OPEN}\n{json.dumps(fields)}\n{CLOSE}"))
def test_no_answer_raises_and_the_limits_always_hold(text: str) -> None:
    visible, found = parse_directive(text)
    assert len(visible) <= len(text) + 2
    assert len(summary_of(visible, found)) <= 1_000
    if found is None:
        assert visible == text.strip()
        return
    assert found.outcome in ("sleep", "continue")
    assert len(found.wakes) <= 3
    assert len(found.learnings) <= 3
    for wake in found.wakes:
        assert 1 <= wake.delay_seconds <= MAX_DELAY_S
        assert 1 <= len(wake.reason) <= 200
        assert wake.priority in ("low", "normal", "high")
    for learning in found.learnings:
        assert learning.kind in ("lesson", "correction", "error")
        assert 1 <= len(learning.title) <= 120
        assert len(learning.detail) <= 400
    assert found.follow_up_seconds is None or 1 <= found.follow_up_seconds <= MAX_DELAY_S
    if found.custom_tool:
        json.dumps(found.custom_tool.input, allow_nan=False).encode()
    resolution = resolve(found, consecutive=1, max_follow_ups=3, default_interval_s=300)
    assert len(resolution.wakes) <= 4
    assert resolution.consecutive in (0, 2)
