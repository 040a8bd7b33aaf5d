"""Two workers on one database, in any order of asking, running, losing, crashing and deciding, against a model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holaboss_client.agents import AppendEvent, CreateAgentSession
from holaboss_client.base import utc_now
from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import PendingCall, RunnerEvent, RunResult
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.claims import Claim
from holaboss_runtime.store.clock import from_now
from tests.runtime.sessions.core import WORKSPACE, Core
from tests.runtime.sessions.places import MEMORY
from tests.runtime.sessions.queue_model import (
    CONFIRMATION,
    INTERRUPT,
    MESSAGE,
    WAKE_DUE,
    Action,
    Input,
    Run,
    Session,
    snapshot,
)

AGENT = "helper"
DESKS, WORKERS = ("d1", "d2"), ("a", "b")
NAMES = st.sampled_from([*DESKS, "agent"])
WHO = st.sampled_from(WORKERS)
PAST, FUTURE = "2020-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"
TEMPLATE: list[Path] = []


@pytest.fixture(autouse=True, scope="module")
def template() -> Any:
    """A database with its sessions, made once and copied for every example."""
    with tempfile.TemporaryDirectory(prefix="holaboss-machine-", dir=MEMORY) as name:
        folder = Path(name)
        core = Core(folder)
        made = core.sessions.agent_directory.create(CreateAgentSession(agent_id=AGENT))
        for desk in DESKS:
            core.sessions.directory.choose(WORKSPACE, desk)
        crash(core)
        (folder / "agent-session").write_text(made.session_id)
        TEMPLATE.append(folder)
        yield
        TEMPLATE.clear()


def crash(core: Core) -> None:
    """What the end of a process does: its lock is free, its files stay."""
    for descriptor, _ in core.sessions.owners._mine.values():  # pyright: ignore[reportPrivateUsage]
        os.close(descriptor)
    core.sessions.owners._mine.clear()  # pyright: ignore[reportPrivateUsage]
    core.database.close()


class SessionMachine(RuleBasedStateMachine):
    """Claims, commits and crashes are driven step by step, so that every interleaving of two workers can be tried."""

    @initialize()
    def open(self) -> None:
        self.place = tempfile.TemporaryDirectory(prefix="holaboss-machine-", dir=MEMORY)
        self.folder = Path(self.place.name) / "root"
        shutil.copytree(TEMPLATE[0], self.folder)
        self.ids = {name: name for name in DESKS} | {"agent": (self.folder / "agent-session").read_text()}
        self.cores = {name: Core(self.folder) for name in WORKERS}
        self.sessions = {name: Session(name, takes_all=name == "agent") for name in self.ids}
        self.claims: dict[str, tuple[Claim, Run]] = {}
        """By wake: what a worker believes to hold."""
        self.keys: dict[tuple[bool, str], Input] = {}
        self.order = 0
        for name in self.ids:
            self.append(name, "a", AppendEvent(type=MESSAGE, payload={"text": "x"}))

    def teardown(self) -> None:
        if hasattr(self, "place"):
            for core in self.cores.values():
                crash(core)
            self.place.cleanup()

    @property
    def alive(self) -> set[str]:
        return {self.owner(name) for name in WORKERS}

    def owner(self, worker: str) -> str:
        return self.cores[worker].sessions.waker.owner

    # --- asking

    @rule(name=NAMES, who=WHO, priority=st.integers(0, 2), key=st.sampled_from([None, None, "k1", "k2"]))
    def send(self, name: str, who: str, priority: int, key: str | None) -> None:
        session, scope = self.sessions[name], (name == "agent", key or "")
        body = AppendEvent(type=MESSAGE, payload={"text": "x"}, priority=priority, idempotency_key=key)
        if key is not None and scope in self.keys:
            reply = self.cores[who].sessions.control.append(self.ids[name], body)
            assert reply.input_id == self.keys[scope].id
            return
        if session.status == "terminated":
            with pytest.raises(DomainError, match="has ended"):
                self.cores[who].sessions.control.append(self.ids[name], body)
            return
        item = self.append(name, who, body)
        if key is not None:
            self.keys[scope] = item

    @rule(name=NAMES, who=WHO)
    def interrupt(self, name: str, who: str) -> None:
        if self.sessions[name].status != "terminated":
            self.append(name, who, AppendEvent(type=INTERRUPT, payload={}))

    @precondition(lambda self: any(session.open for session in self.sessions.values()))
    @rule(data=st.data(), who=WHO, allowed=st.booleans())
    def decide(self, data: st.DataObject, who: str, allowed: bool) -> None:
        waiting = [(name, action) for name, session in self.sessions.items() for action in session.open]
        name, action = data.draw(st.sampled_from(waiting))
        payload = {"request_id": action.id, "allowed": allowed}
        body = AppendEvent(type=CONFIRMATION, payload=payload)
        self.append(name, who, body)
        action.status = "approved" if allowed else "denied"
        with pytest.raises(DomainError, match="decided already"):
            self.cores[who].sessions.control.append(self.ids[name], body)

    @precondition(lambda self: any(session.open for session in self.sessions.values()))
    @rule(data=st.data(), who=WHO)
    def run_out(self, data: st.DataObject, who: str) -> None:
        """Nobody decided in time; whoever looks again finds nothing to decline."""
        waiting = [(name, action) for name, session in self.sessions.items() for action in session.open]
        name, action = data.draw(st.sampled_from(waiting))
        core = self.cores[who]
        core.database.execute("UPDATE pending_actions SET expires_at = ? WHERE id = ?", (PAST, action.id))
        assert core.sessions.approvals.expire(utc_now()) == 1
        action.status = "expired"
        self.adopt(name, CONFIRMATION, resumes=False)
        assert [each.sessions.approvals.expire(utc_now()) for each in self.cores.values()] == [0, 0]
        body = AppendEvent(type=CONFIRMATION, payload={"request_id": action.id, "allowed": True})
        with pytest.raises(DomainError, match="it was expired"):
            core.sessions.control.append(self.ids[name], body)

    @rule(name=NAMES, who=WHO, key=st.sampled_from(["w1", "w2"]), due=st.booleans())
    def schedule(self, name: str, who: str, key: str, due: bool) -> None:
        session = self.sessions[name]
        if session.status != "terminated":
            self.cores[who].records.scheduled.schedule(
                self.ids[name], due_at=PAST if due else FUTURE, reason=key, dedupe_key=key
            )
            session.wakes.setdefault(key, due)

    @precondition(lambda self: any(found.queued for found in self.sessions.values()))
    @rule(data=st.data(), who=WHO)
    def take_back(self, data: st.DataObject, who: str) -> None:
        fresh = [
            (session, found)
            for session in self.sessions.values()
            for found in session.queued
            if found.attempt == 0 and found.kind == MESSAGE
        ]
        if fresh:
            session, found = data.draw(st.sampled_from(fresh))
            workspace = AGENT if session.takes_all else WORKSPACE
            self.cores[who].sessions.inbound.cancel(workspace, self.ids[session.name], found.id)
            found.status = "CANCELLED"
            if not session.queued and session.status == "rescheduling":
                session.status, session.error = "idle", False

    # --- running

    @precondition(
        lambda self: any(found.queued or found.wakes or found.lease for found in self.sessions.values())
    )
    @rule(data=st.data(), who=WHO)
    def claim(self, data: st.DataObject, who: str) -> None:
        """A wake up to the moment at which its harness would run."""
        name = self.draw_session(data, lambda found: bool(found.queued or found.wakes or found.lease))
        session, waker, session_id = self.sessions[name], self.cores[who].sessions.waker, self.ids[name]
        assert waker.recovery.recover_if_abandoned(session_id) == session.recover(self.alive)
        fired = session.fire()
        waker.delayed.fire(utc_now(), session_id)
        if fired:
            self.adopt(name, WAKE_DUE)
        expected = session.claimable()
        row = self.cores[who].records.sessions.get(session_id)
        assert row is not None
        peeked = waker.claimer.peek(row)
        if isinstance(peeked, str):
            assert peeked == expected
            return
        claim = waker.claimer.claim(session_id, peeked[0].input_id)
        if isinstance(claim, str):
            assert claim == expected
            return
        assert isinstance(expected, list)
        assert [taken.input_id for taken in claim.inputs] == [found.id for found in expected]
        session.begin(self.owner(who), claim.wake.wake_id, expected)
        delivered = {action.id for action in session.actions if action.delivered == claim.wake.wake_id}
        assert {decision.id for decision in claim.decisions} == delivered
        assert session.run is not None
        self.claims[claim.wake.wake_id] = (claim, session.run)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), spoke=st.booleans())
    def speak(self, data: st.DataObject, spoke: bool) -> None:
        """The harness began, and perhaps said something."""
        who, claim, run, session = self.draw_claim(data)
        if session.run is not run:
            return
        said: list[tuple[str, dict[str, Any]]] = (
            [] if run.started else [(RunEvent.RUN_STARTED, {"model_id": "m"})]
        )
        if spoke and not run.spoke:
            said.append((RunEvent.OUTPUT_DELTA, {"delta": "x", "content_index": 0, "offset": 0}))
        lead = claim.input
        self.cores[who].records.outputs.append(lead.workspace_id, lead.session_id, lead.input_id, said)
        run.started, run.spoke = True, run.spoke or spoke

    @precondition(lambda self: self.claims)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(["success", "paused", "failed", "ask", "ask"]),
        asked=st.integers(1, 2),
    )
    def finish(self, data: st.DataObject, outcome: str, asked: int) -> None:
        who, claim, run, session = self.draw_claim(data)
        del self.claims[claim.wake.wake_id]
        calls = [f"{claim.wake.wake_id}-{number}" for number in range(asked if outcome == "ask" else 0)]
        self.cores[who].sessions.waker.finish(claim, self.fold(who, claim), terminal(outcome, calls))
        if session.run is run and session.lease == run.worker:
            ended = session.status == "terminated"
            session.finish(outcome)
            if not ended:
                self.adopt_actions(session, who)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), later=st.booleans())
    def retry(self, data: st.DataObject, later: bool) -> None:
        who, claim, run, session = self.draw_claim(data)
        if not run.spoke and run.inputs[0].attempt < 3 and session.status != "terminated":
            del self.claims[claim.wake.wake_id]
            settler = self.cores[who].sessions.waker.settler
            current = session.run is run
            assert settler.requeue(claim, delay_s=9_000 if later else -1, why={"type": "busy"}) == current
            if current:
                session.requeue(later=later)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        who, claim, run, session = self.draw_claim(data)
        renewed = self.cores[who].records.sessions.renew_lease(
            claim.session.session_id, claim.epoch, from_now(60)
        )
        assert renewed == (session.run is run)
        if renewed:
            session.expired = False

    @rule(who=WHO)
    def time_passes(self, who: str) -> None:
        """Every retry is due."""
        self.cores[who].database.execute("UPDATE agent_session_inputs SET available_at = ?", (PAST,))
        for session in self.sessions.values():
            for found in session.inputs:
                found.later = False

    @precondition(lambda self: any(found.lease for found in self.sessions.values()))
    @rule(data=st.data(), who=WHO, found=st.booleans())
    def lease_runs_out(self, data: st.DataObject, who: str, found: bool) -> None:
        """And perhaps somebody finds it at once, so that its owner goes on without knowing."""
        name = self.draw_session(data, lambda session: session.lease is not None)
        self.cores[who].database.execute(
            "UPDATE agent_sessions SET lease_until = ? WHERE session_id = ?", (PAST, self.ids[name])
        )
        self.sessions[name].expired = True
        if found:
            self.recover(who)

    @rule(who=WHO)
    def die(self, who: str) -> None:
        """A worker is killed, and another one is there in its place: it has recovered nothing yet."""
        crash(self.cores[who])
        gone = [wake_id for wake_id, (_, run) in self.claims.items() if run.worker == self.owner(who)]
        for wake_id in gone:
            del self.claims[wake_id]
        self.cores[who] = Core(self.folder)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def die_after_the_commit(self, data: st.DataObject) -> None:
        """The turn is committed; its continuity is not written and its lease not released."""
        who, claim, run, session = self.draw_claim(data)
        del self.claims[claim.wake.wake_id]
        settler = self.cores[who].sessions.waker.settler
        current = session.run is run
        assert settler.finish(claim, self.fold(who, claim), terminal("success", [])) == current
        if current:
            session.finish("success")
            session.lease, session.owes = run.worker, True
        self.die(who)

    @rule(who=WHO)
    def recover(self, who: str) -> None:
        alive = self.alive
        expected = sum(session.recover(alive) for session in self.sessions.values())
        assert self.cores[who].sessions.recover() == expected

    # --- steering

    @rule(name=NAMES, who=WHO)
    def pause(self, name: str, who: str) -> None:
        session, control = self.sessions[name], self.cores[who].sessions.control
        workspace = AGENT if session.takes_all else WORKSPACE
        if session.run is not None:
            assert control.pause(workspace, self.ids[name]).status == "PAUSING"
            session.hold = True
            return
        expected = session.claimable(any_time=True)
        if isinstance(expected, str):
            with pytest.raises(DomainError, match="Nothing is running"):
                control.pause(workspace, self.ids[name])
            return
        assert control.pause(workspace, self.ids[name]).status == "PAUSED"
        wake = self.cores[who].records.wakes.latest(self.ids[name])
        assert wake is not None
        session.begin(self.owner(who), wake.wake_id, expected)
        session.hold = True
        session.finish("paused")
        session.discard()

    @precondition(lambda self: any(found.hold for found in self.sessions.values()))
    @rule(data=st.data(), who=WHO)
    def resume(self, data: st.DataObject, who: str) -> None:
        name = self.draw_session(data, lambda session: session.hold)
        workspace = AGENT if name == "agent" else WORKSPACE
        control = self.cores[who].sessions.control
        if self.sessions[name].status == "terminated":
            with pytest.raises(DomainError, match="has ended"):
                control.resume(workspace, self.ids[name])
            return
        control.resume(workspace, self.ids[name])
        self.sessions[name].hold = False

    @rule(name=st.sampled_from(DESKS), who=WHO, sure=st.integers(0, 3))
    def terminate(self, name: str, who: str, sure: int) -> None:
        """Not the agent's: it is to live through long stories."""
        if sure == 0:
            self.cores[who].sessions.control.terminate(self.ids[name])
            self.sessions[name].terminate()

    # --- the model and the database

    @invariant()
    def the_database_is_as_the_model(self) -> None:
        if hasattr(self, "cores"):
            for worker, core in self.cores.items():
                for name, session in self.sessions.items():
                    assert self.seen(core, name) == snapshot(session), f"{name} as {worker} sees it"

    @invariant()
    def every_run_ends_once(self) -> None:
        if not hasattr(self, "cores"):
            return
        records = self.cores["a"].records
        for name, session in self.sessions.items():
            said = records.outputs.of_inputs([found.id for found in session.inputs])
            turns = {row[1] for row in records.turns.index(self.ids[name])}
            for found in session.inputs:
                ends = [event for event in said[found.id] if event.event_type in TERMINAL_EVENTS]
                assert len(ends) == (found.id in turns)
                assert not ends or said[found.id][-1] is ends[0]
                event = records.events.get(found.id)
                assert event is not None
                assert (event.processed_at is None) == (found.status in ("QUEUED", "CLAIMED"))
            assert len(turns) == session.turns
            assert bool(records.wakes.owing(self.ids[name])) == session.owes

    def seen(self, core: Core, name: str) -> dict[str, Any]:
        session_id = self.ids[name]
        rows = core.database.rows("SELECT * FROM agent_session_inputs WHERE session_id = ?", (session_id,))
        actions = core.database.rows("SELECT * FROM pending_actions WHERE session_id = ?", (session_id,))
        record, running = core.records.sessions.get(session_id), core.records.wakes.running(session_id)
        assert record is not None
        status = core.sessions.views.status(session_id)
        workspace = AGENT if name == "agent" else WORKSPACE
        return {
            "inputs": {row["input_id"]: (row["status"], row["attempt"]) for row in rows},
            "actions": {row["id"]: (row["status"], row["delivered_wake_id"]) for row in actions},
            "wakes": {wake.dedupe_key for wake in core.records.scheduled.waiting(session_id)},
            "running": running.wake_id if running else None,
            "lease": record.lease_owner is not None,
            "hold": record.hold is not None,
            "error": record.last_error is not None,
            "turns": len(core.records.turns.index(session_id)),
            "public": (core.sessions.control.state(workspace, session_id).effective_state, status.status),
        }

    def append(self, name: str, who: str, body: AppendEvent) -> Input:
        reply = self.cores[who].sessions.control.append(self.ids[name], body)
        return self.enter(name, reply.input_id, body.type, body.priority)

    def enter(self, name: str, input_id: str, kind: str, priority: int = 0, *, resumes: bool = True) -> Input:
        self.order += 1
        item = Input(input_id, self.order, kind, priority)
        self.sessions[name].accept(item, resumes=resumes)
        return item

    def adopt(self, name: str, kind: str, *, resumes: bool = True) -> None:
        """An input that the runtime made by itself."""
        known = {found.id for found in self.sessions[name].inputs}
        rows = self.cores["a"].database.rows(
            "SELECT * FROM agent_session_inputs WHERE session_id = ? ORDER BY seq DESC LIMIT 1",
            (self.ids[name],),
        )
        assert rows[0]["input_id"] not in known
        assert rows[0]["event_type"] == kind
        self.enter(name, rows[0]["input_id"], kind, rows[0]["priority"], resumes=resumes)

    def adopt_actions(self, session: Session, who: str) -> None:
        known = {action.id for action in session.actions}
        for action in self.cores[who].records.actions.open(self.ids[session.name]):
            if action.id not in known:
                session.actions.append(Action(action.id, str(action.call_id)))

    def draw_claim(self, data: st.DataObject) -> tuple[str, Claim, Run, Session]:
        claim, run = self.claims[data.draw(st.sampled_from(sorted(self.claims)))]
        who = next(name for name in WORKERS if self.owner(name) == run.worker)
        session = next(s for n, s in self.sessions.items() if self.ids[n] == claim.session.session_id)
        return who, claim, run, session

    def draw_session(self, data: st.DataObject, wanted: Callable[[Session], bool]) -> str:
        return data.draw(st.sampled_from([name for name, found in self.sessions.items() if wanted(found)]))

    def fold(self, who: str, claim: Claim) -> TurnFold:
        lead = claim.input.input_id
        return TurnFold.of(self.cores[who].records.outputs.of_inputs([lead])[lead])


def terminal(outcome: str, calls: list[str]) -> RunnerEvent:
    if outcome == "failed":
        return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload={"type": "broken", "message": "no"})
    status = "waiting_user" if outcome == "ask" else outcome
    pending = [PendingCall(call_id=call, kind="tool_confirmation", tool_name="bash") for call in calls]
    return RunnerEvent(
        event_type=RunEvent.RUN_COMPLETED, payload={"status": status}, result=RunResult(pending=pending)
    )


SessionMachine.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking takes longer than a suite can wait
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestSessionMachine = SessionMachine.TestCase
