-- Most inputs are over, and nobody looks for those by their session: only what is queued is found that way, and what is
-- claimed has an index of its own. An event that comes in belongs to no wake until one takes it.

DROP INDEX inputs_by_session;
CREATE INDEX inputs_queued ON agent_session_inputs (session_id, priority DESC, seq) WHERE status = 'QUEUED';

DROP INDEX session_events_by_wake;
CREATE INDEX session_events_by_wake ON session_events (wake_id, seq) WHERE wake_id IS NOT NULL;
