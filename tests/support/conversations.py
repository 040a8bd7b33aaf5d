"""Conversations of any size for the transcript: the same seed gives the same text, events and index rows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from holaboss_client.events import OutputEvent
from holaboss_client.sessions import Turn, TurnIndex

WORKSPACE, SESSION = "w1", "s1"
WORDS = [
    "the",
    "model",
    "returns",
    "a",
    "stream",
    "of",
    "tokens",
    "and",
    "the",
    "client",
    "keeps",
    "the",
    "transcript",
    "in",
    "order",
    "while",
    "tools",
    "run",
    "in",
    "a",
    "sandbox",
    "each",
    "step",
    "records",
    "what",
    "changed",
    "so",
    "that",
    "a",
    "retry",
    "can",
    "resume",
    "from",
    "the",
    "last",
    "durable",
    "event",
    "without",
    "asking",
    "again",
    "latency",
    "memory",
    "buffer",
    "schema",
    "index",
    "cursor",
    "queue",
    "lease",
    "worker",
    "session",
    "folder",
    "patch",
    "review",
]


class Writer:
    """Makes up Markdown."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self) -> str:
        r = self._random
        words = [r.choice(WORDS) for _ in range(r.randint(6, 18))]
        if r.random() < 0.25:
            words[0] = f"`{r.choice(WORDS)}_{r.choice(WORDS)}()`"
        if r.random() < 0.2:
            words[-1] = f"**{r.choice(WORDS)} {r.choice(WORDS)}**"
        return " ".join(words).capitalize() + "."

    def paragraph(self, most: int = 5) -> str:
        return " ".join(self.sentence() for _ in range(self._random.randint(1, most)))

    def code(self, lines: int = 30) -> str:
        r = self._random
        body = [
            f"{'    ' * r.randint(0, 2)}{r.choice(WORDS)} = call({r.randint(0, 999)})  # {r.choice(WORDS)}"
            for _ in range(lines)
        ]
        return "\n".join(["```python", *body, "```"])

    def bullets(self, most: int = 7) -> str:
        return "\n".join(f"- {self.sentence()}" for _ in range(self._random.randint(3, most)))

    def table(self, rows: int = 6) -> str:
        r = self._random
        body = ["| " + " | ".join(r.choice(WORDS) for _ in range(3)) + " |" for _ in range(rows)]
        return "\n".join(["| One | Two | Three |", "|---|---|---|", *body])

    def answer(self) -> str:
        kinds = [self.paragraph, self.paragraph, self.bullets, self.table, self.code]
        blocks = [
            self.paragraph(),
            *(self._random.choice(kinds)() for _ in range(self._random.randint(1, 5))),
        ]
        return "\n\n".join(blocks)

    def long_answer(self, characters: int = 50_000) -> str:
        text = ""
        while len(text) < characters:
            text += f"{self.answer()}\n\n{self.code()}\n\n"
        return text[:characters]

    def pieces(self, text: str, count: int) -> list[str]:
        cuts = sorted(self._random.sample(range(1, len(text)), count - 1))
        return [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


class Events:
    """Output events of one input, numbered as the runtime does it."""

    def __init__(self, input_id: str, first_id: int = 1, first_sequence: int = 1) -> None:
        self.input_id = input_id
        self._id = first_id - 1
        self._sequence = first_sequence - 1
        self._offsets: dict[int, int] = {}

    def event(self, kind: str, **payload: Any) -> OutputEvent:
        self._id += 1
        self._sequence += 1
        return OutputEvent(
            id=self._id,
            workspace_id=WORKSPACE,
            session_id=SESSION,
            input_id=self.input_id,
            sequence=self._sequence,
            event_type=kind,
            created_at=f"2026-01-02T10:{self._sequence // 60 % 60:02}:{self._sequence % 60:02}.000Z",
            payload=payload,
        )

    def started(self, model: str = "scripted", provider: str = "demo") -> list[OutputEvent]:
        return [self.event("run_claimed"), self.event("run_started", provider_id=provider, model_id=model)]

    def delta(self, text: str, part: int = 0, *, thinking: bool = False) -> OutputEvent:
        offset = self._offsets.get(part, 0)
        self._offsets[part] = offset + len(text)
        kind = "thinking_delta" if thinking else "output_delta"
        return self.event(kind, delta=text, content_index=part, offset=offset, delta_kind=kind)

    def tool(
        self,
        part: int,
        name: str,
        arguments: dict[str, Any],
        result: str | None,
        *,
        error: bool = False,
        changed: list[str] | None = None,
        details: dict[str, Any] | None = None,
    ) -> Iterator[OutputEvent]:
        call = {"call_id": f"call-{part}", "content_index": part, "tool_name": name, "tool_args": arguments}
        yield self.event("tool_call", phase="started", **call)
        if result is not None:
            content = {"content": [{"type": "text", "text": result}], "details": details or {}}
            done = {"result": content, "error": error, "changed_paths": changed or []}
            yield self.event("tool_call", phase="completed", **call, **done)

    def completed(self, status: str = "success") -> OutputEvent:
        usage = {"input_tokens": 1840, "output_tokens": 356, "cached_input_tokens": 1200}
        return self.event("run_completed", status=status, usage=usage)

    def failed(self, code: str, message: str) -> OutputEvent:
        return self.event(
            "run_failed",
            type=code,
            message=message,
            provider_id="openai_direct",
            model_id="gpt-5",
            retryable=False,
        )


def turn(seq: int, text: str, events: Iterable[OutputEvent]) -> Turn:
    listed = list(events)
    return Turn(
        seq=seq,
        input_id=listed[0].input_id,
        text=text,
        status="completed",
        created_at=listed[0].created_at,
        events=listed,
    )


def index(turns: Iterable[Turn], *, live: str | None = None) -> TurnIndex:
    """What the runtime's turn index says about `turns`."""
    rows: list[tuple[int, str, int, int, int, int, int]] = []
    for item in turns:
        answer = "".join(
            event.payload["delta"] for event in item.events if event.event_type == "output_delta"
        )
        steps = sum(event.event_type == "tool_call" for event in item.events) // 2
        size = (len(item.text), item.text.count("\n") + 1, len(answer), answer.count("\n") + 1, steps)
        rows.append((item.seq, item.input_id, *size))
    return TurnIndex(session_id=SESSION, rows=rows, live_input_id=live, queued=[], last_event_id=0)


def long_conversation(turns: int, seed: int = 7) -> list[Turn]:
    writer = Writer(seed)
    result: list[Turn] = []
    for number in range(1, turns + 1):
        events = Events(f"input-{number}", first_id=number * 10)
        listed = [*events.started(), events.delta(writer.answer()), events.completed()]
        result.append(turn(number, writer.paragraph(3), listed))
    return result
