"""What a finished turn leaves for the next run: its summary, the compaction boundary, the checkpoint of an agent
session and the two files it is read in.

Pure: records come in, documents and texts go out. The checkpoint and both files are made from one record, so they
cannot disagree. Storing them, and writing files, is done elsewhere.
"""

from holaboss_runtime.runs.continuity.boundary import (
    PRESERVED_TURNS,
    RESUME_MESSAGES,
    UserMessage,
    boundary_id,
    boundary_of,
    runtime_context,
    session_resume_context,
    summarise,
)
from holaboss_runtime.runs.continuity.checkpoint import (
    EventCursor,
    QueuedWake,
    SessionRecord,
    active_outcome,
    checkpoint_document,
)
from holaboss_runtime.runs.continuity.files import notes_of, session_state_markdown, working_buffer_markdown

__all__ = [
    "PRESERVED_TURNS",
    "RESUME_MESSAGES",
    "EventCursor",
    "QueuedWake",
    "SessionRecord",
    "UserMessage",
    "active_outcome",
    "boundary_id",
    "boundary_of",
    "checkpoint_document",
    "notes_of",
    "runtime_context",
    "session_resume_context",
    "session_state_markdown",
    "summarise",
    "working_buffer_markdown",
]
