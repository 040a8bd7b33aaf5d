"""Any order of asking, running, stopping, failing and crashing keeps the rules of the queue."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holaboss_client.base import utc_now
from holaboss_client.events import TERMINAL_EVENTS, RunEvent
from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import RunnerEvent
from holaboss_runtime.runs.turn_fold import TurnFold
from holaboss_runtime.sessions.recovery import Recovery
from holaboss_runtime.sessions.service import SERVER_OWNER
from holaboss_runtime.sessions.settle import Claim, Settler
from tests.runtime.sessions.core import WORKSPACE, Core

SESSIONS = st.sampled_from(["a", "b", "c"])
SETTLED = {"DONE", "FAILED", "PAUSED"}


class QueueMachine(RuleBasedStateMachine):
    """Drives claims and commits directly, as the worker does, so that every interleaving can be tried."""

    @initialize()
    def open(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.core = Core(Path(self.directory.name))
        self.waker = self.core.sessions.waker
        self.settler = Settler(self.core.records, self.waker.publish)
        self.claims: dict[str, tuple[Claim, TurnFold]] = {}

    def teardown(self) -> None:
        if hasattr(self, "core"):
            self.core.database.close()
            self.directory.cleanup()

    @rule(session=SESSIONS, priority=st.integers(0, 2))
    def send(self, session: str, priority: int) -> None:
        self.core.send("x", session_id=session, priority=priority)

    @rule()
    def claim_next(self) -> None:
        head = self.core.records.inputs.next_ready(utc_now(), busy_sessions=(), waiting_inputs=())
        if head is not None:
            claim = self.waker.claim(head)
            assert claim is not None
            assert head.session_id not in self.claims
            self.claims[head.session_id] = (claim, TurnFold())

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def speak(self, data: st.DataObject) -> None:
        claim, fold = self.claims[data.draw(st.sampled_from(sorted(self.claims)))]
        payload = {"delta": "x", "content_index": 0, "offset": len(fold.assistant_text)}
        said = claim.input
        fold.add("output_delta", payload)
        self.core.records.outputs.append(
            said.workspace_id, said.session_id, said.input_id, [("output_delta", payload)]
        )

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), status=st.sampled_from(["success", "waiting_user", "paused", "failed"]))
    def finish(self, data: st.DataObject, status: str) -> None:
        claim, fold = self.claims.pop(data.draw(st.sampled_from(sorted(self.claims))))
        kind = RunEvent.RUN_FAILED if status == "failed" else RunEvent.RUN_COMPLETED
        assert self.settler.finish(claim, fold, RunnerEvent(event_type=kind, payload={"status": status}))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        claim, fold = self.claims[data.draw(st.sampled_from(sorted(self.claims)))]
        if not fold.progressed:
            del self.claims[claim.input.session_id]
            assert self.settler.requeue(claim, delay_s=0, why={"type": "busy"})

    @rule(session=SESSIONS)
    def pause_what_is_queued(self, session: str) -> None:
        if session not in self.claims:
            self.try_to(lambda: self.core.sessions.control.pause(WORKSPACE, session))

    @rule(session=SESSIONS)
    def resume(self, session: str) -> None:
        self.try_to(lambda: self.core.sessions.control.resume(WORKSPACE, session))

    @rule(session=SESSIONS)
    def take_back(self, session: str) -> None:
        queued = self.core.records.inputs.queued(session)
        if queued:
            self.core.sessions.inbound.cancel(WORKSPACE, session, queued[0].input_id)

    @rule()
    def crash(self) -> None:
        stale = self.claims
        self.claims = {}
        recovery = Recovery(self.core.records, self.settler, f"{SERVER_OWNER}next")
        assert recovery.recover_all(SERVER_OWNER) == len(stale)
        ended = RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload={"status": "success"})
        for claim, fold in stale.values():
            assert not self.settler.finish(claim, fold, ended)

    def try_to(self, action: Callable[[], object]) -> None:
        with suppress(DomainError):
            action()

    @invariant()
    def the_records_agree(self) -> None:
        if not hasattr(self, "core"):
            return
        records = self.core.records
        rows = records.database.rows("SELECT * FROM agent_session_inputs")
        events = records.outputs.of_inputs([row["input_id"] for row in rows])
        for row in rows:
            said = events[row["input_id"]]
            terminals = [event for event in said if event.event_type in TERMINAL_EVENTS]
            assert len(terminals) == (row["status"] in SETTLED)
            assert not terminals or said[-1] is terminals[0]
            assert [event.sequence for event in said] == sorted(event.sequence for event in said)
            assert (records.turns.get(row["input_id"]) is not None) == (row["status"] in SETTLED)
            processed = records.database.scalar(
                "SELECT processed_at FROM session_events WHERE event_id = ?", (row["input_id"],)
            )
            assert (processed is None) == (row["status"] in {"QUEUED", "CLAIMED"})

    @invariant()
    def states_agree_with_the_claims(self) -> None:
        if not hasattr(self, "core"):
            return
        for facts in self.core.records.facts.of_workspace(WORKSPACE):
            name = facts.session_id
            claimed = self.claims.get(name)
            state = self.core.state(name)
            assert (state.effective_state == "BUSY") == (claimed is not None)
            index = self.core.sessions.transcript.index(name)
            page = self.core.sessions.transcript.turns(name, from_seq=0, limit=200)
            assert [row[1] for row in index.rows] == [turn.input_id for turn in page.items]
            assert len({row[1] for row in index.rows}) == len(index.rows)
            if claimed is not None:
                assert index.live_input_id == claimed[0].input.input_id
            assert not {row[1] for row in index.rows} & {waiting.input_id for waiting in index.queued}


QueueMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestQueueMachine = QueueMachine.TestCase
