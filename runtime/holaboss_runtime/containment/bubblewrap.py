"""Holding a command on Linux: it sees the workspace and the system, and nothing of the person's home.

bubblewrap builds the view from nothing; what is not named here is not there. Whether it works on this machine is for
the probe to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from holaboss_runtime.containment.entrance import Entrance
from holaboss_runtime.containment.holding import Containment, Held
from holaboss_runtime.containment.mounts import Mounts, Placeholders
from holaboss_runtime.containment.network import HostList
from holaboss_runtime.containment.trial import holds
from holaboss_runtime.containment.view import Network, NetworkMode, View
from holaboss_runtime.processes import OWNER_VARIABLE

SCRATCH_BYTES = 2 * 1024**3
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_READABLE = (
    "/opt",
    "/nix",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/tls",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--disable-userns",  # without it the inside can make a namespace where it has every capability again
    "--die-with-parent",
    "--new-session",
)


class Bubblewrap(Containment):
    """`program` is the path of `bwrap`; `modes` what the probe saw work of the network."""

    name = "bubblewrap"

    def __init__(self, program: str, modes: frozenset[NetworkMode] = frozenset({"on"})) -> None:
        self._program = program
        self._modes = set(modes)
        self._placeholders = Placeholders()
        self._trying = asyncio.Lock()
        self._listed: bool | None = None

    async def offers(self, mode: NetworkMode) -> bool:
        """A list of hosts is tried when it is first asked for: it takes longer than the rest."""
        if mode != "listed":
            return mode in self._modes
        async with self._trying:
            if self._listed is None:
                self._listed = "off" in self._modes and await holds(self, "listed")
            return self._listed

    @asynccontextmanager
    async def hold(
        self, view: View, arguments: Sequence[str], environment: Mapping[str, str], network: Network
    ) -> AsyncGenerator[Held]:
        variables = {
            name: value for name, value in environment.items() if name != "TMPDIR"
        }  # a folder outside
        # bubblewrap itself gets no environment worth reading: whoever is inside can read it.
        own = {name: value for name, value in environment.items() if name == OWNER_VARIABLE}
        mounts = Mounts(view, self._placeholders)
        try:
            await _in_thread(mounts.open)
            if network.mode != "listed":
                inner = self.wrap(arguments, variables, mounts.words, offline=network.mode == "off")
                yield Held(inner, own, Path("/"), tuple(mounts.descriptors), mounts.close)
                return
            async with Entrance(self._program, HostList(network.hosts)) as entrance:

                def started() -> None:
                    mounts.close()
                    entrance.started()

                inner = self.wrap(arguments, variables | entrance.variables, mounts.words, offline=False)
                inherited = (*mounts.descriptors, *entrance.inherited)
                yield Held(entrance.wrap(inner), own, Path("/"), inherited, started, entrance.refused)
        finally:
            mounts.tidy()  # a few removals, and nothing that could be cancelled half-way

    def wrap(
        self, arguments: Sequence[str], variables: Mapping[str, str], places: Sequence[str], *, offline: bool
    ) -> list[str]:
        """The command line that runs `arguments` inside."""
        network = ["--unshare-net"] if offline else []
        home = variables.get("HOME", "")
        words = [
            *_ISOLATION,
            *network,
            *_system(),
            *(_scratch(home) if home.startswith("/") and home != "/" else ()),
        ]
        chosen = [word for name, value in variables.items() for word in ("--setenv", name, value)]
        return [self._program, *words, *places, *chosen, "--", *arguments]


def _system() -> list[str]:
    # Files of the kernel in /proc belong to root and need no capability to be written by it, core_pattern among them.
    kernel = ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    words = ["--ro-bind", "/usr", "/usr", *kernel, *_scratch("/tmp")]
    for folder in map(Path, _SYSTEM_FOLDERS):
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    for path in _READABLE:
        words += ["--ro-bind-try", path, path]
    resolver = Path("/etc/resolv.conf")
    return [*words, "--ro-bind-try", str(resolver.resolve()), str(resolver)]


def _scratch(path: str) -> tuple[str, ...]:
    """An empty folder of its own that ends with the command, and cannot fill the memory."""
    return ("--size", str(SCRATCH_BYTES), "--tmpfs", path)


async def _in_thread(work: Callable[[], None]) -> None:
    """Wait for it in any case: what it opens and puts down has to be known before it can be taken away again."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # a cancellation may come again and again
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # is not news to whoever was cancelled
        raise
