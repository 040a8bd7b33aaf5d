"""Starting, ending and cleaning up after child processes; nothing here knows what the children do.

Three promises: a child is a sub-command of this very program, it gets an environment that is built instead
of inherited, and it leaves no descendant behind. The last one needs Linux for processes that fled their
group: there `OWNER_VARIABLE` in the environment marks them, and a subreaper finds, kills and reaps what it
adopted. Elsewhere only process groups are reached.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

OWNER_VARIABLE = "HOLABOSS_PROCESS_OWNER"
SWEEP_ROUNDS = 50  # a process may fork while it is being looked for
UNCLAIMED_S = 10.0
"""A child that has been dead for this long, with nobody collecting it, was adopted."""

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
    "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
)  # fmt: skip
_PR_SET_PDEATHSIG = 1
_PF_EXITING = 0x4
_PF_KTHREAD = 0x200000
_STATE, _PARENT, _FLAGS, _START, _ENVIRONMENT = 0, 1, 6, 19, slice(47, 49)
"""Where these are in what `_stat` returns; the environment is where it begins and ends in memory."""
_UNKNOWN = "0"
_PENDING = ("SigPnd:", "ShdPnd:")
_KILLED = 1 << 8
"""SIGKILL among the signals that wait for a process."""

_BECOMING_S = 0.001
_DYING_S = 5.0
_PR_SET_CHILD_SUBREAPER = 36
_unclaimed: dict[tuple[int, str], float] = {}  # dead children by pid and start, and since when they were seen
_collecting = threading.Lock()


def self_command(sub: str, *args: str) -> list[str]:
    """The command line that runs a sub-command of this program, from source and frozen alike."""
    if getattr(sys, "frozen", False):
        return [sys.executable, sub, *args]
    return [sys.executable, "-m", "holaboss_runtime", sub, *args]


def child_environment(**extra: str) -> dict[str, str]:
    """A fresh environment for a child: what it needs to run, plus `extra`. Never a token, never a key.

    `LD_LIBRARY_PATH` is what it was before a frozen start changed it, so that foreign programs load their own
    libraries; the start-up variables of the frozen program itself are left out.
    """
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    passed |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
    frozen = getattr(sys, "frozen", False)
    library_path = os.environ.get("LD_LIBRARY_PATH_ORIG" if frozen else "LD_LIBRARY_PATH")
    if library_path:
        passed["LD_LIBRARY_PATH"] = library_path
    return passed | extra


async def terminate_group(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """End a child and its process group: ask, wait up to `grace_s` seconds, kill, reap.

    The child must lead its own group (`start_new_session=True`), otherwise the caller's group would be hit.
    """
    signal_group(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            await process.wait()
    kill_group(process.pid)  # also when the child obeyed: others of its group may have stayed
    with suppress(TimeoutError):  # asyncio also waits for pipes, which somebody who left the group may hold
        async with asyncio.timeout(grace_s):
            await process.wait()


def kill_group(pid: int) -> None:
    signal_group(pid, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the group `pid` leads (Windows: to that process). Nobody there is fine."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def become_subreaper() -> bool:
    """Adopt descendants whose parent dies, so that they can be found. Linux only; False elsewhere."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: signal.Signals = signal.SIGTERM) -> bool:
    """Get `number` when the thread that started this process ends. Linux only; False elsewhere.

    A second line of defence behind a pipe reaching its end. Call it early and from the child itself.
    """
    return _prctl(_PR_SET_PDEATHSIG, int(number))


