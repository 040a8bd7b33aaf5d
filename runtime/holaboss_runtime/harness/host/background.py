"""Commands that go on while the agent does something else: started, looked at, stopped, and ended with their run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from holaboss_runtime.containment.view import View
from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.command_result import CommandResult
from holaboss_runtime.harness.host.output import Unread
from holaboss_runtime.permissions.model import ContainmentDemand

MAX_OF_A_RUN = 8
_KEPT_ENDED = 16

Follow = Callable[[View, list[str], float | None, ContainmentDemand | None, Unread], Awaitable[CommandResult]]


def run_name(package: RunPackage) -> str:
    """What a run is called here."""
    return f"{package.session_id}/{package.wake_id}/{package.input_id}"


@dataclass(frozen=True)
class Report:
    """What a command said since the last report. `result` is there when it has ended by itself."""

    text: str
    running: bool
    result: CommandResult | None = None


class TooManyError(Exception):
    """A run has as many of them as it may."""


@dataclass
class _Job:
    output: Unread
    task: asyncio.Task[CommandResult]

    def ended(self, task: asyncio.Task[CommandResult]) -> None:
        self.output.news.set()
        if not task.cancelled():
            task.exception()  # is raised to whoever looks; nobody has to

    @property
    def running(self) -> bool:
        return not self.task.done()


@dataclass
class _Jobs:
    by_id: dict[str, _Job] = field(default_factory=dict[str, _Job])
    started: int = 0


class Background:
    """Those of every run of a host, by the name of the run."""

    def __init__(self, follow: Follow) -> None:
        self._follow = follow
        self._runs: dict[str, _Jobs] = {}

    def start(self, run: str, view: View, arguments: list[str], demand: ContainmentDemand | None) -> str:
        """Its id. Raises `TooManyError`."""
        jobs = self._runs.setdefault(run, _Jobs())
        if sum(job.running for job in jobs.by_id.values()) >= MAX_OF_A_RUN:
            raise TooManyError
        for name in [name for name, job in jobs.by_id.items() if not job.running][:-_KEPT_ENDED]:
            del jobs.by_id[name]
        jobs.started += 1
        name = f"bg{jobs.started}"
        output = Unread()
        task = asyncio.ensure_future(self._follow(view, arguments, None, demand, output))
        job = jobs.by_id[name] = _Job(output, task)
        task.add_done_callback(job.ended)
        return name

    def names(self, run: str) -> list[str]:
        return list(self._runs[run].by_id) if run in self._runs else []

    async def look(self, run: str, name: str, wait_s: float) -> Report | None:
        """What is new, after waiting up to `wait_s` for anything to be; None for an id that is not known."""
        job = self._job(run, name)
        if job is None:
            return None
        if job.running and not job.output.news.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await job.output.news.wait()
        return _report(job)

    async def stop(self, run: str, name: str) -> Report | None:
        """End it and say what it still had to say; None for an id that is not known."""
        job = self._job(run, name)
        if job is None:
            return None
        await _end([job])
        return _report(job)

    async def end(self, run: str) -> None:
        """End everything of a run that is over."""
        jobs = self._runs.pop(run, None)
        if jobs is not None:
            await _end(list(jobs.by_id.values()))

    def _job(self, run: str, name: str) -> _Job | None:
        return self._runs[run].by_id.get(name) if run in self._runs else None


async def _end(jobs: list[_Job]) -> None:
    running = [job.task for job in jobs if job.running]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


def _report(job: _Job) -> Report:
    """Raises what kept the command from running at all."""
    text = job.output.take()
    if job.running or job.task.cancelled():
        return Report(text, job.running)
    return Report(text, False, job.task.result())
