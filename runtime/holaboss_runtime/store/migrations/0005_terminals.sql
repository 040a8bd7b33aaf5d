-- Terminals, and what happened in them.

-- `status`: starting, running, exited, failed, interrupted, closed. `width` and `height` are in characters. Events up to
-- `dropped_event_seq` are not kept any more.
CREATE TABLE terminal_sessions (
    terminal_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    session_id TEXT,
    input_id TEXT,
    title TEXT NOT NULL DEFAULT '',
    backend TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    cwd TEXT NOT NULL,
    shell TEXT NOT NULL,
    command TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    containment TEXT NOT NULL,
    network TEXT NOT NULL,
    exit_code INTEGER,
    last_event_seq INTEGER NOT NULL DEFAULT 0,
    dropped_event_seq INTEGER NOT NULL DEFAULT 0,
    created_by TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    last_activity_at TEXT NOT NULL,
    ended_at TEXT,
    metadata TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX terminal_sessions_by_workspace ON terminal_sessions (workspace_id, status, last_activity_at);
CREATE INDEX terminal_sessions_by_session ON terminal_sessions (session_id, created_at);

CREATE TABLE terminal_session_events (
    terminal_id TEXT NOT NULL REFERENCES terminal_sessions (terminal_id),
    sequence INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (terminal_id, sequence)
);
