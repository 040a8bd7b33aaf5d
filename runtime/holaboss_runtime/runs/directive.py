"""What an agent asks of its own session at the end of an answer: sleep or continue, wakes, learnings, a custom tool.

The answer is free text that ends with one JSON object between `openboa-session-loop` tags. A model wrote it, so nothing
in it is trusted: every list and text is bounded, what cannot be used is left out and named in `problems`, and no answer
whatsoever raises. This module only reads; queueing wakes and keeping learnings is done where the turn is committed.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, cast

TAG = "openboa-session-loop"

MAX_WAKES = 3
MAX_LEARNINGS = 3
MAX_DELAY_S = 86_400
SUMMARY_CHARS = 1_000
FALLBACK_SUMMARY_CHARS = 220
REASON_CHARS = 200
NOTE_CHARS = 2_000
KEY_CHARS = 200
TITLE_CHARS = 120
DETAIL_CHARS = 400
MAX_INPUT_DEPTH = 20
MAX_TAGS = 20
"""Start tags that are looked at: bounds the work for an answer that is full of them."""
STRAY_CHARS = 200
"""Between an object and its end tag; more than that is text of its own."""
FOLLOW_UP_REASON = "session.follow_up"
FOLLOW_UP_KEY = "follow-up"

Outcome = Literal["sleep", "continue"]
Priority = Literal["low", "normal", "high"]
LearningKind = Literal["lesson", "correction", "error"]

_PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high")
_KINDS: tuple[LearningKind, ...] = ("lesson", "correction", "error")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_START = re.compile(rf"<\s*{TAG}\s*>", re.IGNORECASE)
_END = re.compile(rf"<\s*/\s*{TAG}\s*>", re.IGNORECASE)
_OPENING = re.compile(r"\s*(?:`{3,}[\w-]*)?\s*")
_FENCE = re.compile(r"[ \t]*`{3,}[\w-]*[ \t]*")
_FENCES = re.compile(r"^[ \t]*`{3,}", re.MULTILINE)
_CLOSING_FENCE = re.compile(r"\s*`{3,}[ \t]*(?=\n|\Z)")
# Models break lines inside strings and write NaN; neither is worth losing a wake for.
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


@dataclass(frozen=True, slots=True)
class WakeWish:
    """`delay_seconds` is whole seconds, 1 to 86,400."""

    reason: str
    delay_seconds: int
    note: str | None = None
    dedupe_key: str | None = None
    priority: Priority = "normal"


@dataclass(frozen=True, slots=True)
class LearningWish:
    kind: LearningKind
    title: str
    detail: str = ""
    promote: bool = False
    dedupe_key: str | None = None


@dataclass(frozen=True, slots=True)
class CustomToolWish:
    """Something a person or a program outside has to answer before the session can go on."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Directive:
    """`problems` are sentences about what could not be used; the agent is told of them at its next wake."""

    outcome: Outcome = "sleep"
    summary: str = ""
    follow_up_seconds: int | None = None
    wakes: tuple[WakeWish, ...] = ()
    learnings: tuple[LearningWish, ...] = ()
    custom_tool: CustomToolWish | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What happens next. `wakes` has the follow-up first, if there is one; `consecutive` counts follow-ups in a row.

    `capped` says that the agent wanted to continue and was not allowed another follow-up.
    """

    outcome: Outcome
    wakes: tuple[WakeWish, ...]
    consecutive: int
    capped: bool = False


def parse_directive(text: str) -> tuple[str, Directive | None]:
    """The answer without its first loop block, and what the block says. Never raises.

    An answer without a block has no directive. A block that is not a JSON object is removed all the same and means
    sleep. Code fences around the block or its JSON, and a missing end tag, are tolerated.
    """
    for start in islice(_START.finditer(text), MAX_TAGS):
        found = _block(text, start.end())
        if found is not None:
            raw, end = found
            return _visible(text[: start.start()], text[end:]), _read(raw)
    return text.strip(), None


def summary_of(visible: str, directive: Directive | None) -> str:
    """One line: the agent's own summary, else the first 220 characters of what it said."""
    own = directive.summary if directive else ""
    return own or _cut(" ".join(visible[: FALLBACK_SUMMARY_CHARS * 4].split()), FALLBACK_SUMMARY_CHARS)


