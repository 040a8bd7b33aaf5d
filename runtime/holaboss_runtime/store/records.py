"""The record families of the session core over one database, so that they travel together."""

from __future__ import annotations

from holaboss_runtime.store.activations import ActivationRecords
from holaboss_runtime.store.boundaries import BoundaryRecords
from holaboss_runtime.store.checkpoints import CheckpointRecords
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.harness_history import HarnessHistoryRecords
from holaboss_runtime.store.inputs import InputRecords
from holaboss_runtime.store.learnings import LearningRecords
from holaboss_runtime.store.messages import MessageRecords
from holaboss_runtime.store.notifications import Notifications
from holaboss_runtime.store.outbox import Outbox
from holaboss_runtime.store.output_events import OutputEventRecords
from holaboss_runtime.store.outputs import Outputs
from holaboss_runtime.store.pending_actions import PendingActionRecords
from holaboss_runtime.store.permissions import PermissionRecords
from holaboss_runtime.store.post_run_jobs import PostRunJobs
from holaboss_runtime.store.request_snapshots import RequestSnapshotRecords
from holaboss_runtime.store.session_events import SessionEventRecords
from holaboss_runtime.store.session_facts import SessionFactRecords
from holaboss_runtime.store.session_wakes import SessionWakeRecords
from holaboss_runtime.store.sessions import SessionRecords
from holaboss_runtime.store.subagents import SubagentRecords
from holaboss_runtime.store.turns import TurnRecords
from holaboss_runtime.store.wakes import WakeRecords


class Records:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.outbox = Outbox(database)
        self.sessions = SessionRecords(database, self.outbox)
        self.facts = SessionFactRecords(database)
        self.events = SessionEventRecords(database, self.outbox)
        self.inputs = InputRecords(database)
        self.wakes = WakeRecords(database)
        self.actions = PendingActionRecords(database)
        self.scheduled = SessionWakeRecords(database, self.outbox)
        self.activations = ActivationRecords(database, self.outbox)
        self.subagents = SubagentRecords(database)
        self.learnings = LearningRecords(database, self.outbox)
        self.outputs = OutputEventRecords(database)
        self.products = Outputs(database)
        self.notifications = Notifications(database)
        self.permissions = PermissionRecords(database)
        self.messages = MessageRecords(database)
        self.turns = TurnRecords(database)
        self.snapshots = RequestSnapshotRecords(database)
        self.harness_history = HarnessHistoryRecords(database)
        self.checkpoints = CheckpointRecords(database, self.outbox)
        self.boundaries = BoundaryRecords(database)
        self.jobs = PostRunJobs(database)
