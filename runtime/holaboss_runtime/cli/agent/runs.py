"""`agent wake`: run one session once, here or through the server that works on the same database."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial

from holaboss_client.agents import SessionStatus, WakeReport
from holaboss_client.handshake import Poke, Poked
from holaboss_runtime.cli.agent.answer import DONE, FAILED, STOPPED, Answer, bullets, remark
from holaboss_runtime.cli.agent.desk import Desk
from holaboss_runtime.cli.agent.status import action_lines
from holaboss_runtime.cli.remote import ServerGoneError
from holaboss_runtime.config.builtin import BUILTIN, DEMO_ID
from holaboss_runtime.sessions.bounded_loop import stoppable
from holaboss_runtime.sessions.cancellation import INTERRUPT, RunCancellation
from holaboss_runtime.sessions.wake import MANUAL, WakeOutcome

SERVER_GONE = "The server ended meanwhile; this command goes on by itself."
DEMO = (
    "The demo model answered; it is scripted. For a real one connect a provider in Holaboss, or put a key into"
    " OPENAI_API_KEY or ANTHROPIC_API_KEY."
)
WAITING = "A server works here: it runs the session, and this waits for it."
STOPPED_EARLY = "The run was stopped before its end."
GOES_ON = "Stopped waiting; the run goes on in Holaboss. `agent session interrupt` stops it."


class StoppedWaitingError(Exception):
    """A signal came while the server was running what was asked of it."""


async def wake(desk: Desk, args: Namespace) -> Answer:
    desk.sessions.directory.get(args.session)
    stop = RunCancellation()
    with stopped_by_signals(stop):
        try:
            outcome = await _wake(desk, args.session, stop)
        except StoppedWaitingError:
            return Answer([], {"session_id": args.session, "executed": False}, STOPPED, [GOES_ON])
    report = desk.sessions.views.report(outcome)
    status = desk.sessions.views.status(args.session)
    lines = _executed(report, status, args.program) if report.executed else _skipped(report)
    code = code_of(report) if stop.reason is None else STOPPED
    return Answer(lines, report, code, remarks(report, beside_server=desk.beside_server))


async def _wake(desk: Desk, session_id: str, stop: RunCancellation) -> WakeOutcome:
    if desk.beside_server:
        try:
            return await _through_server(desk, session_id, stop)
        except ServerGoneError:
            remark(SERVER_GONE)
            desk.alone()
    return await stoppable(stop, partial(wake_here, desk, session_id))


async def _through_server(desk: Desk, session_id: str, stop: RunCancellation) -> WakeOutcome:
    """The server may have run it by itself before it heard of the wish: that run is the answer, too."""
    wakes = desk.sessions.records.wakes
    before = wakes.latest(session_id)
    remark(WAITING)
    poked = await ask(desk, Poke(session_id=session_id, reason=MANUAL), stop)
    latest = wakes.latest(session_id)
    is_new = before is None or before.ended_at is None or (latest is not None and latest.seq > before.seq)
    if poked.wake_id is None and latest is not None and latest.ended_at is not None and is_new:
        return WakeOutcome(session_id, wake_id=latest.wake_id)
    return outcome_of(session_id, poked)


async def wake_here(desk: Desk, session_id: str, cancel: RunCancellation) -> WakeOutcome:
    """Run it in this process. A harness is started only when there is something to run."""
    waker = desk.sessions.waker
    waker.recovery.recover_if_abandoned(session_id)
    waker.come_due(session_id)
    waiting = waker.claimer.peek(desk.sessions.directory.get(session_id))
    if isinstance(waiting, str):
        return WakeOutcome(session_id, skipped=waiting)
    await desk.start_harness()
    return await waker.wake(session_id, reason=MANUAL, cancel=cancel)


async def ask(desk: Desk, poke: Poke, stop: RunCancellation) -> Poked:
    """Raises `ServerGoneError`, and `StoppedWaitingError` when a signal comes first."""
    asking = asyncio.ensure_future(desk.remote.ask(poke))
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({asking, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise StoppedWaitingError
        return asking.result()
    finally:
        for task in (asking, stopped):
            task.cancel()
        await asyncio.gather(asking, stopped, return_exceptions=True)


def outcome_of(session_id: str, poked: Poked) -> WakeOutcome:
    if poked.wake_id is not None:
        return WakeOutcome(session_id, wake_id=poked.wake_id)
    return WakeOutcome(session_id, skipped=poked.skipped)  # pyright: ignore[reportArgumentType]


@contextmanager
def stopped_by_signals(stop: RunCancellation) -> Generator[None]:
    """SIGINT and SIGTERM stop what runs, as an interrupt of a person would."""
    loop = asyncio.get_running_loop()

    def heard(_number: int = 0, _frame: object = None) -> None:
        loop.call_soon_threadsafe(stop.cancel, INTERRUPT)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    for number in numbers:
        if sys.platform == "win32":
            signal.signal(number, heard)
        else:
            loop.add_signal_handler(number, heard)
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            if sys.platform != "win32":
                loop.remove_signal_handler(number)
            signal.signal(number, handler)


def code_of(report: WakeReport) -> int:
    failed = report.result in ("error", "retry") if report.executed else report.skipped == "waits_for_key"
    return FAILED if failed else DONE


def remarks(report: WakeReport, *, beside_server: bool) -> list[str]:
    """What a person has to know, whatever the form of the output."""
    if report.skipped == "waits_for_key":
        return [key_sentence(report, beside_server=beside_server)]
    if report.skipped == "idle" and beside_server:
        return [
            f"Nothing waits here. `agent session events --session {report.session_id}` shows what has run already."
        ]
    if report.executed and code_of(report) != DONE:
        message = (report.error or {}).get("message") or "The run failed."
        return [f"Wake failed: {message}"]
    said = [STOPPED_EARLY] if report.executed and report.result == "aborted" else []
    return [*said, DEMO] if is_demo(report) else said


def is_demo(report: WakeReport) -> bool:
    return report.response is not None and report.model is not None and report.model.startswith(f"{DEMO_ID}/")


def key_sentence(report: WakeReport, *, beside_server: bool) -> str:
    error = report.error or {}
    message = str(error.get("message", "A key is missing."))
    if beside_server:
        return message
    provider = BUILTIN.get(str(error.get("provider_id")))
    start = f"{message} This command cannot read a keychain: start Holaboss"
    if provider is None or provider.variable is None:
        return f"{start}."
    return f"{start}, or put the key into {provider.variable}_API_KEY."


def consumed_lines(report: WakeReport, status: SessionStatus) -> list[str]:
    """Whether and when the session goes on by itself, and what the run took."""
    requeued = status.status == "rescheduling"
    lines = bullets(activationRequeued=requeued)
    if requeued:
        lines += bullets(immediateRetryAt=status.next_retry_at, nextQueuedWakeAt=status.next_wake_at)
    for place, queued in enumerate(report.queued_wakes, 1):
        lines.append(f"- queuedWake[{place}]: {queued.reason} due={queued.due_at}")
    return lines + [f"- input[{place}]: {line}" for place, line in enumerate(report.consumed, 1)]


def _executed(report: WakeReport, status: SessionStatus, program: Sequence[str]) -> list[str]:
    reply = [report.response, ""] if report.response else []
    return [
        *reply,
        "wake: executed",
        *bullets(
            session=report.session_id,
            stopReason=report.stop_reason,
            processedEvents=len(report.processed_event_ids),
            queuedWakes=len(report.queued_wakes),
        ),
        *consumed_lines(report, status),
        *action_lines(status.pending_actions, program),
    ]


def _skipped(report: WakeReport) -> list[str]:
    """Beside a server the run may be over already; how it failed is said then, too."""
    error = report.error
    failed = {} if error is None else {"lastError": f"{error.get('code')}: {error.get('message')}"}
    return [
        "wake: no-op",
        *bullets(
            session=report.session_id,
            status=report.status,
            stopReason=report.stop_reason,
            skippedReason=report.skipped,
            **failed,
        ),
    ]
