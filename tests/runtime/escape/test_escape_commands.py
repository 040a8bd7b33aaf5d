"""Commands that try to get out, each held for real; and that those which should get out when nothing holds them do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from tests.runtime.escape.cases import COMMANDS, Case
from tests.runtime.escape.conftest import ESCAPED, Attempt, Canary
from tests.runtime.harness.conftest import local_sandbox
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


def _name(case: Case) -> str:
    return f"{case.group}: {case.command[:60]}"


@pytest.mark.parametrize("case", COMMANDS, ids=_name)
async def test_a_command_does_not_get_out(canary: Canary, hand: Callable[..., Attempt], case: Case) -> None:
    attempt = hand(network="on" if case.online else "off")
    outcome = await attempt("bash", command=case.command % canary.places, timeout=20)
    assert outcome.containment == "bubblewrap"
    canary.check(outcome.text, str(outcome.details))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the commands are those of Linux")
@pytest.mark.parametrize("case", [case for case in COMMANDS if case.bites], ids=_name)
async def test_without_containment_it_would(canary: Canary, workspace: Path, case: Case) -> None:
    sandbox = local_sandbox(workspace, containment=Containment())
    outcome = await sandbox.execute("bash", {"command": case.command % canary.places, "timeout": 20})
    with pytest.raises(AssertionError):
        await _check_for_a_while(canary, outcome.text)


async def _check_for_a_while(canary: Canary, said: str) -> None:
    """What was killed takes a moment to die."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            canary.check(said)
            await anyio.sleep(0.01)


async def test_a_held_command_works(canary: Canary, hand: Callable[..., Attempt], workspace: Path) -> None:
    """All this would mean nothing if no command ran at all."""
    outcome = await hand(network="off")("bash", command="cat a.txt; echo two > b.txt; python3 -c 'print(3)'")
    assert outcome.text == "one\n3"
    assert (workspace / "b.txt").read_text() == "two\n"
    canary.check(outcome.text)
    assert ESCAPED not in outcome.text


@pytest.mark.skipif("CI" not in os.environ, reason="a person's machine may lack bubblewrap; CI must not")
async def test_ci_holds_commands() -> None:
    assert (await probe()).name == ("bubblewrap" if sys.platform.startswith("linux") else "seatbelt")


def test_setup_installs_what_holds_commands() -> None:
    root = Path(__file__).parents[3]
    assert '"bwrap": "bubblewrap"' in (root / "scripts/support/system.py").read_text()
    assert " bwrap" in (root / "scripts/test").read_text()
