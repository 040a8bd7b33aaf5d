-- Work that one session handed to another. What became of it is in the session, its queue and its turns; here is what
-- they do not say. `subagent_id` is the id of the session that does the work.

CREATE TABLE subagent_runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    subagent_id TEXT NOT NULL UNIQUE REFERENCES agent_sessions (session_id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    owner_session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    parent_input_id TEXT NOT NULL,
    goal TEXT NOT NULL,
    context TEXT NOT NULL DEFAULT '',
    tools TEXT NOT NULL DEFAULT '[]',
    model TEXT,
    thinking_value TEXT,
    timeout_ms INTEGER,
    cancelled_at TEXT,
    archived_at TEXT,
    -- When the owner is to be told what became of it; null while there is nothing to tell.
    report_due_at TEXT,
    reported_input_id TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX subagent_runs_by_owner ON subagent_runs (owner_session_id, seq);
CREATE INDEX subagent_runs_by_workspace ON subagent_runs (workspace_id, seq);
CREATE INDEX subagent_runs_reporting ON subagent_runs (report_due_at) WHERE report_due_at IS NOT NULL;