def descendants(root: int | None = None) -> list[int]:
    """Every process below `root` (default: this one), parents first; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(os.getpid() if root is None else root, []))
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def owner_of(pid: int) -> str:
    """The start of the owner mark of everything the host with this process id runs."""
    return f"host-{pid}."


def keep_what_is_ignored() -> None:
    """Go on ignoring what whoever started this program had it ignore (`nohup`, `&` in a script), without handing that
    on: a handler is not inherited, and what runs in a terminal has to hear its interrupts. In the main thread."""
    for name in ("SIGHUP", "SIGINT", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _disregard)


def _disregard(_number: int, _frame: object) -> None:
    pass


def terminal_owner_of(pid: int) -> str:
    """The start of the owner mark of everything that runs in terminals of the runtime with this process id."""
    return f"terminal-{pid}."


def is_ending(pid: int) -> bool:
    """Whether this process has begun to exit, is dead, or is not there at all. Linux only; False elsewhere.

    The pipes of a process that is killed close before its children get another parent. In between only this tells.
    """
    if not sys.platform.startswith("linux"):
        return False
    fields = _stat(pid)
    return fields is None or bool(int(fields[_FLAGS]) & _PF_EXITING)


def end_marked(owner: str) -> None:
    """Kill every process whose owner mark starts like this, whose child it may be: for what a parent that was killed
    could not end itself. Linux only."""
    for _ in range(SWEEP_ROUNDS):
        targets = [pid for pid, _ in _processes() if pid != os.getpid() and _is_owned(pid, owner)]
        if not targets:
            return
        for pid in targets:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def sweep(owner: str | None = None, also: Collection[int] = ()) -> None:
    """Kill and reap every descendant of this process, or only those whose owner mark starts with `owner` and those
    in `also`. Those that were dying already are waited for, so that nothing of them is left when this returns.

    Without `owner` it also reaps children somebody else may be waiting for: only for a process about to exit.
    """
    found: list[int] = []
    for _ in range(SWEEP_ROUNDS):
        found = descendants()
        targets = [pid for pid in found if owner is None or pid in also or _is_owned(pid, owner)]
        if not targets:
            break
        for pid in targets:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in targets:
            _reap(pid)
    _wait_for_the_dying(found)
    collect_adopted()


def collect_adopted() -> None:
    """Reap what was adopted and died by itself: the dead bear no mark, and would stay for as long as this process.

    What died in a namespace of processes of its own was never started here. Of the others only those that were dead
    before are nobody's, because whoever starts a child collects it at once.
    """
    now, waiting = time.monotonic(), dict[tuple[int, str], float]()
    with _collecting:
        for pid, start, is_foreign in _dead_children():
            since = _unclaimed.get((pid, start), now)
            if is_foreign or now - since > UNCLAIMED_S:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            else:
                waiting[pid, start] = since
        _unclaimed.clear()
        _unclaimed.update(waiting)


def _dead_children() -> Iterator[tuple[int, str, bool]]:
    """Pid, time of start, and whether it lived in another namespace of processes; Linux only."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for pid in map(int, listed.read_text().split()):
                fields = _stat(pid)
                if fields is not None and fields[_STATE] == "Z":
                    yield pid, fields[_START], _is_foreign(pid)


def _is_foreign(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    numbers = status.partition("\nNSpid:")[2].partition("\n")[0].split()
    return len(numbers) > 1


def _reap(pid: int) -> None:
    """Collect a killed child; one that is not ours (yet) comes back in the next round."""
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _wait_for_the_dying(pids: list[int]) -> None:
    """Wait for those that are on their way out, and no longer than `_DYING_S`: they run nothing any more and bear no
    mark, but still hold files, and memory."""
    deadline = time.monotonic() + _DYING_S
    for pid in filter(_is_dying, pids):
        with suppress(OSError):  # it is gone
            handle = os.pidfd_open(pid)
            try:
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            finally:
                os.close(handle)


def _is_dying(pid: int) -> bool:
    """Also whether it was killed and has not come to hear of it: it runs nothing any more then, but begins to exit only
    when the machine gives it its next turn."""
    if is_ending(pid):
        return True
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return True
    pending = (line.partition(":")[2] for line in status.splitlines() if line.startswith(_PENDING))
    return any(int(signals, 16) & _KILLED for signals in pending)


def _is_owned(pid: int, owner: str) -> bool:
    environment = _environment(pid)
    return any(entry.startswith(f"{OWNER_VARIABLE}={owner}".encode()) for entry in environment.split(b"\0"))


def _environment(pid: int) -> bytes:
    """What a process was started with. One that is just becoming another program has none for a moment, in which it
    must not be overlooked; of one that is ending, or somebody else's, there is nothing to know."""
    place, deadline = ["", _UNKNOWN], time.monotonic() + _DYING_S
    while time.monotonic() < deadline:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            break
        fields = _stat(pid)
        if environment or fields is None or int(fields[_FLAGS]) & (_PF_EXITING | _PF_KTHREAD):
            return environment
        before, place = place, fields[_ENVIRONMENT]
        if place == before and place[1] != _UNKNOWN:
            break  # it settled, and really has none
        time.sleep(_BECOMING_S)
    return b""


def _processes() -> list[tuple[int, int]]:
    """`(pid, parent)` of every process that can be seen."""
    found: list[tuple[int, int]] = []
    if not sys.platform.startswith("linux"):
        return found
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        fields = _stat(int(entry.name))
        if fields is not None:
            found.append((int(entry.name), int(fields[_PARENT])))
    return found


def _stat(pid: int) -> list[str] | None:
    """The line `/proc` has on a process, from its state on; None when it is gone."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return line.rpartition(")")[2].split()  # the name before it may contain anything


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False
