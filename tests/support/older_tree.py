"""A tree of agents as earlier programs of the format leave it behind: two agents, three sessions.

`TALK` has a finished turn, a message that waits behind a torn line, a wake in the queue and a checkpoint; `ASKING`
waits for a confirmation and has a checkpoint of version 4; `BUSY` was running when its program died.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TALK = "01920000-0000-7000-8000-000000000001"
ASKING = "01920000-0000-7000-8000-000000000002"
BUSY = "01920000-0000-7000-8000-000000000003"

FIRST, SECOND, REPLY = "01920000-0001-7000-8000-000000000001", "e-second", "e-reply"
WAKE = "01920000-0002-7000-8000-000000000001"
QUEUED_WAKE = "01920000-0003-7000-8000-000000000001"
STRANGE = "e-strange"
REQUEST = "r-confirm"
LESSON = "l-1"

T0 = "2025-03-01T10:00:00.000Z"
T1 = "2025-03-01T10:00:05.000Z"
T2 = "2025-03-01T10:00:09.000Z"


def write_older_tree(root: Path) -> Path:
    """The folder that holds the agents."""
    agents = root / ".openboa" / "agents"
    environments = root / ".openboa" / "environments"
    environments.mkdir(parents=True)
    _json(environments / "local-default.json", _environment())
    for agent_id in ("alpha", "beta"):
        folder = agents / agent_id
        for name in ("workspace", "learn", "runtime", "sessions"):
            (folder / name).mkdir(parents=True)
        _json(folder / "agent.json", {"runtime": {"kind": "embedded", "provider": "openai-codex"}})
        (folder / "workspace" / "MEMORY.md").write_text("# Memory\n", "utf-8")
        _json(folder / "runtime" / "runnable-sessions.json", [])
    _talk(agents / "alpha", root)
    _asking(agents / "alpha", root)
    _busy(agents / "beta", root)
    _lines(
        agents / "alpha" / "learn" / "lessons.jsonl",
        [
            {
                "kind": "runtime.learning.captured",
                "id": LESSON,
                "agentId": "alpha",
                "createdAt": T1,
                "sessionId": TALK,
                "sourceEventId": REPLY,
                "sourceReason": "user.message",
                "learning": {
                    "kind": "lesson",
                    "title": "Be brief",
                    "detail": "They like it short.",
                    "promoteToMemory": True,
                    "dedupeKey": None,
                },
            }
        ],
    )
    _lines(
        agents / "alpha" / "runtime" / "activation-events.jsonl",
        [
            {
                "kind": "activation.leased",
                "createdAt": T1,
                "claimId": "c-1",
                "agentId": "alpha",
                "sessionId": TALK,
                "activationKind": "pending_events",
                "priority": "high",
            }
        ],
    )
    return agents


def _talk(agent: Path, root: Path) -> None:
    folder = _folder(agent, TALK)
    document = _session(
        root, "alpha", TALK, status="rescheduling", stopReason="rescheduling", usage={"turns": 1}
    )
    document["somethingNew"] = {"kept": True}
    document["metadata"] = {
        "providerSessionBindings": {"openai-codex": {"sessionId": "p-1"}},
        "lastProvider": "openai-codex",
        "parentSessionId": BUSY,
    }
    document["resources"].append(
        {
            "id": f"{TALK}:vault:keys",
            "kind": "vault",
            "sourceRef": str(root / ".openboa" / "vaults" / "keys"),
            "mountPath": "/vaults/keys",
            "access": "read_only",
            "metadata": {"scope": "vault", "prompt": "", "vaultName": "keys"},
        }
    )
    _json(folder / "session.json", document)
    _lines(
        folder / "events.jsonl",
        [
            appended(TALK, FIRST, "user.message", message="Hello"),
            appended(
                TALK,
                "e-status",
                "session.status_changed",
                T1,
                fromStatus="idle",
                toStatus="running",
                reason="r",
            ),
            appended(
                TALK,
                "e-span",
                "span.started",
                T1,
                spanId=WAKE,
                parentSpanId=None,
                spanKind="wake",
                name="run",
            ),
            processed(TALK, FIRST, T1),
            appended(TALK, REPLY, "agent.message", T1, message="Hi there", summary="greeted"),
            appended(TALK, STRANGE, "vendor.note_taken", None, someField={"inner_key": 1}),
            appended(TALK, FIRST, "user.message", message="Hello"),
            appended(TALK, SECOND, "user.message", message="And now?", at=T2),
        ],
        torn='{"kind":"session.event.appended","sessionId":"' + TALK + '","event":{"id":"e-lo',
    )
    _lines(
        folder / "wake-queue.jsonl",
        [
            _enqueued(TALK, "w-old", "look back"),
            {"kind": "session.wake.completed", "sessionId": TALK, "wakeId": "w-old", "completedAt": T1},
            _enqueued(TALK, QUEUED_WAKE, "look again", dedupeKey="look"),
            _enqueued(TALK, "w-twice", "look again", dedupeKey="look"),
        ],
    )
    _json(folder / "runtime" / "checkpoint.json", _checkpoint(TALK, "alpha", 6) | {"lastWakeId": WAKE})
    (folder / "runtime" / "session-state.md").write_text("# Session state\n", "utf-8")
    (folder / "runtime" / "working-buffer.md").write_text("# Working buffer\n", "utf-8")
    _json(folder / "runtime" / "shell-state.json", {"version": 5})
    (folder / "workspace" / "report.md").write_text("Mine.\n", "utf-8")


def _asking(agent: Path, root: Path) -> None:
    folder = _folder(agent, ASKING)
    request = {
        "id": REQUEST,
        "toolName": "shell_run",
        "ownership": "managed",
        "permissionPolicy": "always_ask",
        "input": {"command": "git status"},
        "requestedAt": T1,
    }
    document = _session(root, "alpha", ASKING, status="idle", stopReason="requires_action")
    _json(folder / "session.json", document | {"pendingToolConfirmationRequest": request})
    blocked = {
        "requestId": REQUEST,
        "toolName": "shell_run",
        "ownership": "managed",
        "permissionPolicy": "always_ask",
        "input": {"command": "git status"},
        "output": None,
    }
    _lines(
        folder / "events.jsonl",
        [
            appended(ASKING, "a-1", "user.message", message="Look at the repository"),
            processed(ASKING, "a-1", T1),
            appended(ASKING, "a-2", "agent.tool_use", T1, **blocked),
            appended(
                ASKING,
                "a-3",
                "session.status_idle",
                T1,
                reason="requires_action",
                summary="",
                blockingEventIds=["a-2"],
            ),
        ],
    )
    old = _checkpoint(ASKING, "alpha", 4)
    del old["outcomeEvaluationHistory"], old["eventCursor"]
    _json(folder / "runtime" / "checkpoint.json", old)


def _busy(agent: Path, root: Path) -> None:
    folder = _folder(agent, BUSY)
    _json(folder / "session.json", _session(root, "beta", BUSY, status="running"))
    _lines(folder / "events.jsonl", [appended(BUSY, "b-1", "user.message", message="Are you there?")])


def appended(
    session: str, event_id: str, event_type: str, done: str | None = None, **fields: Any
) -> dict[str, Any]:
    base = {
        "id": event_id,
        "type": event_type,
        "createdAt": fields.pop("at", done or T0),
        "processedAt": done,
    }
    wake = {} if event_type.startswith("user.") else {"wakeId": WAKE}
    return {"kind": "session.event.appended", "sessionId": session, "event": base | wake | fields}


def processed(session: str, event_id: str, at: str) -> dict[str, Any]:
    return {"kind": "session.event.processed", "sessionId": session, "eventId": event_id, "processedAt": at}


def _enqueued(session: str, wake_id: str, reason: str, **fields: Any) -> dict[str, Any]:
    wake = {
        "id": wake_id,
        "sessionId": session,
        "createdAt": T0,
        "dueAt": T2,
        "reason": reason,
        "note": None,
        "dedupeKey": None,
        "priority": "high",
    }
    return {"kind": "session.wake.enqueued", "sessionId": session, "wake": wake | fields}


def _session(root: Path, agent_id: str, session_id: str, **fields: Any) -> dict[str, Any]:
    elsewhere = f"/somewhere/else/.openboa/agents/{agent_id}"
    places = [
        (
            "session_workspace",
            f"sessions/{session_id}/workspace",
            "/workspace",
            "read_write",
            "session_execution_hand",
        ),
        ("agent_workspace_substrate", "workspace", "/workspace/agent", "read_only", "agent_shared_substrate"),
        ("learnings_memory_store", "learn", "/memory/learnings", "read_only", "agent_shared_memory"),
        (
            "session_runtime_memory",
            f"sessions/{session_id}/runtime",
            "/runtime",
            "read_write",
            "session_runtime_memory",
        ),
    ]
    return {
        "id": session_id,
        "agentId": agent_id,
        "environmentId": "local-default",
        "status": "idle",
        "stopReason": "idle",
        "createdAt": T0,
        "updatedAt": T1,
        "usage": {"turns": 0},
        "resources": [
            {
                "id": f"{session_id}:{kind}",
                "kind": kind,
                "sourceRef": f"{elsewhere}/{source}",
                "mountPath": mount,
                "access": access,
                "metadata": {"scope": scope, "prompt": f"About {mount}"},
            }
            for kind, source, mount, access, scope in places
        ],
        "pendingCustomToolRequest": None,
        "pendingToolConfirmationRequest": None,
        "metadata": {},
    } | fields


def _checkpoint(session_id: str, agent_id: str, version: int) -> dict[str, Any]:
    return {
        "version": version,
        "sessionId": session_id,
        "agentId": agent_id,
        "updatedAt": T1,
        "lastWakeId": None,
        "lastEventIds": [FIRST],
        "eventCursor": {
            "lastContextEventId": None,
            "lastProcessedEventId": FIRST,
            "lastProducedEventId": REPLY,
        },
        "lastOutcome": "sleep",
        "lastSummary": "greeted",
        "responseMessage": "Hi there",
        "nextWakeAt": None,
        "consecutiveFollowUps": 2,
        "activeOutcome": None,
        "queuedWakes": [],
        "stopReason": "idle",
        "lastAgentSetupFingerprint": None,
        "outcomeEvaluationHistory": [],
    }


def _environment() -> dict[str, Any]:
    return {
        "id": "local-default",
        "name": "Default local environment",
        "kind": "local",
        "sandbox": {
            "mode": "workspace",
            "workspaceAccess": "rw",
            "networkAccess": "enabled",
            "packagePolicy": "workspace",
        },
        "workspaceMountDefaults": {"workspacePath": "/workspace", "runtimePath": "/runtime"},
        "createdAt": T0,
        "updatedAt": T0,
    }


def _folder(agent: Path, session_id: str) -> Path:
    folder = agent / "sessions" / session_id
    for name in ("runtime", "workspace"):
        (folder / name).mkdir(parents=True)
    return folder


def _json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", "utf-8")


def _lines(path: Path, records: list[dict[str, Any]], torn: str = "") -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + torn, "utf-8")
