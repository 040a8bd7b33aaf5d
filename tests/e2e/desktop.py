"""A running desktop, as a test sees it: things to press, things to read, a process to kill."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.processes import Process, children, descendants
from tests.support.processes import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]


class Desktop:
    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        with (Path(environment["HOME"]) / "desktop.stderr.txt").open("ab") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.driver", *arguments],
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )
        self._answers: queue.Queue[str] = queue.Queue()
        self._collector = threading.Thread(target=self._collect, daemon=True)
        self._collector.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)

    def ask(self, op: str, **request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"op": op, **request}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._answers.get(timeout=PATIENCE_S))
        if not answer["ok"]:
            raise LookupError(answer["error"])
        return answer["value"]

    def click(self, name: str, **where: Any) -> None:
        self._retry(lambda: self.ask("click", name=name, **where))

    def type(self, name: str, text: str, *, replace: bool = False, **where: Any) -> None:
        self._retry(lambda: self.ask("type", name=name, text=text, replace=replace, **where))

    def key(self, key: str, **where: Any) -> None:
        self._retry(lambda: self.ask("key", key=key, **where))

    def read(self, name: str, **where: Any) -> str:
        return self.ask("read", name=name, **where)["text"]

    def rows(self, name: str) -> list[str]:
        """The rows of a list or tree that are on screen."""
        return self.ask("rows", name=name)

    def open_row(self, name: str, text: str) -> None:
        """Double-click a row."""
        self._retry(lambda: self.ask("open_row", name=name, text=text))

    def screen(self) -> str:
        return self.ask("screen_text")

    def sees(self, *texts: str) -> None:
        self._until(lambda: all(text in self.screen() for text in texts), f"on the screen: {texts}")

    def sees_no(self, text: str) -> None:
        self._until(lambda: text not in self.screen(), f"gone from the screen: {text!r}")

    def has(self, name: str) -> None:
        self._until(lambda: self.ask("exists", name=name), f"a widget called {name!r}")

    def grab(self, path: Path) -> Path:
        return Path(self.ask("grab", path=str(path)))

    def children(self) -> list[Process]:
        return descendants(self.pid)

    def runtime(self) -> Process:
        # Its own child: what that one starts has the same command for a moment.
        [server] = [p for p in children(self.pid) if "serve" in p.argv.split()]
        return server

    def quit(self) -> None:
        """Close the window once no answer is being written: until then it asks whether to stop it."""
        self._until(lambda: not self.ask("exists", name="stop"), "the answer to be finished")
        self.ask("close")
        try:
            self._process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still open; on the screen:\n{self.screen()}") from error

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(timeout=PATIENCE_S)

    def stop(self) -> None:
        """Whatever state it is in: gone afterwards."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=PATIENCE_S)
        self._collector.join(PATIENCE_S)  # it reads from what is closed now
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _retry(self, action: Callable[[], Any]) -> None:
        def attempt() -> bool:
            try:
                action()
            except LookupError as error:
                failures.append(str(error))
                return False
            return True

        failures: list[str] = []
        try:
            self._until(attempt, "an action")
        except AssertionError as error:
            raise AssertionError(f"{failures[-1]}; on the screen:\n{self.screen()}") from error

    def _until(self, condition: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {PATIENCE_S:g} s: {what}\non the screen:\n{self.screen()}")
            time.sleep(0.05)


def environment_for(home: Path, display: str, bus: str) -> dict[str, str]:
    """What a person's login would give the desktop, and nothing of the test's own environment."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "DISPLAY": display,
        "DBUS_SESSION_BUS_ADDRESS": bus,
        "XDG_RUNTIME_DIR": str(home / "run"),
        "PYTHONPATH": str(REPOSITORY),
        "HOLABOSS_LOCAL_SERVER_PORTS": "",  # the test beside this one may be one of them
    }
