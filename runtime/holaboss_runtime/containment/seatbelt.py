"""Holding a command on macOS: the profile that `sandbox-exec` applies to it and to everything it starts.

The profile begins with a refusal of everything. Rules name paths, not files, so what must not be made needs nothing
to stand there; the last rule that fits decides. Where the command would look for its home and its temporary files it
gets an empty folder that is removed afterwards.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from holaboss_runtime.containment.entrance import proxy_variables
from holaboss_runtime.containment.forwarder import Forwarder
from holaboss_runtime.containment.holding import Containment, Held
from holaboss_runtime.containment.network import HostList
from holaboss_runtime.containment.protected import protected_in
from holaboss_runtime.containment.view import PRIVATE_FOLDERS, Network, NetworkMode, View

_READABLE = (
    "/bin",
    "/sbin",
    "/usr",
    "/opt",
    "/nix",
    "/System",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Library/Preferences/Logging",
    "/Applications/Xcode.app/Contents/Developer",
    "/private/etc/hosts",
    "/private/etc/localtime",
    "/private/etc/passwd",
    "/private/etc/group",
    "/private/etc/protocols",
    "/private/etc/resolv.conf",
    "/private/etc/services",
    "/private/etc/shells",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/select",
)
_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/fd",
    "/dev/dtracehelper",
)
_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.notification_center",
    "com.apple.system.logger",
    "com.apple.logd",
)
_NETWORK_SERVICES = (
    "com.apple.SystemConfiguration.configd",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.dnssd.service",
    "com.apple.networkd",
    "com.apple.trustd",
    "com.apple.trustd.agent",
)


class Seatbelt(Containment):
    """`program` is the path of `sandbox-exec`."""

    name = "seatbelt"

    def __init__(self, program: str) -> None:
        self._program = program

    async def offers(self, mode: NetworkMode) -> bool:
        return True

    @asynccontextmanager
    async def hold(
        self, view: View, arguments: Sequence[str], environment: Mapping[str, str], network: Network
    ) -> AsyncGenerator[Held]:
        scratch = await asyncio.to_thread(_scratch)
        hosts = HostList(network.hosts)
        forwarder = Forwarder(hosts)
        variables = {**environment, "HOME": str(scratch), "TMPDIR": str(scratch)}
        port: int | None = None
        try:
            if network.mode == "listed":
                listener = socket.create_server(("127.0.0.1", 0))
                port = int(listener.getsockname()[1])
                await forwarder.serve(listener)
                variables |= proxy_variables(hosts, port)
            text = await asyncio.to_thread(profile, view, scratch, network.mode, port)
            wrapped = [self._program, "-p", text, *arguments]
            yield Held(wrapped, variables, view.folder, refused=forwarder.refused)
        finally:
            await forwarder.close()
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="holaboss-")).resolve()


def profile(view: View, scratch: Path, mode: NetworkMode, port: int | None = None) -> str:
    """The text of the profile. `scratch` is a real, empty folder; `port` is that of the forwarder."""
    lines = [
        "(version 1)",
        "(deny default)",
        '(import "system.sb")',  # what every program needs to be loaded at all
        "(allow process-exec process-fork)",
        "(allow signal process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow ipc-posix-sem)",
        _rule("allow", "mach-lookup", (f"(global-name {quoted(name)})" for name in _SERVICES)),
        "(allow file-read-metadata)",  # a path can only be walked when its folders can be asked about
        _rule("allow", "file-read*", ['(literal "/")', *_subpaths(_READABLE), *_literals(_DEVICES)]),
        _rule(
            "allow",
            "file-map-executable",
            [*_subpaths(_READABLE), *_subpaths((str(scratch), str(view.place)))],
        ),
        _rule("allow", "file-write-data", _literals(("/dev/null", "/dev/zero", "/dev/tty"))),
        _rule("allow", "file-ioctl", _literals(("/dev/tty",))),
        _rule("allow", "file-read* file-write*", _subpaths((str(scratch),))),
        *_network(mode, port),
        *_view(view),
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """As a string of the profile language. A NUL cannot be in a path; anything else can."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _view(view: View) -> list[str]:
    place = str(view.place)
    fits = _subpaths((place,)) if view.place.is_dir() else _literals((place,))
    lines = [_rule("allow", "file-read* file-write*" if view.writable else "file-read*", fits)]
    private = [str(view.place / name) for name in PRIVATE_FOLDERS]
    lines.append(_rule("deny", "file-read* file-write*", _subpaths(private)))
    if not view.writable:
        return lines
    found = protected_in(view.place)
    kept = [*found.folders, *found.files, *found.common, *(view.place / name for name in view.read_only)]
    above = {
        parent
        for path in (*kept, *found.pinned)
        for parent in path.parents
        if parent.is_relative_to(view.place)
    }
    # Whoever can rename a folder can put another in its place.
    pinned = sorted({str(path) for path in (*above, *found.pinned)})
    lines.append(_rule("deny", "file-write-unlink", _literals(pinned)))
    return [*lines, _rule("deny", "file-write*", _subpaths(map(str, kept)))] if kept else lines


def _network(mode: NetworkMode, port: int | None) -> list[str]:
    if mode == "on":
        services = (f"(global-name {quoted(name)})" for name in _NETWORK_SERVICES)
        return [
            "(allow system-socket)",
            "(allow network-inbound (local ip))",
            "(allow network-bind (local ip))",
            "(allow network-outbound (remote ip))",
            '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
            _rule("allow", "mach-lookup", services),
        ]
    if mode == "listed" and port is not None:
        return ["(allow system-socket)", f'(allow network-outbound (remote ip "localhost:{port}"))']
    return []


def _rule(effect: str, operations: str, filters: Iterable[str]) -> str:
    return f"({effect} {operations} {' '.join(filters)})"


def _subpaths(paths: Iterable[str]) -> list[str]:
    return [f"(subpath {quoted(path)})" for path in paths]


def _literals(paths: Iterable[str]) -> list[str]:
    return [f"(literal {quoted(path)})" for path in paths]