def resolve(
    directive: Directive | None, *, consecutive: int, max_follow_ups: int, default_interval_s: int
) -> Resolution:
    """Sleep, or continue by a follow-up wake, unless that would be more than `max_follow_ups` in a row."""
    wanted = directive or Directive()
    if wanted.outcome == "sleep":
        return Resolution("sleep", wanted.wakes, 0)
    if consecutive + 1 > max_follow_ups:
        return Resolution("sleep", wanted.wakes, 0, capped=True)
    delay = wanted.follow_up_seconds or min(max(default_interval_s, 1), MAX_DELAY_S)
    follow_up = WakeWish(FOLLOW_UP_REASON, delay, wanted.summary[:NOTE_CHARS] or None, FOLLOW_UP_KEY)
    others = tuple(wake for wake in wanted.wakes if wake.dedupe_key != FOLLOW_UP_KEY)
    return Resolution("continue", (follow_up, *others), consecutive + 1)


def _block(text: str, at: int) -> tuple[object, int] | None:
    """What stands behind a start tag that ends at `at`, decoded, and where the block ends.

    None when the tag is only mentioned: neither an object nor an end tag follows it before the next start tag.
    """
    opening = _OPENING.match(text, at)
    begin = opening.end() if opening else at
    next_start = _START.search(text, begin)
    end_tag = _END.search(text, begin, next_start.start() if next_start else len(text))
    value: object = None
    if text.startswith("{", begin):
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            value = None
        else:
            return value, _after_object(text, end, fenced="`" in text[at:begin])
    if end_tag:
        return None, end_tag.end()
    cut_off = begin == len(text) or text.startswith("{", begin)
    return (None, len(text)) if cut_off and not next_start else None


def _after_object(text: str, end: int, *, fenced: bool) -> int:
    """Behind the end tag, if there is one close to the object."""
    behind = _END.search(text, end, end + STRAY_CHARS)
    if behind:
        return behind.end()
    closing = _CLOSING_FENCE.match(text, end) if fenced else None
    return closing.end() if closing else end


def _visible(before: str, after: str) -> str:
    """The two sides of a block joined, without the code fence that held nothing but the block."""
    lines = before.rstrip().rsplit("\n", 1)
    if len(_FENCES.findall(before)) % 2 and _FENCE.fullmatch(lines[-1]):
        closing = _CLOSING_FENCE.match(after)
        if closing or not after.strip():
            before = lines[0] if len(lines) == 2 else ""
            after = after[closing.end() :] if closing else ""
    return "\n\n".join(side for side in (before.strip(), after.strip()) if side)


def _read(raw: object) -> Directive:
    if not isinstance(raw, dict):
        return Directive(problems=("The loop block was not a JSON object; the session went to sleep.",))
    fields = cast(dict[str, Any], raw)
    problems: list[str] = []
    outcome = fields.get("outcome")
    if outcome not in ("sleep", "continue"):
        problems.append("`outcome` was neither sleep nor continue; the session went to sleep.")
    follow_up = _delay(fields.get("followUpSeconds"))
    if fields.get("followUpSeconds") is not None and follow_up is None:
        problems.append(
            "`followUpSeconds` was not a positive number of seconds; the usual interval was used."
        )
    return Directive(
        outcome="continue" if outcome == "continue" else "sleep",
        summary=_text(fields.get("summary"), SUMMARY_CHARS),
        follow_up_seconds=follow_up,
        wakes=_wakes(fields.get("queuedWakes"), problems),
        learnings=_learnings(fields.get("learnings"), problems),
        custom_tool=_custom_tool(fields.get("customToolRequest"), problems),
        problems=tuple(problems),
    )


