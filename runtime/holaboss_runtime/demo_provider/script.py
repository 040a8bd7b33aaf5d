"""What the demo model answers: a table of intents, matched against the last user message, first match wins.

It deliberately understands nothing beyond these patterns, and every answer of its own says it is scripted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holaboss_runtime.demo_provider import texts, walk
from holaboss_runtime.demo_provider.reply import Prompt, Reply, ToolCall, Usage, words

SHOWN_LINES = 20
NOTE_PATH = "demo-note.md"
LOOP = "openboa-session-loop"
LONGEST_DELAY_S = 86_400
REFUSED = re.compile(r"The person (denied|discarded)|Denied by policy")
NOT_DONE = "I did not do it. I was told:"


@dataclass(frozen=True, slots=True)
class Intent:
    """`example` is offered to people as something to try."""

    pattern: re.Pattern[str]
    answer: Callable[[Prompt, re.Match[str]], Reply]
    example: str | None = None


def answer(prompt: Prompt) -> Reply:
    """The reply of the first intent whose pattern is found; without one, an explanation."""
    for intent in INTENTS:
        if match := intent.pattern.search(prompt.text):
            return _with_usage(intent.answer(prompt, match), prompt)
    return _with_usage(_explain(prompt), prompt)


def _with_usage(reply: Reply, prompt: Prompt) -> Reply:
    written = sum(len(str(call.arguments)) // 4 for call in reply.tool_calls)
    usage = Usage(prompt.size // 4 + 1, len(reply.text) + len(reply.thinking) + written)
    return Reply(reply.text, reply.thinking, reply.tool_calls, usage)


def _say(text: str, *, thinking: str = "") -> Reply:
    return Reply(words(f"{text}\n\n{texts.LABEL}"), words(thinking))


def _say_and(text: str, block: str) -> Reply:
    return Reply(words(f"{text}\n\n{texts.LABEL}\n\n{block}"))


def _exactly(_: Prompt, match: re.Match[str]) -> Reply:
    return Reply(words(match["text"].strip()))


def _use(prompt: Prompt, tool: str, arguments: dict[str, Any], *, before: str, after: str) -> Reply:
    """Call `tool` first; once its result is there, show it. Without that tool, say so."""
    if prompt.results:
        result = prompt.results[-1]
        return _say(f"{NOT_DONE if REFUSED.match(result) else after}\n\n{_quoted(result)}")
    if tool not in prompt.tools:
        return _say(f"I would call the tool `{tool}` now, but it is not offered in this conversation.")
    return Reply(words(before), tool_calls=(ToolCall(tool, arguments),))


def _quoted(result: str) -> str:
    lines = result.strip("\n").splitlines() or ["(no output)"]
    shown = lines[:SHOWN_LINES]
    if len(lines) > SHOWN_LINES:
        shown.append(f"… and {len(lines) - SHOWN_LINES} more lines")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", result)), default=0))
    return "\n".join([f"{fence}text", *shown, fence])


def _run_command(prompt: Prompt, match: re.Match[str]) -> Reply:
    command = match.groupdict().get("command") or "ls -la"
    return _use(
        prompt,
        "bash",
        {"command": command},
        before=f"I will run `{command}` in the workspace.",
        after=f"This is what `{command}` printed:",
    )


def _write_note(prompt: Prompt, _: re.Match[str]) -> Reply:
    return _use(
        prompt,
        "write",
        {"path": NOTE_PATH, "content": texts.NOTE},
        before=f"I will write a short note to `{NOTE_PATH}`.",
        after=f"The note is in `{NOTE_PATH}`; the tool said:",
    )


def _read_file(prompt: Prompt, match: re.Match[str]) -> Reply:
    path = match["path"]
    return _use(
        prompt, "read", {"path": path}, before=f"I will read `{path}`.", after=f"This is what `{path}` says:"
    )


def _check_again(prompt: Prompt, match: re.Match[str]) -> Reply:
    delay = min(max(int(match["seconds"]), 1), LONGEST_DELAY_S)
    wake = {
        "reason": "demo.revisit",
        "delaySeconds": delay,
        "note": "The demo model was asked to look once more.",
        "dedupeKey": "demo.revisit",
        "priority": "normal",
    }
    return _direct(prompt, f"I will look once more after {delay} seconds.", queuedWakes=[wake])


def _ask_operator(prompt: Prompt, match: re.Match[str]) -> Reply:
    wanted = " ".join(match["wanted"].split())[:200]
    request = {"name": "operator", "input": {"request": wanted}}
    return _direct(prompt, f"I have passed this on to the operator: {wanted}", customToolRequest=request)


def _direct(prompt: Prompt, text: str, **fields: object) -> Reply:
    """Say `text` and what is to happen next, where the system prompt offers the block for it."""
    if LOOP not in prompt.system:
        return _say(f"Only a session of an agent can do that, and this is none. {_what_to_try()}")
    directive = json.dumps({"outcome": "sleep", "summary": text, **fields}, ensure_ascii=False)
    return _say_and(text, f"<{LOOP}>{directive}</{LOOP}>")


def _markdown(_: Prompt, __: re.Match[str]) -> Reply:
    return _say(texts.MARKDOWN)


def _everything(_: Prompt, __: re.Match[str]) -> Reply:
    return _say(texts.everything())


def _think(_: Prompt, __: re.Match[str]) -> Reply:
    return _say(texts.AFTER_THINKING, thinking=texts.THINKING)


def _greet(_: Prompt, __: re.Match[str]) -> Reply:
    return _say(f"Hello! I am the demo model and follow a script. {_what_to_try()}")


def _explain(prompt: Prompt) -> Reply:
    asked = " ".join(prompt.text.split())
    shown = asked if len(asked) <= 200 else f"{asked[:200]}…"
    return _say(f"You wrote:\n\n> {shown or '(nothing)'}\n\n{texts.NO_MODEL} {_what_to_try()}")


def _what_to_try() -> str:
    examples = (f"- {intent.example}" for intent in INTENTS if intent.example)
    return "You can try:\n\n" + "\n".join(examples)


def _intent(
    pattern: str, answered_by: Callable[[Prompt, re.Match[str]], Reply], example: str | None = None
) -> Intent:
    return Intent(re.compile(pattern, re.IGNORECASE), answered_by, example)


INTENTS = (
    _intent(r"reply with exactly:\s*(?P<text>(?s:.+))", _exactly, "Reply with exactly: OK"),
    _intent(r"\bday of work\b", walk.answer, "Show me a day of work"),
    _intent(r"\brun\b[^`\n]*`(?P<command>[^`\n]+)`", _run_command, "Run `git status`"),
    _intent(r"\brun a command\b|\blist (the |all |my )?files\b", _run_command, "List the files"),
    _intent(r"\bcheck again in (?P<seconds>\d{1,6}) seconds?\b", _check_again),
    _intent(r"\bask the operator for (?P<wanted>[^\n]+)", _ask_operator),
    _intent(r"\bwrite (me )?a note\b", _write_note, "Write a note"),
    _intent(r"\bread\b[^\n]*?(?P<path>[\w./-]*[\w-]\.\w+)", _read_file, "Read AGENTS.md"),
    _intent(r"\bmarkdown\b", _markdown, "Show markdown"),
    _intent(r"\btell me everything\b", _everything, "Tell me everything (a long answer)"),
    _intent(r"\bthink\b", _think, "Think about it"),
    _intent(r"^\s*(hello|hi|hey|good (morning|afternoon|evening))\b", _greet),
)
