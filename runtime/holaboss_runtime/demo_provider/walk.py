"""A day of work in one answer: the demo model plans, edits, asks, uses a skill, asks a question and reports.

The next step follows from how many calls have been answered since the person spoke. Calls of tools that are not there
are left out. Nothing is understood: the words are fixed but for what the person decided and answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.demo_provider import texts
from holaboss_runtime.demo_provider.reply import Prompt, Reply, ToolCall, words

PAGE = "demo/opening-hours.md"
COPY = "demo/opening-hours-before.md"
REPORT_TITLE = "Opening hours: what changed"
TONES = ("Short and plain", "Warm and personal")
_REFUSED = re.compile(r"The person (denied|discarded)|Denied by policy|Nobody answered")

_ANSWERED = re.compile(r"The person (chose|answered)")

_PAGE_TEXT = """\
# Opening hours

Monday to Friday, 9 to 17 o'clock.
Closed at the weekend.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What is said, and the calls that follow."""

    text: str
    calls: tuple[ToolCall, ...]

    def with_only(self, tools: frozenset[str]) -> Step:
        return Step(self.text, tuple(call for call in self.calls if call.name in tools))


def answer(prompt: Prompt, _: re.Match[str]) -> Reply:
    """The next step, or the summary when all have been made."""
    steps = [kept for step in _steps(prompt) if (kept := step.with_only(prompt.tools)).calls]
    answered = len(prompt.results)
    for step in steps:
        if answered == 0:
            return Reply(words(step.text), tool_calls=step.calls)
        answered -= len(step.calls)
    return Reply(words(f"{_summary(prompt, steps)}\n\n{texts.LABEL}"))


def _steps(prompt: Prompt) -> list[Step]:
    tone = _tone(prompt)
    return [
        Step("I make a plan first, so that you can follow.", (_call("todo", op="replace", phases=_PLAN),)),
        Step(
            "The page comes first. I write it as it is today, then I change one line of it.",
            (_call("write", path=PAGE, content=_PAGE_TEXT),),
        ),
        Step(
            "On Saturdays it is open now.",
            (
                _call(
                    "edit",
                    path=PAGE,
                    old_text="Closed at the weekend.",
                    new_text="Saturday, 10 to 14 o'clock. Closed on Sundays.",
                ),
                _done("task-1"),
            ),
        ),
        Step(
            "Copying a file is a command that changes something, so I ask you first.",
            (_call("bash", command=f"cp {PAGE} {COPY}"),),
        ),
        Step(
            "A skill tells me how things are done here. I look at one.",
            (_call("skill", name="skill-creator"), _done("task-2")),
        ),
        Step(
            "Before I write it up I need to know one thing from you.",
            (
                _call(
                    "question",
                    question="How should the report read?",
                    options=[
                        {"label": TONES[0], "description": "Facts, nothing else"},
                        {"label": TONES[1], "description": "As you would tell a colleague"},
                    ],
                ),
            ),
        ),
        Step(
            "Thank you. I write the report.",
            (
                _call("write_report", title=REPORT_TITLE, content=_report(tone), summary="Saturday is new."),
                _done("task-3"),
            ),
        ),
    ]


_PLAN: list[dict[str, Any]] = [
    {
        "name": "Opening hours",
        "tasks": [
            {"content": "Change the page"},
            {"content": "Keep a copy and look up how it is done here"},
            {"content": "Ask about the tone and write the report"},
        ],
    }
]


def _call(name: str, /, **arguments: Any) -> ToolCall:  # noqa: ANN401
    return ToolCall(name, arguments)


def _done(task: str) -> ToolCall:
    return _call("todo", op="update", id=task, status="completed")


def _tone(prompt: Prompt) -> str:
    """What the person answered, as far as a script can tell."""
    said = [result for result in prompt.results if _ANSWERED.match(result)]
    return next((tone for tone in TONES if any(tone in each for each in said)), TONES[0])


def _report(tone: str) -> str:
    opening = (
        "Good news: from now on somebody is there on Saturdays, too."
        if tone == TONES[1]
        else "Saturday hours were added."
    )
    return f"# {REPORT_TITLE}\n\n{opening}\n\n- Page: `{PAGE}`\n- New: Saturday, 10 to 14 o'clock\n"


def _summary(prompt: Prompt, steps: list[Step]) -> str:
    refused = any(_REFUSED.search(result) for result in prompt.results)
    done = ["planned the work", f"changed `{PAGE}`"]
    used = {call.name for step in steps for call in step.calls}
    if "bash" in used:
        done.append("did not copy the page, as you decided" if refused else f"kept a copy in `{COPY}`")
    if "skill" in used:
        done.append("looked up a skill")
    if "question" in used:
        done.append(f"asked you about the tone ({_tone(prompt).lower()})")
    if "write_report" in used:
        done.append("wrote a report")
    return "That was a day of work. I have:\n\n" + "\n".join(f"- {each}" for each in done)
