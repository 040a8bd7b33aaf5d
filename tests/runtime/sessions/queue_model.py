"""What the sessions of two workers are supposed to be, in plain Python: the model of the session machine.

It knows inputs, leases, requests and delayed wakes, and the rules between them. It knows no database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MESSAGE, INTERRUPT, CONFIRMATION, WAKE_DUE = (
    "user.message",
    "user.interrupt",
    "user.tool_confirmation",
    "session.wake_due",
)
CONTROL = (INTERRUPT, CONFIRMATION)
OPEN_STATUSES = ("QUEUED", "CLAIMED")
MAX_ATTEMPTS = 3


@dataclass
class Input:
    id: str
    order: int
    kind: str = MESSAGE
    priority: int = 0
    status: str = "QUEUED"
    attempt: int = 0
    later: bool = False
    """Its retry is not due yet."""
    led: bool = False


@dataclass
class Action:
    id: str
    call_id: str
    status: str = "open"
    delivered: str | None = None


@dataclass
class Run:
    """A wake that has not ended. `worker` took it with `epoch`."""

    worker: str
    wake_id: str
    inputs: list[Input]
    started: bool = False
    spoke: bool = False


@dataclass
class Session:
    name: str
    takes_all: bool
    status: str = "idle"
    hold: bool = False
    error: bool = False
    inputs: list[Input] = field(default_factory=list[Input])
    actions: list[Action] = field(default_factory=list[Action])
    wakes: dict[str, bool] = field(default_factory=dict[str, bool])
    """Delayed wakes that wait, by key, and whether they are due."""
    run: Run | None = None
    lease: str | None = None
    expired: bool = False
    owes: bool = False
    """Its last turn was committed, and nothing after it."""
    turns: int = 0

    @property
    def queued(self) -> list[Input]:
        return [found for found in self.inputs if found.status == "QUEUED"]

    @property
    def open(self) -> list[Action]:
        return [action for action in self.actions if action.status == "open"]

    @property
    def settled(self) -> list[Input]:
        return [found for found in self.inputs if found.status in ("DONE", "FAILED", "PAUSED")]

    def held_by(self, alive: set[str]) -> bool:
        return self.lease is not None and not self.expired and self.lease in alive

    def accept(self, item: Input, *, resumes: bool = True) -> None:
        self.inputs.append(item)
        self.hold = self.hold and (item.kind == INTERRUPT or not resumes)
        self.error = False
        if self.status not in ("running", "terminated"):
            self.status = "rescheduling"

    def claimable(self, *, any_time: bool = False) -> list[Input] | str:
        """What the next run takes, or the word for why there is none."""
        if self.status == "terminated":
            return "terminated"
        if self.hold:
            return "held"
        if self.run is not None:
            return "lease_contended"
        waiting = self.queued
        if not any_time:
            late = any(found.later for found in waiting)
            waiting = [
                found
                for found in waiting
                if not found.later and (found.attempt > 0 or found.kind == INTERRUPT or not late)
            ]
        stopped = any(found.kind == INTERRUPT for found in waiting)
        waiting = self.queued if stopped else waiting
        if self.open and not any(found.kind == INTERRUPT for found in waiting):
            return "requires_action"
        if not waiting:
            return "deferred" if any(found.attempt for found in self.queued) else "idle"
        waiting.sort(key=lambda i: (i.kind not in CONTROL, i.attempt == 0, -i.priority, i.order))
        if not self.takes_all:
            control = [found for found in waiting if found.kind in CONTROL]
            again = [found for found in waiting if found.attempt > 0 and found not in control]
            waiting = control + again * stopped or waiting[:1]
        leads = [found for found in waiting if found.attempt > 0 and found.led]
        return [*leads[:1], *(found for found in waiting if found not in leads[:1])]

    def begin(self, worker: str, wake_id: str, inputs: list[Input]) -> None:
        for found in inputs:
            found.status = "CLAIMED"
        inputs[0].led = True
        if any(found.kind == INTERRUPT for found in inputs):
            self.discard()
            self.wakes.clear()
        self.run = Run(worker, wake_id, inputs)
        self.lease, self.expired, self.status, self.error = worker, False, "running", False
        others = [found for found in inputs if found.kind != INTERRUPT]
        if len(others) == len(inputs) or any(found.attempt == 0 for found in others):
            for action in self.actions:
                if action.status != "open" and action.delivered is None:
                    action.delivered = wake_id

    def finish(self, outcome: str, *, asked: list[Action] = []) -> None:  # noqa: B006
        run = self._end()
        ended = {"success": "DONE", "ask": "DONE", "paused": "PAUSED", "failed": "FAILED"}[outcome]
        for found in run.inputs:
            found.status = ended
        if not run.started:
            self._take_back(run)
        self.turns += 1
        self.error = outcome == "failed"
        if outcome != "paused" and not self.queued:
            self.hold = False
        if self.status != "terminated":
            self.actions += asked
            more = self.takes_all and bool(self.queued)
            self.status = "requires_action" if outcome == "ask" else "rescheduling" if more else "idle"

    def requeue(self, *, later: bool) -> None:
        run = self._end()
        for found in run.inputs:
            found.attempt += 1
            found.later = later
            found.status = "QUEUED"
        self._take_back(run)
        self.error, self.status = False, "rescheduling"

    def must_not_repeat(self) -> bool:
        run = self.run
        assert run is not None
        approved = [a for a in self.actions if a.delivered == run.wake_id and a.status == "approved"]
        over = self.status == "terminated" or run.inputs[0].attempt >= MAX_ATTEMPTS
        return run.spoke or bool(run.started and approved) or over

    def recover(self, alive: set[str]) -> bool:
        """What whoever finds it does with it; whether a run was ended."""
        if self.held_by(alive):
            return False
        self.lease, self.expired, self.owes = None, False, False
        if self.run is None:
            return False
        if self.must_not_repeat():
            self.finish("failed")
        else:
            self.requeue(later=False)
        return True

    def fire(self) -> list[str]:
        """The keys of the wakes that become one input now."""
        if self.hold or self.status == "terminated" or self.open:
            return []
        due = [key for key, is_due in self.wakes.items() if is_due]
        for key in due:
            del self.wakes[key]
        return due

    def terminate(self) -> None:
        if self.status == "terminated":
            return  # harmless, also where its last run was told to pause meanwhile
        for found in self.queued:
            found.status = "CANCELLED"
        self.discard()
        self.wakes.clear()
        self.status, self.hold = "terminated", False

    def discard(self) -> None:
        """What waits for a decision, and what was allowed and not begun."""
        for action in self.actions:
            if action.delivered is None and action.status in ("open", "approved"):
                action.status = "cancelled"

    def public(self) -> tuple[str, str]:
        """Its state in the words of the desktop and in those of the agent layer."""
        return self._desktop(), self._agent()

    def _desktop(self) -> str:
        if self.run is not None:
            return "BUSY"
        if self.status == "terminated":
            return "IDLE"
        if self.open or self.status == "requires_action":
            return "WAITING_USER"
        if self.status == "idle" and self.error:
            return "ERROR"
        if self.queued:
            return "QUEUED"
        return "PAUSED" if self.hold else "IDLE"

    def _agent(self) -> str:
        if self.status == "terminated":
            return "terminated"
        if self.run is not None:
            return "running"
        if self.open or self.status == "requires_action":
            return "requires_action"
        return "rescheduling" if not self.hold and (self.queued or self.wakes) else "idle"

    def _take_back(self, run: Run) -> None:
        """No harness has seen what was decided: it is for the next run."""
        for action in self.actions:
            if action.delivered == run.wake_id:
                action.delivered = None

    def _end(self) -> Run:
        run = self.run
        assert run is not None
        self.run, self.lease, self.expired = None, None, False
        return run


def snapshot(session: Session) -> dict[str, Any]:
    """Everything the database should say of it."""
    return {
        "inputs": {found.id: (found.status, found.attempt) for found in session.inputs},
        "actions": {action.id: (action.status, action.delivered) for action in session.actions},
        "wakes": set(session.wakes),
        "running": session.run.wake_id if session.run else None,
        "lease": session.lease is not None,
        "hold": session.hold,
        "error": session.error,
        "turns": session.turns,
        "public": session.public(),
    }
