-- What a person allows in a workspace, and what an approval is asked with, edited to, and until when.

-- Without a row a workspace has the profiles that are the default.
CREATE TABLE workspace_permissions (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id),
    profile TEXT NOT NULL,
    unattended_profile TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- Rules a person keeps, in the order they were made. `action_id` is the approval a rule was kept with.
CREATE TABLE permission_rules (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    effect TEXT NOT NULL,
    tool TEXT NOT NULL,
    command TEXT,
    path TEXT,
    host TEXT,
    server TEXT,
    action_id TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX permission_rules_by_workspace ON permission_rules (workspace_id, seq);

-- `status` may also be expired. `input` is what was asked, `edited_input` what was approved where that differs.
ALTER TABLE pending_actions ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE pending_actions ADD COLUMN suggestions TEXT NOT NULL DEFAULT '[]';
ALTER TABLE pending_actions ADD COLUMN edited_input TEXT;
ALTER TABLE pending_actions ADD COLUMN expires_at TEXT;
CREATE INDEX pending_actions_expiring ON pending_actions (expires_at) WHERE status = 'open' AND expires_at IS NOT NULL;

-- What held the commands of the run, by name.
ALTER TABLE turn_results ADD COLUMN containment TEXT;
