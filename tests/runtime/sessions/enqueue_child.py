"""A process that asks for the same things as others do at the same moment: started by the tests of deduplication."""

from __future__ import annotations

import sys
from pathlib import Path

from holaboss_client.agents import AppendEvent, ScheduleWake
from tests.runtime.sessions.core import Core


def main(root: Path, session: str, times: int) -> None:
    core = Core(root, owner_kind="cli")
    wish = ScheduleWake(reason="look again", delay_seconds=600, dedupe_key="same")
    message = AppendEvent(type="user.message", payload={"text": "tick"}, idempotency_key="same")
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(times):
        wake = core.sessions.delayed.schedule(core.sessions.directory.get(session), wish)
        appended = core.sessions.control.append(session, message)
        print(wake.id, appended.input_id, flush=True)
    core.database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
