"""The text of `agent session status`, and the ready-made commands that answer what waits. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from holaboss_client.agents import Activation, PendingAction, ResourceAttachment, SessionStatus
from holaboss_runtime.agents.definition import AgentConfig
from holaboss_runtime.cli.agent.answer import bullets, shown
from holaboss_runtime.cli.agent.lines import compact
from holaboss_runtime.store.activations import ABANDONED, ACKED, BLOCKED, LEASED, REQUEUED
from holaboss_runtime.store.pending_actions import CUSTOM_TOOL, TOOL_CONFIRMATION

_DETAILS = {
    LEASED: ("note", "dueAt"),
    BLOCKED: ("blockedReason",),
    ACKED: ("wakeId", "stopReason"),
    REQUEUED: ("immediateRetryAt", "nextQueuedWakeAt"),
    ABANDONED: ("abandonReason", "errorMessage"),
}


def status_lines(status: SessionStatus, config: AgentConfig | None, program: Sequence[str]) -> list[str]:
    """`config` is None when the definition of the agent cannot be read."""
    error = status.last_error
    return [
        "session status",
        *bullets(
            session=status.session_id,
            agent=status.agent_id,
            environment=status.environment_id,
            status=status.status,
            stopReason=status.stop_reason,
            turns=status.turns,
            pendingEvents=status.pending_events,
            runnablePendingEvent=status.next_pending_type,
            nextRetryAt=status.next_retry_at,
            retryStreak=status.retry_attempt,
            pendingQueuedWakes=status.queued_wakes,
            nextQueuedWakeAt=status.next_wake_at,
            activeWakeLeaseOwner=status.lease_owner,
            activeWakeLeaseAcquiredAt=_leased_at(status),
        ),
        *_resilience(config),
        *bullets(
            runtimeStatus=status.runtime_status,
            hold=status.hold,
            lastError=None if error is None else f"{error.get('code')}: {error.get('message')}",
            projection=status.projection,
        ),
        *_activation(status.last_activation),
        *[_resource(attached) for attached in status.resources],
        *action_lines(status.pending_actions, program),
    ]


def action_lines(actions: list[PendingAction], program: Sequence[str]) -> list[str]:
    """What waits, and the commands that decide it. `program` is how this one was called."""
    found: list[str] = []
    for action in actions:
        if action.kind == TOOL_CONFIRMATION:
            found += _confirmation(action, program)
        elif action.kind == CUSTOM_TOOL:
            found += _custom_tool(action, program)
        else:
            found += _question(action, program)
    return found


def _confirmation(action: PendingAction, program: Sequence[str]) -> list[str]:
    command = _command(program, "confirm-tool", action)
    return bullets(
        pendingConfirmationTool=action.tool_name,
        pendingConfirmationRequest=action.id,
        pendingConfirmationPermission="always_ask",
        pendingConfirmationRequestedAt=action.requested_at,
        pendingConfirmationInput=compact(action.input),
        confirmAllow=f"{command} --allowed true",
        confirmDeny=f"{command} --allowed false",
        **_told(action),
    )


def _told(action: PendingAction) -> dict[str, object]:
    """Why it is asked, until when, and which rules may be kept with `--remember`, where there is anything to say."""
    rules = [rule.model_dump(exclude_none=True, exclude={"effect"}) for rule in action.suggestions]
    told: dict[str, object] = {
        f"confirmRemember{number}": compact(rule) for number, rule in enumerate(rules, start=1)
    }
    if action.reason:
        told["pendingConfirmationReason"] = action.reason
    if action.expires_at:
        told["pendingConfirmationExpiresAt"] = action.expires_at
    return told


def _question(action: PendingAction, program: Sequence[str]) -> list[str]:
    return bullets(
        pendingQuestion=action.id,
        pendingQuestionRequestedAt=action.requested_at,
        pendingQuestionInput=compact(action.input),
        answer=f"{_command(program, 'answer', action)} --text '<answer>'",
    )


def _custom_tool(action: PendingAction, program: Sequence[str]) -> list[str]:
    command = _command(program, "custom-tool-result", action)
    return bullets(
        pendingCustomTool=action.tool_name,
        pendingCustomToolRequest=action.id,
        pendingCustomToolRequestedAt=action.requested_at,
        pendingCustomToolInput=compact(action.input),
        submit=f"{command} --output '<result>'",
    )


def _command(program: Sequence[str], name: str, action: PendingAction) -> str:
    words = (*program, "session", name, "--session", action.session_id, "--request", action.id)
    return shlex.join(words)


def _leased_at(status: SessionStatus) -> str | None:
    last = status.last_activation
    return last.created_at if status.lease_owner and last is not None and last.kind == LEASED else None


def _resilience(config: AgentConfig | None) -> list[str]:
    if config is None:
        return bullets(resilienceProfile="unreadable")
    return bullets(
        resilienceProfile="resilient",
        recoverableWakeRetryDelayMs=config.retry.recoverable_wake_ms,
        wakeFailureReplayDelayMs=config.retry.wake_failure_replay_ms,
        pendingEventBackoffBaseMs=config.retry.backoff_base_ms,
        pendingEventBackoffMaxMs=config.retry.backoff_max_ms,
    )


def _activation(last: Activation | None) -> list[str]:
    if last is None:
        return bullets(lastActivation=None)
    details = {
        f"lastActivation{name[0].upper()}{name[1:]}": last.payload.get(name) for name in _DETAILS[last.kind]
    }
    return bullets(
        lastActivation=f"activation.{last.kind}",
        lastActivationAt=last.created_at,
        lastActivationClaimId=last.claim_id,
        lastActivationReason=last.payload.get("reason"),
        lastActivationOwner=last.payload.get("leaseOwner"),
        **details,
    )


def _resource(attached: ResourceAttachment) -> str:
    role = "" if attached.role is None else f" role={attached.role}"
    return f"- resource: {attached.kind}{role} {attached.mount_path} access={shown(attached.access)}"
