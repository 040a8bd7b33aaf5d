"""A process that dies in the middle of runs: started by the recovery tests, killed by them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

from holaboss_runtime.sessions.subscription import OutputQuery
from tests.runtime.sessions.core import Core
from tests.support.fake_harness import Stage


async def script(stage: Stage) -> None:
    if stage.package.instruction == "talks":
        stage.think("Let me see.")
        stage.say("First half, ")
        stage.tool("bash")
        stage.say("second half")
    await asyncio.Event().wait()


async def main(root: Path) -> None:
    core = Core(root)
    core.harness.script = script
    await core.sessions.start()
    core.send("talks", session_id="talks")
    core.send("silent", session_id="silent")
    core.send("behind", session_id="silent")

    await core.until_event("run_started", "silent")
    async with aclosing(core.follow(OutputQuery("talks"))) as events:
        async for event in events:
            if event.payload.get("delta") == "second half":
                break
    print("halfway", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
