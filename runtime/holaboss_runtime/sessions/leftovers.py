"""What a run leaves besides its words: the files it wants found again, and the calls it was refused with nobody there
to ask.

Written in the transaction of the turn. A refused call of an unattended run parks its session: nothing more runs in it
by itself until a person has seen what was refused, allowed it or not, and said how to go on.
"""

from __future__ import annotations

from typing import Any

from holaboss_client.base import new_id
from holaboss_runtime.harness.contract import Denial, NewOutput, RunResult
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.sessions.publishing import Publisher
from holaboss_runtime.store.records import Records
from holaboss_runtime.store.sessions import HOLD_DENIED

PERMISSION_DENIED = "permission_denied"
"""Why a parked session stopped: the stop reason of its turn, the source of its notification, the code of the notice."""

MOST_SHOWN = 20
_COMPLETED = "completed"


class Leftovers:
    def __init__(self, records: Records, publisher: Publisher) -> None:
        self._records = records
        self._publish = publisher

    def keep_outputs(self, claim: Claim, result: RunResult | None) -> None:
        for output in result.outputs if result is not None else ():
            self._keep(claim, output)

    def park(self, claim: Claim, result: RunResult | None) -> None:
        """Hold the session and tell the person, once per turn."""
        refused = refused_unasked(claim, result)
        session = self._records.sessions.get(claim.session.session_id) if refused else None
        if session is None or session.status == "terminated":
            return
        workspace_id, session_id = claim.session.workspace_id, claim.session.session_id
        title = session.title or "A session that nobody watches"
        message = _message(refused)
        self._records.sessions.hold(session_id, HOLD_DENIED)
        self._records.notifications.create(
            workspace_id,
            source_type=PERMISSION_DENIED,
            source_label=session.title,
            title=f"{title}: waits for permission",
            message=message,
            level="warning",
            priority="high",
            metadata={
                "session_id": session_id,
                "input_id": claim.input.input_id,
                "denials": [_document(denial) for denial in refused[:MOST_SHOWN]],
            },
        )
        self._publish.notice(workspace_id, session_id, PERMISSION_DENIED, message)

    def _keep(self, claim: Claim, output: NewOutput) -> None:
        """Under an id of its own where the one it came with is in use."""
        workspace_id = claim.session.workspace_id
        taken = self._records.products.exists(output.output_id)
        self._records.products.create(
            workspace_id,
            output.output_type,
            id=new_id() if taken else output.output_id,
            title=output.title,
            status=_COMPLETED,
            file_path=output.file_path,
            session_id=claim.session.session_id,
            input_id=claim.input.input_id,
            metadata=output.metadata,
        )


def denials_of(result: RunResult | None, fold: TurnFold) -> list[dict[str, Any]]:
    """What rules refused in a turn. Of a run that was cut off, only what its events say is known."""
    if result is None:
        return fold.permission_denials()
    return [
        {"tool_name": denial.tool_name, "tool_id": denial.call_id, "reason": denial.reason}
        for denial in result.denials
    ]


def refused_unasked(claim: Claim, result: RunResult | None) -> list[Denial]:
    """What a person would have been asked, had one been there."""
    if not claim.unattended or result is None:
        return []
    return [denial for denial in result.denials if denial.would_ask]


def _message(refused: list[Denial]) -> str:
    named = "; ".join(
        dict.fromkeys(f"{denial.tool_name}: {denial.reason}" for denial in refused[:MOST_SHOWN])
    )
    return f"It needed what only you can allow, and nobody was there to ask. {named}"


def _document(denial: Denial) -> dict[str, Any]:
    suggestions = [rule.model_dump(exclude={"source"}, exclude_none=True) for rule in denial.suggestions]
    return {
        "call_id": denial.call_id,
        "tool_name": denial.tool_name,
        "tool_args": denial.tool_args,
        "reason": denial.reason,
        "suggestions": suggestions,
    }
