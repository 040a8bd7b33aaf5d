-- Which commands a person allowed to be started as MCP servers, workspace by workspace.

-- `fingerprint` is of what was allowed, `command_text` what the person was shown.
CREATE TABLE mcp_consents (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    server TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    command_text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (workspace_id, server)
);
