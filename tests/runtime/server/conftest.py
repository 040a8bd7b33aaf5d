"""Standalone servers, started the way the deployment documents say."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.handshake import Ready, StartFailure
from tests.support.processes import PATIENCE_S, descendants, wait_until_gone

REPOSITORY = Path(__file__).parents[3]
LAUNCHER = REPOSITORY / "runtime" / "bin" / "sandbox-runtime"
SERVE = [sys.executable, "-m", "holaboss_runtime"]


class Standalone:
    """A server that nobody holds by its stdin."""

    def __init__(self, environment: dict[str, str], log: Path, command: list[str] | None = None) -> None:
        self._log = log
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                command or SERVE,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=os.environ | environment,
                start_new_session=True,
                text=True,
            )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()

    @property
    def ready(self) -> Ready:
        assert '"ready"' in self.first_line, self.first_line + self.log
        return Ready.model_validate_json(self.first_line)

    @property
    def failure(self) -> StartFailure:
        failure = StartFailure.model_validate_json(self.first_line)
        assert failure.event == "failed"
        assert self.process.wait(PATIENCE_S) == 2
        return failure

    @property
    def log(self) -> str:
        return self._log.read_text()

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
    ) -> tuple[int, Any]:
        port = int(self.ready.url.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        wanted = dict(headers or {})
        if body is not None:
            wanted["content-type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), wanted)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit status; fails when anything it started outlives it."""
        family = [child.pid for child in descendants(self.process.pid)]
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        assert not wait_until_gone(family)
        return status

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Standalones:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Standalone] = []
        self.root = folder / "root"

    def start(self, command: list[str] | None = None, **environment: str) -> Standalone:
        """On `root` and a free port, unless the environment says otherwise."""
        wanted = {"HB_SANDBOX_ROOT": str(self.root), "SANDBOX_AGENT_BIND_PORT": "0"} | environment
        server = Standalone(wanted, self._folder / f"{len(self._started)}.log", command)
        self._started.append(server)
        return server

    def close(self) -> None:
        for server in self._started:
            server.close()


@pytest.fixture
def standalones(tmp_path: Path) -> Iterator[Standalones]:
    started = Standalones(tmp_path)
    yield started
    started.close()
