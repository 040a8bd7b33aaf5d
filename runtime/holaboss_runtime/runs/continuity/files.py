"""`session-state.md` and `working-buffer.md`: where an agent session stands, for people and for the agent itself.

Everything but the agent's own notes is written anew after each wake. The notes stand between markers at the end of a
file and are carried over; a marker inside any text is defused, so that nothing can pass for the notes.
"""

from __future__ import annotations

from collections.abc import Sequence

from holaboss_runtime.runs.agent_context.budget import clip, one_line
from holaboss_runtime.runs.agent_context.events import outcome_text
from holaboss_runtime.runs.continuity.checkpoint import SessionRecord

NOTES_BEGIN = "<!-- agent-notes:begin -->"
NOTES_END = "<!-- agent-notes:end -->"
NOTES_CHARS = 8_000
RESPONSE_CHARS = 4_000
EXCERPT_CHARS = 600
LINE_CHARS = 400
_MARKER = "<!-- agent-notes:"
_DEFUSED = "<!-- agent-notes "


def session_state_markdown(record: SessionRecord, notes: str = "") -> str:
    """The state of a session after a wake; `notes` are the agent's own, 8,000 characters of them at most."""
    return _document(
        "Session state",
        [
            _bullets(
                [
                    ("Agent", record.agent_id),
                    ("Session", record.session_id),
                    ("Updated at", record.updated_at),
                    ("Last wake", record.wake_id),
                    ("Outcome", record.outcome),
                    ("Stop reason", record.stop_reason),
                    ("Turns", str(record.turns)),
                    ("Follow-ups in a row", str(record.consecutive)),
                    ("Next wake at", record.next_wake_at),
                    ("Last event in context", record.cursor.context),
                    ("Last processed event", record.cursor.processed),
                    ("Last produced event", record.cursor.produced),
                ]
            ),
            _section("Latest Summary", one_line(record.summary, 1_000) or "None yet."),
            _section("Active Outcome", _outcome(record)),
            _section("New Learnings", _learnings(record)),
            _section("Queued Wakes", _wakes(record)),
            _section("Latest Response", clip(record.response.strip(), RESPONSE_CHARS) or "None."),
        ],
        notes,
    )


def working_buffer_markdown(record: SessionRecord, notes: str = "") -> str:
    """What the agent is at, short enough to be read first."""
    return _document(
        "Working buffer",
        [
            _section("Focus", _focus(record)),
            _section("Suggested Next Move", _next_move(record)),
            _section(
                "Runtime Notes",
                _bullets(
                    [
                        ("Turns", str(record.turns)),
                        ("Follow-ups in a row", str(record.consecutive)),
                        ("Stop reason", record.stop_reason),
                        *(("Not used", problem) for problem in record.problems),
                    ]
                ),
            ),
            _section("Learnings", _learnings(record)),
            _section("Revisits", _wakes(record)),
            _section("Response Excerpt", clip(record.response.strip(), EXCERPT_CHARS)),
        ],
        notes,
    )


def notes_of(markdown: str) -> str:
    """The agent's notes in a file written by this module; empty for any other text."""
    begin = markdown.find(NOTES_BEGIN)
    end = markdown.find(NOTES_END, begin + len(NOTES_BEGIN))
    return markdown[begin + len(NOTES_BEGIN) : end].strip() if 0 <= begin < end else ""


def _document(title: str, parts: Sequence[str], notes: str) -> str:
    body = "\n\n".join([f"# {title}", *(part for part in parts if part)]).replace(_MARKER, _DEFUSED)
    kept = clip(notes.replace(_MARKER, _DEFUSED).strip(), NOTES_CHARS)
    block = f"{NOTES_BEGIN}\n{kept}\n{NOTES_END}" if kept else f"{NOTES_BEGIN}\n{NOTES_END}"
    return f"{body}\n\n## Agent Notes\n\n{block}\n"


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text}" if text else ""


def _bullets(facts: Sequence[tuple[str, str | None]]) -> str:
    return "\n".join(f"- {name}: {one_line(value or 'none', LINE_CHARS)}" for name, value in facts)


def _outcome(record: SessionRecord) -> str:
    return clip(outcome_text(record.active_outcome), RESPONSE_CHARS) if record.active_outcome else ""


def _learnings(record: SessionRecord) -> str:
    return "\n".join(
        f"- {learning.kind}: {learning.title}" + (f". {learning.detail}" if learning.detail else "")
        for learning in record.learnings
    )


def _wakes(record: SessionRecord) -> str:
    return "\n".join(
        f"- {wake.due_at}: {one_line(wake.reason, LINE_CHARS)}"
        + (f" ({one_line(wake.note, LINE_CHARS)})" if wake.note else "")
        for wake in record.queued_wakes
    )


def _focus(record: SessionRecord) -> str:
    title = one_line(str((record.active_outcome or {}).get("title") or ""), LINE_CHARS)
    return title or one_line(record.summary, LINE_CHARS) or "Nothing in particular."


def _next_move(record: SessionRecord) -> str:
    if record.stop_reason == "requires_action":
        return "Wait: a decision or a result from outside is missing."
    if record.next_wake_at:
        return f"Go on at {record.next_wake_at}."
    if record.stop_reason == "rescheduling":
        return "Go on with what is queued."
    return "Wait for the next event."
