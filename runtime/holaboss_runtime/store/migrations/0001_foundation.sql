-- Times are ISO-8601 UTC text, JSON is text, booleans are 0 or 1. Column names follow the runtime reference.

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    workspace_path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL DEFAULT 'workspace',
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    harness TEXT NOT NULL,
    error_message TEXT,
    onboarding_status TEXT NOT NULL DEFAULT 'not_required',
    onboarding_session_id TEXT,
    onboarding_completed_at TEXT,
    onboarding_completion_summary TEXT,
    onboarding_requested_at TEXT,
    onboarding_requested_by TEXT,
    icon TEXT,
    icon_color TEXT,
    managed INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    deleted_at_utc TEXT
);
CREATE INDEX workspaces_recent ON workspaces (updated_at DESC, created_at DESC);

-- `status` is the stored word (idle, running, rescheduling, requires_action, terminated); both public vocabularies
-- are derived from it, from `hold`, `last_error` and the queue.
CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    kind TEXT NOT NULL DEFAULT 'workspace_session',
    title TEXT,
    parent_session_id TEXT,
    source_proposal_id TEXT,
    created_by TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'idle',
    stop_reason TEXT,
    hold TEXT,
    last_error TEXT,
    coalesce TEXT NOT NULL DEFAULT 'one',
    turns INTEGER NOT NULL DEFAULT 0,
    harness_session_id TEXT,
    lease_owner TEXT,
    lease_until TEXT,
    lease_epoch INTEGER NOT NULL DEFAULT 0,
    heartbeat_at TEXT,
    row_version INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
);
CREATE INDEX agent_sessions_recent ON agent_sessions (workspace_id, updated_at DESC, session_id DESC);
CREATE UNIQUE INDEX agent_sessions_main ON agent_sessions (workspace_id) WHERE kind = 'main_session';

-- Strictly append, except that processed_at is set once.
CREATE TABLE session_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    type TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}',
    wake_id TEXT,
    created_at TEXT NOT NULL,
    processed_at TEXT
);
CREATE INDEX session_events_by_session ON session_events (session_id, seq);

-- The queue face of an inbound event: input_id = event_id. `seq` is its age: several can arrive in one millisecond.
CREATE TABLE agent_session_inputs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    input_id TEXT NOT NULL UNIQUE REFERENCES session_events (event_id),
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    workspace_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 0,
    available_at TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT,
    claimed_by TEXT,
    claimed_until TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX inputs_idempotency ON agent_session_inputs (workspace_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX inputs_ready ON agent_session_inputs (priority DESC, seq) WHERE status = 'QUEUED';
CREATE INDEX inputs_by_session ON agent_session_inputs (session_id, status, priority DESC, seq);
-- An input whose first attempt did not work keeps its place: the rest of its session waits behind it.
CREATE INDEX inputs_retrying ON agent_session_inputs (attempt, session_id) WHERE status = 'QUEUED' AND attempt > 0;
CREATE INDEX inputs_due ON agent_session_inputs (available_at) WHERE status = 'QUEUED';

-- One row per attempt to run; `seq` orders the turns of a transcript. ended_at is null while it runs.
CREATE TABLE wakes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    wake_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    lead_input_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    result TEXT,
    stop_reason TEXT,
    error TEXT
);
CREATE INDEX wakes_by_session ON wakes (session_id, seq);
CREATE UNIQUE INDEX wakes_open ON wakes (session_id) WHERE ended_at IS NULL;
CREATE INDEX wakes_by_input ON wakes (lead_input_id, seq);

CREATE TABLE session_output_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX output_events_by_input ON session_output_events (input_id, sequence);
CREATE INDEX output_events_by_session ON session_output_events (session_id, id);
-- A run ends once, whoever ends it.
CREATE UNIQUE INDEX output_events_terminal ON session_output_events (input_id)
    WHERE event_type IN ('run_completed', 'run_failed');

CREATE TABLE session_messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX session_messages_by_session ON session_messages (session_id, seq);

-- One row per finished run. `seq` is that of its wake.
CREATE TABLE turn_results (
    input_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    completed_at TEXT,
    status TEXT NOT NULL,
    stop_reason TEXT,
    assistant_text TEXT NOT NULL DEFAULT '',
    tool_usage_summary TEXT NOT NULL DEFAULT '{}',
    permission_denials TEXT NOT NULL DEFAULT '[]',
    prompt_section_ids TEXT NOT NULL DEFAULT '[]',
    capability_manifest_fingerprint TEXT,
    request_snapshot_fingerprint TEXT,
    prompt_cache_profile TEXT,
    token_usage TEXT,
    user_chars INTEGER NOT NULL DEFAULT 0,
    user_lines INTEGER NOT NULL DEFAULT 0,
    answer_chars INTEGER NOT NULL DEFAULT 0,
    answer_lines INTEGER NOT NULL DEFAULT 0,
    steps INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
-- Covers the turn index: laying out a transcript must not read a single answer.
CREATE INDEX turn_results_layout ON turn_results
    (session_id, seq, input_id, user_chars, user_lines, answer_chars, answer_lines, steps);
CREATE INDEX turn_results_recent ON turn_results (workspace_id, session_id, completed_at DESC, started_at DESC);

CREATE TABLE turn_request_snapshots (
    input_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    snapshot_kind TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX request_snapshots_recent ON turn_request_snapshots (workspace_id, session_id, updated_at DESC);

-- Content-addressed text of prompt sections: a snapshot names them by fingerprint.
CREATE TABLE prompt_sections (
    fingerprint TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    created_at TEXT NOT NULL
);

-- What the executor remembers of each turn, opaque to all but the adapter that wrote it. `seq` is that of the wake.
CREATE TABLE harness_history (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    adapter TEXT NOT NULL,
    version INTEGER NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
) WITHOUT ROWID;

CREATE TABLE runtime_user_profiles (
    profile_id TEXT PRIMARY KEY,
    name TEXT,
    name_source TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- Bounded; a reader that asks for a seq no longer here is told to start over.
CREATE TABLE change_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    workspace_id TEXT,
    session_id TEXT,
    payload TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL
);
