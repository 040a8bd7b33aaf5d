-- What the product shows beside its conversations (outputs, apps, automations, notifications, proposals), what it
-- remembers, and the search over what was said and what tools returned.

CREATE TABLE agent_runtime_sessions (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    session_id TEXT NOT NULL REFERENCES agent_sessions (session_id),
    harness TEXT NOT NULL,
    harness_session_id TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (workspace_id, session_id)
);
CREATE UNIQUE INDEX agent_runtime_sessions_harness ON agent_runtime_sessions
    (workspace_id, harness, harness_session_id);
CREATE INDEX agent_runtime_sessions_recent ON agent_runtime_sessions (workspace_id, updated_at DESC);

CREATE UNIQUE INDEX agent_sessions_by_proposal ON agent_sessions (workspace_id, source_proposal_id)
    WHERE source_proposal_id IS NOT NULL;

CREATE TABLE output_folders (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX output_folders_in_order ON output_folders (workspace_id, position, created_at);

CREATE TABLE outputs (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    output_type TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'draft',
    module_id TEXT,
    module_resource_id TEXT,
    file_path TEXT,
    html_content TEXT,
    session_id TEXT,
    input_id TEXT,
    artifact_id TEXT,
    folder_id TEXT REFERENCES output_folders (id) ON DELETE SET NULL,
    platform TEXT,
    metadata TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX outputs_recent ON outputs (workspace_id, created_at DESC, id DESC);
CREATE INDEX outputs_by_folder ON outputs (workspace_id, folder_id, created_at DESC);
CREATE INDEX outputs_of_folder ON outputs (folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX outputs_by_session ON outputs (session_id, input_id, created_at DESC);

CREATE TABLE app_builds (
    workspace_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT,
    completed_at TEXT,
    error TEXT,
    restart_attempts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (workspace_id, app_id)
);

CREATE TABLE app_ports (
    workspace_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    port INTEGER NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (workspace_id, app_id)
);

CREATE TABLE app_catalog (
    app_id TEXT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    icon TEXT,
    category TEXT,
    tags_json TEXT NOT NULL DEFAULT '[]',
    version TEXT,
    archive_url TEXT,
    archive_path TEXT,
    target TEXT NOT NULL,
    cached_at TEXT NOT NULL,
    PRIMARY KEY (source, app_id)
);

CREATE TABLE cronjobs (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    initiated_by TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    cron TEXT NOT NULL,
    description TEXT NOT NULL,
    instruction TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    delivery TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    last_run_at TEXT,
    next_run_at TEXT,
    run_count INTEGER NOT NULL DEFAULT 0,
    last_status TEXT,
    last_error TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX cronjobs_by_workspace ON cronjobs (workspace_id, created_at);
CREATE INDEX cronjobs_due ON cronjobs (enabled, next_run_at);

CREATE TABLE runtime_notifications (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    cronjob_id TEXT,
    source_type TEXT NOT NULL,
    source_label TEXT,
    title TEXT NOT NULL,
    message TEXT NOT NULL,
    level TEXT NOT NULL DEFAULT 'info',
    priority TEXT NOT NULL DEFAULT 'normal',
    state TEXT NOT NULL DEFAULT 'unread',
    metadata TEXT NOT NULL DEFAULT '{}',
    read_at TEXT,
    dismissed_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX runtime_notifications_by_workspace ON runtime_notifications (workspace_id, state, created_at DESC);
CREATE INDEX runtime_notifications_recent ON runtime_notifications (state, created_at DESC);

-- `client_secret_ref` names where the secret is kept (`keychain:…`); the secret itself is never here.
CREATE TABLE oauth_app_configs (
    provider_id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    client_secret_ref TEXT,
    authorize_url TEXT NOT NULL,
    token_url TEXT NOT NULL,
    scopes TEXT NOT NULL DEFAULT '[]',
    redirect_port INTEGER NOT NULL DEFAULT 38765,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE task_proposals (
    proposal_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    task_name TEXT NOT NULL,
    task_prompt TEXT NOT NULL,
    task_generation_rationale TEXT NOT NULL,
    proposal_source TEXT NOT NULL DEFAULT 'proactive',
    source_event_ids TEXT NOT NULL DEFAULT '[]',
    created_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'not_reviewed',
    accepted_session_id TEXT,
    accepted_input_id TEXT,
    accepted_at TEXT
);
CREATE INDEX task_proposals_recent ON task_proposals (workspace_id, created_at DESC);
CREATE INDEX task_proposals_by_state ON task_proposals (workspace_id, state, created_at DESC);

CREATE TABLE evolve_skill_candidates (
    candidate_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    task_proposal_id TEXT,
    kind TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'draft',
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    slug TEXT NOT NULL,
    skill_path TEXT NOT NULL,
    content_fingerprint TEXT NOT NULL,
    confidence REAL,
    evaluation_notes TEXT,
    source_turn_input_ids TEXT NOT NULL DEFAULT '[]',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    proposed_at TEXT,
    dismissed_at TEXT,
    accepted_at TEXT,
    promoted_at TEXT
);
CREATE INDEX skill_candidates_recent ON evolve_skill_candidates (workspace_id, created_at DESC);
CREATE INDEX skill_candidates_by_status ON evolve_skill_candidates (workspace_id, status, created_at DESC);
CREATE INDEX skill_candidates_by_proposal ON evolve_skill_candidates (task_proposal_id);

CREATE TABLE memory_update_proposals (
    proposal_id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    proposal_kind TEXT NOT NULL,
    target_key TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}',
    evidence TEXT,
    confidence REAL,
    source_message_id TEXT,
    state TEXT NOT NULL DEFAULT 'pending',
    persisted_memory_id TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    accepted_at TEXT,
    dismissed_at TEXT
);
CREATE INDEX memory_proposals_recent ON memory_update_proposals (workspace_id, created_at DESC);
CREATE INDEX memory_proposals_by_input ON memory_update_proposals (session_id, input_id, created_at);
CREATE INDEX memory_proposals_by_state ON memory_update_proposals (workspace_id, state, created_at DESC);

-- The catalogue of the memory tree; `workspace_id` is null for what is known of the person. The text is in the files.
CREATE TABLE memory_entries (
    memory_id TEXT PRIMARY KEY,
    workspace_id TEXT,
    session_id TEXT,
    scope TEXT NOT NULL,
    memory_type TEXT NOT NULL,
    subject_key TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]',
    verification_policy TEXT NOT NULL,
    staleness_policy TEXT NOT NULL DEFAULT 'stable',
    stale_after_seconds INTEGER,
    source_turn_input_id TEXT,
    source_message_id TEXT,
    source_type TEXT,
    observed_at TEXT,
    last_verified_at TEXT,
    confidence REAL,
    fingerprint TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    superseded_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX memory_entries_by_workspace ON memory_entries (workspace_id, scope, status, updated_at DESC);
CREATE INDEX memory_entries_by_scope ON memory_entries (scope, status, updated_at DESC);

-- Which entry was embedded, from what text, by what model. `vec_rowid` names the row of the vectors.
CREATE TABLE memory_embedding_index (
    vec_rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id TEXT NOT NULL UNIQUE REFERENCES memory_entries (memory_id) ON DELETE CASCADE,
    path TEXT NOT NULL UNIQUE,
    workspace_id TEXT,
    scope_bucket TEXT NOT NULL,
    memory_type TEXT NOT NULL,
    content_fingerprint TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    embedding_dim INTEGER NOT NULL,
    indexed_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX memory_embeddings_by_workspace ON memory_embedding_index (workspace_id, scope_bucket, memory_type);
CREATE INDEX memory_embeddings_by_scope ON memory_embedding_index (scope_bucket, memory_type);

-- `token_hash` is the SHA-256 of the token in hexadecimal: what is here opens nothing.
CREATE TABLE sandbox_run_tokens (
    token_hash TEXT PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    input_id TEXT NOT NULL,
    scopes TEXT NOT NULL DEFAULT '[]',
    expires_at TEXT NOT NULL,
    revoked_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX sandbox_run_tokens_expired ON sandbox_run_tokens (expires_at);

-- From here on SQLite only (FTS5). The indexes hold no text: they read it from the table and the view they name, and
-- the triggers tell them what changed. `store/search.py` is their only reader.

-- FTS5 reads a view without table-valued functions, so the parts of a result are named one by one: the first four.
CREATE VIEW tool_outputs AS
SELECT id, workspace_id, session_id, input_id, created_at, CASE
    WHEN json_type(payload, '$.result.content') = 'array' THEN concat_ws(
        char(10),
        json_extract(payload, '$.result.content[0].text'),
        json_extract(payload, '$.result.content[1].text'),
        json_extract(payload, '$.result.content[2].text'),
        json_extract(payload, '$.result.content[3].text'))
    ELSE CAST(json_extract(payload, '$.result') AS TEXT)
    END AS text
FROM session_output_events
WHERE event_type = 'tool_call'
  AND CASE WHEN json_valid(payload) THEN json_extract(payload, '$.phase') END = 'completed';

CREATE VIRTUAL TABLE message_search USING fts5 (
    text, content = 'session_messages', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE tool_output_search USING fts5 (
    text, content = 'tool_outputs', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO message_search (message_search) VALUES ('rebuild');
INSERT INTO tool_output_search (tool_output_search) VALUES ('rebuild');

CREATE TRIGGER message_search_insert AFTER INSERT ON session_messages BEGIN
    INSERT INTO message_search (rowid, text) VALUES (NEW.seq, NEW.text);
END;
CREATE TRIGGER message_search_delete AFTER DELETE ON session_messages BEGIN
    INSERT INTO message_search (message_search, rowid, text) VALUES ('delete', OLD.seq, OLD.text);
END;
CREATE TRIGGER message_search_update AFTER UPDATE OF text ON session_messages BEGIN
    INSERT INTO message_search (message_search, rowid, text) VALUES ('delete', OLD.seq, OLD.text);
    INSERT INTO message_search (rowid, text) VALUES (NEW.seq, NEW.text);
END;

-- The text of a tool output is worked out by the view, so what leaves is taken out of the index before it changes.
CREATE TRIGGER tool_output_search_insert AFTER INSERT ON session_output_events WHEN NEW.event_type = 'tool_call'
BEGIN
    INSERT INTO tool_output_search (rowid, text) SELECT id, text FROM tool_outputs WHERE id = NEW.id;
END;
CREATE TRIGGER tool_output_search_delete BEFORE DELETE ON session_output_events WHEN OLD.event_type = 'tool_call'
BEGIN
    INSERT INTO tool_output_search (tool_output_search, rowid, text)
        SELECT 'delete', id, text FROM tool_outputs WHERE id = OLD.id;
END;
CREATE TRIGGER tool_output_search_leave BEFORE UPDATE OF event_type, payload ON session_output_events
WHEN OLD.event_type = 'tool_call'
BEGIN
    INSERT INTO tool_output_search (tool_output_search, rowid, text)
        SELECT 'delete', id, text FROM tool_outputs WHERE id = OLD.id;
END;
CREATE TRIGGER tool_output_search_enter AFTER UPDATE OF event_type, payload ON session_output_events
WHEN NEW.event_type = 'tool_call'
BEGIN
    INSERT INTO tool_output_search (rowid, text) SELECT id, text FROM tool_outputs WHERE id = NEW.id;
END;

-- Both are asked for all the time, of tables that only grow.
CREATE INDEX agent_sessions_leased ON agent_sessions (lease_until) WHERE lease_owner IS NOT NULL;
CREATE INDEX pending_actions_by_session ON pending_actions (session_id, seq);
