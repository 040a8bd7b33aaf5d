"""`RuntimeProcess` against stand-ins that hold the handshake and then misbehave."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.processes import descendants, is_running
from tests.support.server import RuntimeProcess, RuntimeStartError

READY = """
import json, os, signal, subprocess, sys
hello = json.loads(sys.stdin.readline())
assert len(hello["token"]) == 64 and os.environ["HOLABOSS_EMBEDDED_RUNTIME"] == "1"
"""
SAY_READY = """
print(json.dumps({"event": "ready", "url": "http://127.0.0.1:1", "pid": os.getpid(), "instance_id": "i",
                  "protocol": "1.0", "version": hello["secrets"].get("p", "0")}), flush=True)
"""


def stand_in(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", READY + code)


def test_hands_over_its_keys_and_stops_with_stdin(tmp_path: Path) -> None:
    runtime = RuntimeProcess(
        tmp_path / "root", keys={"p": "k"}, command=stand_in(SAY_READY + "sys.stdin.read()\nsys.exit(7)")
    )
    assert runtime.start().version == "k"
    assert runtime.pid == runtime.ready.pid
    assert runtime.stop() == 7
    assert runtime.stop() == 7


def test_a_start_failure_is_raised_with_its_code(tmp_path: Path) -> None:
    code = 'print(json.dumps({"event": "failed", "code": "root_locked", "message": "Another one runs."}))'
    with pytest.raises(RuntimeStartError, match="Another one runs") as raised:
        RuntimeProcess(tmp_path / "root", command=stand_in(code)).start()
    assert raised.value.failure is not None
    assert raised.value.failure.code == "root_locked"


def test_a_silent_end_shows_the_log(tmp_path: Path) -> None:
    with pytest.raises(RuntimeStartError, match="out of luck"):
        RuntimeProcess(tmp_path / "root", command=stand_in('sys.exit("out of luck")')).start()


def test_a_server_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    runtime = RuntimeProcess(tmp_path / "root", command=stand_in("sys.stdin.read()"))
    with pytest.raises(RuntimeStartError, match=r"not ready after 0\.5 s"):
        runtime.start(timeout_s=0.5)
    assert not is_running(runtime.pid)


def test_a_grandchild_that_survives_is_found_and_ended(tmp_path: Path) -> None:
    grandchild = 'subprocess.Popen(["sleep", "60"], start_new_session=True, stdin=subprocess.DEVNULL)\n'
    runtime = RuntimeProcess(tmp_path / "root", command=stand_in(grandchild + SAY_READY + "sys.stdin.read()"))
    runtime.start()
    (left,) = descendants(runtime.pid)
    with pytest.raises(AssertionError, match=rf"still running .*{left.pid}"):
        runtime.stop(timeout_s=0.5)
    assert not is_running(left.pid)