def _wakes(raw: object, problems: list[str]) -> tuple[WakeWish, ...]:
    wishes: list[WakeWish] = []
    listed = _objects(raw)
    for item in listed:
        reason, delay = _text(item.get("reason"), REASON_CHARS), _delay(item.get("delaySeconds"))
        if reason and delay:
            priority = item.get("priority")
            wishes.append(
                WakeWish(
                    reason=reason,
                    delay_seconds=delay,
                    note=_text(item.get("note"), NOTE_CHARS) or None,
                    dedupe_key=_text(item.get("dedupeKey"), KEY_CHARS) or None,
                    priority=_PRIORITIES[_PRIORITIES.index(priority)]
                    if priority in _PRIORITIES
                    else "normal",
                )
            )
    if len(wishes) < len(listed):
        problems.append("A queued wake was left out: each needs a `reason` and a positive `delaySeconds`.")
    if len(wishes) > MAX_WAKES:
        problems.append(f"Only the first {MAX_WAKES} queued wakes were kept.")
    return tuple(wishes[:MAX_WAKES])


def _learnings(raw: object, problems: list[str]) -> tuple[LearningWish, ...]:
    wishes: list[LearningWish] = []
    for item in _objects(raw):
        detail = _text(item.get("detail"), DETAIL_CHARS)
        title = _text(item.get("title"), TITLE_CHARS) or _cut(detail, TITLE_CHARS)
        if title:
            kind = item.get("kind")
            wishes.append(
                LearningWish(
                    kind=_KINDS[_KINDS.index(kind)] if kind in _KINDS else "lesson",
                    title=title,
                    detail=detail,
                    promote=item.get("promoteToMemory") is True,
                    dedupe_key=_text(item.get("dedupeKey"), KEY_CHARS) or None,
                )
            )
    if len(wishes) > MAX_LEARNINGS:
        problems.append(f"Only the first {MAX_LEARNINGS} learnings were kept.")
    return tuple(wishes[:MAX_LEARNINGS])


def _custom_tool(raw: object, problems: list[str]) -> CustomToolWish | None:
    if raw is None:
        return None
    fields = cast(dict[str, Any], raw) if isinstance(raw, dict) else {}
    name = _text(fields.get("name"), 1_000)
    if not _TOOL_NAME.fullmatch(name):
        problems.append(
            "`customToolRequest` was left out: its `name` needs 1 to 128 letters, digits, `_`, `.` or `-`."
        )
        return None
    try:
        given = _plain(fields.get("input"), MAX_INPUT_DEPTH)
    except ValueError:
        given = {}
        problems.append(
            f"The input of `{name}` was left out: it is nested deeper than {MAX_INPUT_DEPTH} levels."
        )
    return CustomToolWish(name, cast(dict[str, Any], given) if isinstance(given, dict) else {})


def _plain(value: object, depth: int) -> object:
    """A decoded JSON value that any JSON reader and any database takes. Raises `ValueError` when too deep."""
    if depth == 0:
        raise ValueError
    if isinstance(value, str):
        return _valid(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in cast(list[object], value)]
    if isinstance(value, dict):
        members = cast(dict[str, object], value)
        return {_valid(key): _plain(item, depth - 1) for key, item in members.items()}
    return value


def _objects(raw: object) -> list[dict[str, Any]]:
    listed = cast(list[object], raw) if isinstance(raw, list) else []
    return [cast(dict[str, Any], item) for item in listed if isinstance(item, dict)]


def _delay(raw: object) -> int | None:
    """Whole seconds, rounded down and capped; None when that leaves nothing positive."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not raw >= 1:
        return None
    return MAX_DELAY_S if raw >= MAX_DELAY_S else int(raw)


def _text(raw: object, limit: int) -> str:
    return _cut(_valid(raw).strip(), limit) if isinstance(raw, str) else ""


def _valid(text: str) -> str:
    """Without NUL and lone surrogates, which a JSON escape may smuggle in and no database stores."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
