"""`agent orchestrator`: run everything one agent has to do, here or through the server that does it anyway."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from functools import partial

from holaboss_client.agents import SessionStatus, WakeReport
from holaboss_client.handshake import Poke
from holaboss_runtime.cli.agent.answer import DONE, FAILED, STOPPED, Answer, bullets, remark, say
from holaboss_runtime.cli.agent.desk import Desk
from holaboss_runtime.cli.agent.lines import event_line
from holaboss_runtime.cli.agent.runs import (
    DEMO,
    GOES_ON,
    SERVER_GONE,
    StoppedWaitingError,
    ask,
    code_of,
    consumed_lines,
    is_demo,
    remarks,
    stopped_by_signals,
    wake_here,
)
from holaboss_runtime.cli.agent.status import action_lines
from holaboss_runtime.cli.remote import ServerGoneError
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.sessions.bounded_loop import DEFAULT_CYCLES, BoundedLoop, Bounds, Tally
from holaboss_runtime.sessions.cancellation import RunCancellation
from holaboss_runtime.sessions.wake import WakeOutcome
from holaboss_runtime.store.activations import LEASED

SERVER_RUNS = (
    "A server works here: it runs every session by itself, so this waits until nothing is left to run."
)
PREVIEW_CHARS = 240
MOST_WAKES = 10_000


async def orchestrator(desk: Desk, args: Namespace) -> Answer:
    agent_id = desk.services.agents.record(args.agent).agent_id
    stop = RunCancellation()
    narrator = _Narrator(desk, args)
    with stopped_by_signals(stop):
        tally = await _drive(desk, args, agent_id, narrator, stop)
    lines = [
        "orchestrator: stopped",
        *bullets(
            agent=agent_id,
            watch=bool(args.watch),
            stopReason=tally.stop_reason,
            cycles=tally.cycles,
            executed=tally.executed,
        ),
    ]
    data = {
        "agent_id": agent_id,
        "watch": bool(args.watch),
        "stop_reason": tally.stop_reason,
        "cycles": tally.cycles,
        "executed": tally.executed,
        "failed": narrator.failed,
        "waiting_for_key": tally.waiting_for_key,
    }
    code = FAILED if narrator.failed or tally.waiting_for_key else DONE
    return Answer(lines, data, STOPPED if stop.reason else code)


async def _drive(
    desk: Desk, args: Namespace, agent_id: str, narrator: _Narrator, stop: RunCancellation
) -> Tally:
    if desk.beside_server:
        try:
            return await _through_server(desk, agent_id, narrator, stop)
        except ServerGoneError:
            remark(SERVER_GONE)
            desk.alone()
    narrator.header(agent_id)
    limit = args.max_cycles if args.max_cycles is not None else (None if args.watch else DEFAULT_CYCLES)
    idle_timeout_s = args.idle_timeout_ms / 1000 if args.watch and args.idle_timeout_ms else None
    bounds = Bounds(
        max_cycles=limit,
        stop_when_idle=args.stop_when_idle or not args.watch,
        idle_timeout_s=idle_timeout_s,
        poll_s=args.poll_interval_ms / 1000,
    )
    loop = BoundedLoop(desk.sessions, agent_id, bounds, wake=partial(wake_here, desk), heard=narrator.hear)
    return await loop.run(stop)


async def _through_server(desk: Desk, agent_id: str, narrator: _Narrator, stop: RunCancellation) -> Tally:
    """What ran since is read from the claim journal."""
    journal = desk.sessions.records.activations
    latest = journal.select(agent_id, limit=1)
    after = latest[0].seq if latest else 0
    remark(SERVER_RUNS)
    try:
        await ask(desk, Poke(agent_id=agent_id), stop)
    except StoppedWaitingError:
        remark(GOES_ON)
        return Tally("interrupted")
    ran = [line for line in journal.select(agent_id, kinds=[LEASED], limit=MOST_WAKES) if line.seq > after]
    for line in ran:
        narrator.hear(1, WakeOutcome(line.session_id, wake_id=line.claim_id))
    tally = Tally("idle", cycles=1, executed=len(ran))
    for session in desk.sessions.records.sessions.of_agent(agent_id):
        if (session.last_error or {}).get("code") == "provider_key_missing":
            outcome = WakeOutcome(session.session_id, skipped="waits_for_key")
            tally.waiting_for_key.append(session.session_id)
            narrator.hear(1, outcome)
    return tally


@dataclass(slots=True)
class _Narrator:
    """Tells of each run while the loop goes on; `failed` counts runs that did not succeed."""

    desk: Desk
    args: Namespace
    failed: int = 0
    _said: dict[str, object] = field(default_factory=dict[str, object])
    _demo_said: bool = False

    @property
    def _talks(self) -> bool:
        return bool(self.args.watch) and not self.args.json

    def header(self, agent_id: str) -> None:
        if self._talks:
            say("orchestrator: watching", *bullets(agent=agent_id))

    def hear(self, cycle: int, outcome: WakeOutcome) -> None:
        report = self.desk.sessions.views.report(outcome)
        status = self.desk.sessions.views.status(outcome.session_id)
        self._remark(report)
        if not report.executed:
            self._skip(cycle, report, status)
            return
        self._said.pop(report.session_id, None)
        self.failed += code_of(report) != DONE
        if self._talks:
            say(*self._activity(cycle, report, status))

    def _remark(self, report: WakeReport) -> None:
        for sentence in remarks(report, beside_server=self.desk.beside_server):
            if sentence != DEMO:
                self._once(report.session_id, f"{report.session_id}: {sentence}")
        if is_demo(report) and not self._demo_said:
            self._demo_said = True
            remark(DEMO)

    def _once(self, session_id: str, sentence: str) -> None:
        """The same complaint about a session is not repeated while nothing else happens to it."""
        if self._said.get(session_id) != sentence:
            self._said[session_id] = sentence
            remark(sentence)

    def _skip(self, cycle: int, report: WakeReport, status: SessionStatus) -> None:
        key = f"skip {report.session_id}"
        said = (report.skipped, status.next_retry_at, status.retry_attempt)
        if self._talks and self.args.log and self._said.get(key) != said:
            self._said[key] = said
            named = bullets(
                cycle=cycle,
                session=report.session_id,
                reason=report.skipped,
                error=(report.error or {}).get("message"),
                nextRetryAt=status.next_retry_at,
                retryStreak=status.retry_attempt,
                activeWakeLeaseOwner=status.lease_owner,
            )
            say("orchestrator: skipped", *named)

    def _activity(self, cycle: int, report: WakeReport, status: SessionStatus) -> list[str]:
        lines = [
            "orchestrator: activity",
            *bullets(
                cycle=cycle,
                session=report.session_id,
                activationClaimId=report.wake_id,
                stopReason=report.stop_reason,
                processedEvents=len(report.processed_event_ids),
                queuedWakes=len(report.queued_wakes),
                runnablePendingEvent=status.next_pending_type,
                nextRetryAt=status.next_retry_at,
                retryStreak=status.retry_attempt,
                pendingQueuedWakes=status.queued_wakes,
                nextQueuedWakeAt=status.next_wake_at,
            ),
            *consumed_lines(report, status),
            *bullets(responsePreview=preview(report.response or "", PREVIEW_CHARS) or None),
            *action_lines(status.pending_actions, self.args.program),
        ]
        if self.args.log and report.wake_id is not None:
            events = self.desk.sessions.records.events.of_wake(report.wake_id)
            lines += [f"  {event_line(event)}" for event in events]
        return lines
