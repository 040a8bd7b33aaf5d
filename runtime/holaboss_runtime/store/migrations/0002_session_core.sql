-- The agent layer on the session core: agents and environments, typed inputs, wakes that take several inputs, actions
-- that wait for a person, delayed wakes, and the records that continuity and the file projections are made from.

CREATE TABLE agents (
    agent_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    runner TEXT NOT NULL,
    config TEXT NOT NULL DEFAULT '{}',
    config_fingerprint TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX agents_by_workspace ON agents (workspace_id);

CREATE TABLE environments (
    environment_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    document TEXT NOT NULL,
    file_fingerprint TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- `agent_id` is null for a conversation of the desktop: its agent is its workspace.
ALTER TABLE agent_sessions ADD COLUMN agent_id TEXT REFERENCES agents (agent_id);
ALTER TABLE agent_sessions ADD COLUMN environment_id TEXT REFERENCES environments (environment_id);
ALTER TABLE agent_sessions ADD COLUMN resources TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agent_sessions ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE agent_sessions ADD COLUMN follow_ups INTEGER NOT NULL DEFAULT 0;
CREATE INDEX agent_sessions_by_agent ON agent_sessions (agent_id, updated_at DESC, session_id DESC);

CREATE INDEX session_events_by_wake ON session_events (wake_id, seq);
CREATE INDEX session_events_by_type ON session_events (session_id, type, seq);

ALTER TABLE agent_session_inputs ADD COLUMN event_type TEXT NOT NULL DEFAULT 'user.message';
-- Only what waits for its time is in it: hardly ever anything.
DROP INDEX inputs_due;
CREATE INDEX inputs_due ON agent_session_inputs (available_at) WHERE status = 'QUEUED' AND available_at <> '';
CREATE INDEX inputs_claimed ON agent_session_inputs (session_id, claimed_until) WHERE status = 'CLAIMED';

ALTER TABLE wakes ADD COLUMN reason TEXT NOT NULL DEFAULT 'worker';
ALTER TABLE wakes ADD COLUMN request_fingerprint TEXT;
-- What is still to be done after the commit of a turn; recovery finishes it.
ALTER TABLE wakes ADD COLUMN continuity_owed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wakes ADD COLUMN evolve_owed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX wakes_owing ON wakes (seq) WHERE continuity_owed = 1 OR evolve_owed = 1;

CREATE TABLE wake_inputs (
    wake_id TEXT NOT NULL REFERENCES wakes (wake_id),
    input_id TEXT NOT NULL REFERENCES agent_session_inputs (input_id),
    position INTEGER NOT NULL,
    PRIMARY KEY (wake_id, input_id)
) WITHOUT ROWID;
CREATE INDEX wake_inputs_by_input ON wake_inputs (input_id);
INSERT INTO wake_inputs (wake_id, input_id, position) SELECT wake_id, lead_input_id, 0 FROM wakes;

-- A wish to be woken later. `outcome` is consumed, cancelled or expired once it is completed.
CREATE TABLE session_wakes (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    due_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    note TEXT,
    dedupe_key TEXT,
    priority TEXT NOT NULL DEFAULT 'normal',
    created_at TEXT NOT NULL,
    completed_at TEXT,
    outcome TEXT,
    input_id TEXT
);
CREATE UNIQUE INDEX session_wakes_dedupe ON session_wakes (session_id, dedupe_key)
    WHERE completed_at IS NULL AND dedupe_key IS NOT NULL;
CREATE INDEX session_wakes_due ON session_wakes (due_at) WHERE completed_at IS NULL;
CREATE INDEX session_wakes_waiting ON session_wakes (session_id, due_at) WHERE completed_at IS NULL;
CREATE INDEX session_wakes_by_session ON session_wakes (session_id, created_at);

-- `status` is open, approved, denied, answered or cancelled. `delivered_wake_id` is the wake that got the decision:
-- what it names is handed to a harness once and never again.
CREATE TABLE pending_actions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    wake_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    call_id TEXT,
    tool_name TEXT NOT NULL,
    input TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open',
    event_id TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    decided_at TEXT,
    decision_event_id TEXT,
    note TEXT,
    output TEXT,
    delivered_wake_id TEXT,
    delivered_at TEXT
);
CREATE INDEX pending_actions_open ON pending_actions (session_id, seq) WHERE status = 'open';
CREATE INDEX pending_actions_undelivered ON pending_actions (session_id) WHERE delivered_wake_id IS NULL;
CREATE INDEX pending_actions_delivered ON pending_actions (delivered_wake_id);

CREATE TABLE activations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL
);
CREATE INDEX activations_by_agent ON activations (agent_id, seq);
CREATE INDEX activations_by_session ON activations (session_id, seq);

CREATE TABLE learnings (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    wake_id TEXT,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    detail TEXT NOT NULL,
    promote INTEGER NOT NULL DEFAULT 0,
    dedupe_key TEXT NOT NULL,
    source_reason TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX learnings_by_wake ON learnings (wake_id);
CREATE UNIQUE INDEX learnings_dedupe ON learnings (agent_id, dedupe_key);

-- One row per session: what the next run needs to know of the last one.
CREATE TABLE session_checkpoints (
    session_id TEXT PRIMARY KEY REFERENCES agent_sessions (session_id),
    wake_id TEXT NOT NULL,
    document TEXT NOT NULL,
    notes TEXT NOT NULL DEFAULT '{}',
    updated_at TEXT NOT NULL
);

CREATE TABLE compaction_boundaries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    boundary_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    boundary_type TEXT NOT NULL DEFAULT 'executor_post_turn',
    previous_boundary_id TEXT,
    summary TEXT,
    recent_runtime_context TEXT,
    restoration_context TEXT,
    preserved_turn_input_ids TEXT NOT NULL DEFAULT '[]',
    request_snapshot_fingerprint TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX compaction_boundaries_recent ON compaction_boundaries (session_id, seq DESC);

CREATE TABLE post_run_jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL UNIQUE,
    job_type TEXT NOT NULL,
    input_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}',
    status TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 0,
    available_at TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT,
    claimed_by TEXT,
    claimed_until TEXT,
    last_error TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX post_run_jobs_idempotency ON post_run_jobs (workspace_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX post_run_jobs_ready ON post_run_jobs (priority DESC, seq) WHERE status = 'QUEUED';
CREATE INDEX post_run_jobs_recent ON post_run_jobs (workspace_id, created_at DESC);
CREATE INDEX post_run_jobs_by_session ON post_run_jobs (session_id, status, available_at);

-- What the files of a session do not show yet. `stream` names the file, `record` is the line to append, or null when
-- the whole file is written anew from the records.
CREATE TABLE projection_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL,
    session_id TEXT,
    stream TEXT NOT NULL,
    record TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX projection_outbox_by_session ON projection_outbox (session_id, seq);
