"""A shell in a folder of its own: the commands as real processes, with an environment that holds nothing of ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import descendants, wait_until_gone

COMMAND = (sys.executable, "-m", "holaboss_runtime")
LIMIT_S = 90.0

_MANY = """\
import contextlib, io, json, sys
from holaboss_runtime.cli.main import run
done = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run("openboa", words)
    done.append([code, out.getvalue(), err.getvalue()])
json.dump(done, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    def field(self, name: str) -> str:
        """The value of the first `- name: value`."""
        (line, *_) = [line for line in self.out.splitlines() if line.startswith(f"- {name}: ")]
        return line.partition(": ")[2]


class Running:
    """A command that was started and is watched."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def send_signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def next_remark(self) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def wait(self) -> Done:
        """Fails when anything it started outlives it."""
        family = [child.pid for child in descendants(self.process.pid)]
        try:
            out, err = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still running after {LIMIT_S} s: {out}{err}") from None
        assert not wait_until_gone(family)
        return Done(self.process.returncode, out, err)

    def kill(self) -> None:
        """`kill -9`; what it started has to notice by itself."""
        family = [child.pid for child in descendants(self.process.pid)]
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)
        assert not wait_until_gone(family)


class Shell:
    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOLABOSS_DEMO_PACE_MS": "0",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith("runtime")),
        } | environment

    def start(self, *words: str, **environment: str) -> Running:
        process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self._environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Running(process)

    def run(self, *words: str, **environment: str) -> Done:
        return self.start(*words, **environment).wait()

    def agent(self, *words: str, **environment: str) -> Done:
        return self.run("agent", *words, **environment)

    def many(self, *commands: Sequence[str], **environment: str) -> list[Done]:
        """Several commands one after the other in one process, which saves its start."""
        done = subprocess.run(
            [sys.executable, "-c", _MANY],
            cwd=self.folder,
            env=self._environment | environment,
            input=json.dumps(commands),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [Done(*each) for each in json.loads(done.stdout)]

    def session(self, agent: str = "alpha", *messages: str) -> str:
        """A new session with these messages waiting in it."""
        (created,) = self.many(["agent", "session", "create", "--name", agent, "--json"])
        session_id = created.data["session_id"]
        sends = [["agent", "session", "send", session_id, f"--message={text}"] for text in messages]
        if sends:
            assert all(done.code == 0 for done in self.many(*sends))
        return session_id

    def events(self, session_id: str) -> list[dict[str, Any]]:
        (done,) = self.many(["agent", "session", "events", session_id, "--json"])
        return done.data["items"]

    def types(self, session_id: str) -> list[str]:
        return [event["type"] for event in self.events(session_id)]

    def answers(self, session_id: str) -> list[str]:
        return [
            event["payload"]["message"]
            for event in self.events(session_id)
            if event["type"] == "agent.message"
        ]


def use_provider(config: Path, url: str, *, api_key: str | None = None) -> None:
    """Make the provider at `url` the default one of the configuration file."""
    entry = {"kind": "openai_compatible", "base_url": f"{url}/v1"}
    document = {
        "runtime": {"default_provider": "stub", "default_model": "stub/m-1"},
        "providers": {"stub": entry if api_key is None else entry | {"api_key": api_key}},
        "models": {"stub/m-1": {"provider_id": "stub", "model_id": "m-1"}},
    }
    config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    config.write_text(json.dumps(document))
