"""A host that is lost while it may be making an approved call: nothing tells whether it did."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from holaboss_runtime.harness.contract import ActionDecision
from tests.runtime.harness.conftest import BuildPackage, Listener, host_pid, open_harness
from tests.support.scripted_provider import ScriptedProvider, pause_after, say

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("outcome", "retryable"), [("approved", False), ("denied", True)])
async def test_a_lost_run_with_an_approval_is_not_repeated(
    provider: ScriptedProvider, package: BuildPackage, outcome: str, retryable: bool
) -> None:
    async with open_harness() as harness:
        quiet = pause_after(0, say("never"))
        provider.enqueue(quiet)
        decision = ActionDecision(
            call_id="c",
            kind="tool_confirmation",
            tool_name="bash",
            outcome=outcome,  # type: ignore[arg-type]
        )
        running = asyncio.create_task(Listener(harness).run(package(decisions=[decision])))
        await quiet.gate.wait_async()  # type: ignore[union-attr]
        os.kill(host_pid(harness), signal.SIGKILL)
        (failed,) = await running
        assert (failed.payload["type"], failed.payload["retryable"]) == ("host_lost", retryable)
