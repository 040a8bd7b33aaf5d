"""Which ids may become a segment of a path. Everything under `.openboa` is named through these checks."""

from __future__ import annotations

import re
import uuid

from holaboss_runtime.errors import DomainError

LONGEST = 128
# No leading dot (hidden, `..`) and no trailing one (Windows drops it).
_SLUG = re.compile(r"(?!\.)[A-Za-z0-9._-]{0,127}[A-Za-z0-9_-]")
_SESSION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@-]{0,198}[A-Za-z0-9_@-])?")


def check_agent_id(agent_id: str) -> str:
    """The id itself. Raises `DomainError` `agent_id_invalid`."""
    if not _SLUG.fullmatch(agent_id):
        raise _invalid("agent", agent_id, LONGEST)
    return agent_id


def check_environment_id(environment_id: str) -> str:
    """The id itself. Raises `DomainError` `environment_id_invalid`."""
    if not _SLUG.fullmatch(environment_id):
        raise _invalid("environment", environment_id, LONGEST)
    return environment_id


def check_session_id(session_id: str) -> str:
    """An id that can name a folder; wider than what a new session may be called, because older ones are imported.

    Raises `DomainError` `session_id_invalid`.
    """
    if not _SESSION.fullmatch(session_id):
        raise _invalid("session", session_id, 200)
    return session_id


def check_new_session_id(session_id: str) -> str:
    """What a caller may choose for a new session: a UUIDv7 as it is usually written. Raises `session_id_invalid`."""
    try:
        parsed = uuid.UUID(session_id)
    except ValueError:
        parsed = None
    if parsed is None or parsed.version != 7 or str(parsed) != session_id:
        raise DomainError(
            "unprocessable",
            "session_id_invalid",
            f"{_shown(session_id)} is not a UUIDv7 in lower case with dashes. Give one, or leave the id out.",
        )
    return session_id


def _invalid(noun: str, value: str, longest: int) -> DomainError:
    return DomainError(
        "unprocessable",
        f"{noun}_id_invalid",
        f"{_shown(value)} is not an id of {'an' if noun[0] in 'ae' else 'a'} {noun}. Use at most {longest} letters,"
        " digits, dots, dashes and underscores, without a dot at either end.",
    )


def _shown(value: str) -> str:
    return repr(value[:80].encode("utf-8", "backslashreplace").decode())
