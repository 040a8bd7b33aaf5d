"""A day of work with the demo model: each step follows from the answers alone."""

from __future__ import annotations

from holaboss_runtime.demo_provider import script, walk
from holaboss_runtime.demo_provider.reply import Prompt, Reply

ASKED = "Show me a day of work"
ALL = frozenset({"todo", "write", "edit", "bash", "skill", "question", "write_report"})


def take(tools: frozenset[str] = ALL, **answers: str) -> tuple[list[str], Reply]:
    """The tools that were called, in order, until the model has nothing to call; and its last answer."""
    results: list[str] = []
    called: list[str] = []
    while True:
        reply = script.answer(Prompt(ASKED, tuple(results), tools))
        if not reply.tool_calls:
            return called, reply
        called += [call.name for call in reply.tool_calls]
        results += [answers.get(call.name, "ok") for call in reply.tool_calls]


def said(reply: Reply) -> str:
    return "".join(reply.text)


def test_the_whole_day_in_order() -> None:
    called, last = take(question=f"The person answered: {walk.TONES[1]}")
    work = [name for name in called if name != "todo"]
    assert work == ["write", "edit", "bash", "skill", "question", "write_report"]
    assert called.count("todo") == 4
    assert "kept a copy" in said(last)
    assert walk.TONES[1].lower() in said(last)
    assert "Scripted demo answer" in said(last)


def test_the_answer_decides_how_the_report_reads() -> None:
    results = ["ok"] * 7 + [f"The person chose: {walk.TONES[1]}."]
    reply = script.answer(Prompt(ASKED, tuple(results), ALL))
    assert reply.tool_calls[0].name == "write_report"
    assert "Good news" in reply.tool_calls[0].arguments["content"]


def test_a_denial_is_taken_for_an_answer() -> None:
    called, last = take(bash="The person denied this call.")
    assert called[-2:] == ["write_report", "todo"]
    assert "did not copy" in said(last)


def test_steps_without_their_tool_are_left_out() -> None:
    called, last = take(frozenset({"write", "edit"}))
    assert called == ["write", "edit"]
    assert "report" not in said(last)
