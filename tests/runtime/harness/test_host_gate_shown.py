"""What a person is asked about is what they are shown: no number JSON does not have, no call under another's id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ApprovalRequired

from holaboss_runtime.harness.contract import ActionDecision
from holaboss_runtime.harness.host.gate import ToolGate
from holaboss_runtime.permissions.profiles import policy_of
from tests.runtime.harness.conftest import local_sandbox

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
async def test_a_number_nobody_can_be_shown_is_refused(workspace: Path, number: float) -> None:
    gate = ToolGate(local_sandbox(workspace), policy_of("ask"))
    arguments: dict[str, Any] = {"command": "touch made", "timeout": number}
    outcome = await gate.execute("call", "bash", arguments)
    assert outcome.error
    assert "NaN or Infinity" in outcome.text
    assert gate.asked == {}


async def test_a_second_call_with_the_id_of_an_approved_one_is_asked_again(workspace: Path) -> None:
    approved = ActionDecision(
        call_id="same",
        kind="tool_confirmation",
        tool_name="bash",
        outcome="approved",
        tool_args={"command": "touch approved"},
    )
    gate = ToolGate(local_sandbox(workspace), policy_of("ask"), [approved])
    first = await gate.execute("same", "bash", {"command": "touch other"})
    assert not first.error
    assert ((workspace / "approved").exists(), (workspace / "other").exists()) == (True, False)
    with pytest.raises(ApprovalRequired):
        await gate.execute("same", "bash", {"command": "touch other"})
    with pytest.raises(ApprovalRequired):
        await gate.execute("same", "bash", {"command": "touch approved"})
