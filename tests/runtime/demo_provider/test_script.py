"""The demo script: what it answers to what, and that it never pretends to be a model."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holaboss_runtime.demo_provider import script
from holaboss_runtime.demo_provider.chat import ChatRequest, read_prompt
from holaboss_runtime.demo_provider.reply import Prompt, Reply, cut, words

TOOLS = frozenset({"bash", "read", "write"})


def ask(text: str, *results: str, tools: frozenset[str] = TOOLS) -> Reply:
    return script.answer(Prompt(text, results, tools))


def said(reply: Reply) -> str:
    return "".join(reply.text)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("Please list the files", "bash", {"command": "ls -la"}),
        ("run a command", "bash", {"command": "ls -la"}),
        ("Run the command `git status --short` now", "bash", {"command": "git status --short"}),
        ("read AGENTS.md", "read", {"path": "AGENTS.md"}),
        ("Could you read the file docs/a-b.txt?", "read", {"path": "docs/a-b.txt"}),
    ],
)
def test_calls_the_tool_that_was_asked_for(text: str, name: str, arguments: dict[str, str]) -> None:
    (call,) = ask(text).tool_calls
    assert (call.name, call.arguments) == (name, arguments)


def test_writes_a_note() -> None:
    (call,) = ask("write a note").tool_calls
    assert call.name == "write"
    assert call.arguments["path"].endswith(".md")
    assert call.arguments["content"].startswith("# ")


def test_shows_a_result_inside_a_fence_it_cannot_break() -> None:
    result = "````\n" + "\n".join(f"line {n}" for n in range(30))
    reply = ask("list files", result)
    assert reply.tool_calls == ()
    assert said(reply).count("`````") == 2
    assert "line 18" in said(reply)
    assert "… and 11 more lines" in said(reply)


@pytest.mark.parametrize(
    "told",
    [
        "The person denied this call. They said: no",
        "The person discarded this request.",
        "Denied by policy: x",
    ],
)
def test_does_not_claim_what_was_refused(told: str) -> None:
    reply = ask("Run `git status`", told)
    assert reply.tool_calls == ()
    assert told in said(reply)
    assert "did not do it" in said(reply)
    assert "printed" not in said(reply)


def directive(text: str, system: str = "End with <openboa-session-loop>{…}</openboa-session-loop>.") -> Any:
    answer = said(script.answer(Prompt(text, system=system)))
    assert "Scripted demo answer" in answer
    blocks = re.findall(r"<openboa-session-loop>(.*?)</openboa-session-loop>", answer, re.DOTALL)
    return json.loads(blocks[0]) if blocks else None


def test_asks_to_be_woken_again() -> None:
    block = directive("Please check again in 2 seconds.")
    assert block["outcome"] == "sleep"
    (wake,) = block["queuedWakes"]
    assert wake.keys() == {"reason", "delaySeconds", "note", "dedupeKey", "priority"}
    assert wake["delaySeconds"] == 2
    assert directive("check again in 999999 seconds")["queuedWakes"][0]["delaySeconds"] == 86_400
    assert directive("check again in 0 seconds")["queuedWakes"][0]["delaySeconds"] == 1


def test_what_it_leaves_for_its_next_wake_does_not_ask_for_another() -> None:
    block = directive("check again in 2 seconds")
    left = json.dumps(block)
    assert directive(left) is None


def test_asks_the_operator() -> None:
    block = directive("Please ask the operator for the figures of May\nand wait")
    assert block["customToolRequest"] == {"name": "operator", "input": {"request": "the figures of May"}}


@pytest.mark.parametrize("text", ["check again in 2 seconds", "ask the operator for a key"])
def test_says_so_where_there_is_no_loop(text: str) -> None:
    assert directive(text, system="") is None


def test_says_so_when_a_tool_is_not_offered() -> None:
    reply = ask("list files", tools=frozenset())
    assert reply.tool_calls == ()
    assert "`bash`" in said(reply)


def test_repeats_exactly_what_it_is_told() -> None:
    assert said(ask("Reply with exactly: OK")) == "OK"
    assert said(ask("reply with exactly: two\nlines and  spaces")) == "two\nlines and  spaces"


def test_thinks_only_when_asked() -> None:
    assert ask("think about it").thinking
    assert not ask("hello").thinking


@pytest.mark.parametrize(
    "text", ["hello", "think", "show markdown", "tell me everything", "what is this?", ""]
)
def test_every_answer_says_that_it_is_scripted(text: str) -> None:
    assert "Scripted demo answer" in said(ask(text))


def test_offers_only_what_it_understands() -> None:
    offered = [line[2:] for line in said(ask("hello")).splitlines() if line.startswith("- ")]
    assert len(offered) == len([intent for intent in script.INTENTS if intent.example])
    assert not [text for text in offered if "You wrote" in said(ask(text))]


def test_the_long_answer_is_long() -> None:
    assert len(ask("tell me everything").text) > 1_000


def test_counts_what_it_used() -> None:
    reply = script.answer(Prompt("Reply with exactly: one two three", size=400))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (101, 3)


@given(st.text(), st.integers(1, 9))
def test_pieces_join_to_the_text_again(text: str, size: int) -> None:
    assert "".join(words(text)) == text
    assert "".join(cut(text, size)) == text
    assert "" not in words(text)


def test_the_frame_of_an_event_is_not_quoted() -> None:
    framed = '<session-event type="user.message" id="1">\nlist the files\n</session-event>'
    request = ChatRequest.model_validate({"model": "demo", "messages": [{"role": "user", "content": framed}]})
    assert read_prompt(request).text == "list the files"
