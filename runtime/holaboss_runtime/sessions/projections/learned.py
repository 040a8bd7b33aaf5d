"""Rows from the agent's own journals: what it learned, and its claim journal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holaboss_runtime.agents.tree import LEARNING_FILES
from holaboss_runtime.sessions.projections.values import object_of, text_of, time_of
from holaboss_runtime.store import journal
from holaboss_runtime.store.json_text import encode

Fields = dict[str, Any]
_COMMON = frozenset({"kind", "createdAt", "claimId", "agentId", "sessionId"})


def learning_rows(agent_id: str, lines: Sequence[Fields], now: str) -> list[Fields]:
    rows: list[Fields] = []
    for line in lines:
        learning = object_of(line.get("learning"))
        title, detail = text_of(learning.get("title")) or "", text_of(learning.get("detail")) or ""
        kind = learning.get("kind") if learning.get("kind") in LEARNING_FILES else "lesson"
        rows.append(
            {
                "id": str(line["id"]),
                "agent_id": agent_id,
                "session_id": text_of(line.get("sessionId")) or "",
                "wake_id": text_of(line.get("sourceEventId")),
                "kind": kind,
                "title": title,
                "detail": detail,
                "promote": int(learning.get("promoteToMemory") is True),
                "dedupe_key": text_of(learning.get("dedupeKey")) or f"{kind}:{title}:{detail}".casefold(),
                "source_reason": text_of(line.get("sourceReason")),
                "created_at": time_of(line.get("createdAt")) or now,
            }
        )
    return rows


def activation_rows(agent_id: str, lines: Sequence[Fields]) -> list[Fields]:
    rows: list[Fields] = []
    for line in lines:
        kind, claim_id = text_of(line.get("kind")), text_of(line.get("claimId"))
        created = line.get("createdAt")
        if (
            kind is None
            or claim_id is None
            or time_of(created) is None
            or not kind.startswith(journal.ACTIVATION)
        ):
            continue
        rows.append(
            {
                "kind": kind.removeprefix(journal.ACTIVATION),
                "claim_id": claim_id,
                "agent_id": agent_id,
                "session_id": text_of(line.get("sessionId")) or "",
                "payload": encode({name: value for name, value in line.items() if name not in _COMMON}),
                "created_at": created,
            }
        )
    return rows
