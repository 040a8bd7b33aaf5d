"""The composition root of a server: everything is constructed here, once, and ended here, in order.

`serve` is the whole life of the process: read the launch, take the root and the database, listen, say so, load the
services, and come down within two seconds of being told to, whoever tells it. Whatever can refuse to start does so
before it listens. What is only heavy comes after: `/healthz` answers at once, other requests wait until it is there.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holaboss_client import PRODUCT_VERSION, PROTOCOL_VERSION
from holaboss_client.base import new_id
from holaboss_client.handshake import Ready
from holaboss_runtime import processes
from holaboss_runtime.launch import (
    Launch,
    StartError,
    local_url,
    prepare_root,
    read_hello,
    read_launch,
    say,
    standalone_token,
)
from holaboss_runtime.logs import JsonLines, start_logging
from holaboss_runtime.root_lock import RootLock
from holaboss_runtime.store.database import Database, DatabaseError

if TYPE_CHECKING:
    from fastapi import APIRouter
    from uvicorn.server import Server as HttpServer

    from holaboss_runtime.api.app import Application
    from holaboss_runtime.api.state import RuntimeState

log = logging.getLogger(__name__)

STOP_S = 2.0  # for each of the two steps of coming down, which normally take a few hundredths
BACKSTOP_S = 5.0
KEEP_ALIVE_S = (
    60  # longer than a client keeps an idle connection, so that it is never the one to be surprised
)
BACKLOG = 128  # also how many are accepted at once, before the protocol can count them
LOOK_S = 30.0
WEBSOCKET_BYTES = 64 * 1024  # of what a client says; nothing that is said there is of use


def serve() -> int:
    """Run a server until it is told to stop; the exit status. 2 when it could not start."""
    formatter = start_logging()
    try:
        launch = read_launch(os.environ)
        if launch.embedded:
            processes.die_with_parent()
        prepare_root(launch)
        prepared = _prepare(launch)
        formatter.secrets = lambda: prepared.hidden | frozenset(prepared.keys.values())
        return asyncio.run(_run(launch, prepared, formatter))
    except StartError as error:
        return _fail(error)
    except Exception:  # the boundary of the process: a parent must hear why, in one line
        log.exception("the server failed")
        return _fail(StartError("internal", "The runtime met an unexpected error. Its log says more."))
    finally:
        processes.sweep()


def _fail(error: StartError) -> int:
    log.error("%s", error)
    with suppress(OSError):
        say(error.as_failure().model_dump_json())
    return 2


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is taken before anything is built: the right to the root, the database, a port, and the secrets."""

    token: str = field(repr=False)
    poke_token: str = field(repr=False)
    keys: dict[str, str] = field(repr=False)
    lock: RootLock
    database: Database
    listener: socket.socket

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def hidden(self) -> frozenset[str]:
        """Secrets of this process that are nobody's provider key."""
        return frozenset({self.token, self.poke_token})


def _prepare(launch: Launch) -> _Prepared:
    """Raises `StartError`; nothing has been changed on the disk then but empty folders."""
    if launch.embedded:
        hello = read_hello()
        token, keys = hello.token, dict(hello.secrets)
    else:
        token, source = standalone_token(launch)
        keys = dict[str, str]()
        log.info("clients need the token of %s", source)
    lock = RootLock(launch.state_folder, launch.database_path)
    lock.acquire()
    database, listener = _open_database(launch.database_path), _listen(launch.host, launch.port)
    return _Prepared(token, secrets.token_urlsafe(32), keys, lock, database, listener)


async def _run(launch: Launch, prepared: _Prepared, formatter: JsonLines) -> int:
    return await _Server(launch, prepared, formatter).run()


def _open_database(path: Path) -> Database:
    try:
        return Database.open(path)
    except DatabaseError as error:
        raise StartError(error.code, str(error)) from error
    except OSError as error:
        raise StartError("root_not_writable", f"{path} cannot be opened ({error.strerror}).") from error


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that a client told of it can connect at once. Raises `StartError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's delay off only for sockets that say they are TCP: without
    # it every event of a stream reached its client 40 ms late.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = (
                f"Port {port} on {host} is in use by another program. Choose another SANDBOX_AGENT_BIND_PORT."
            )
            raise StartError("port_in_use", message) from error
        raise StartError(
            "settings_invalid", f"This machine cannot listen on {host} port {port} ({error.strerror})."
        ) from error
    listener.setblocking(False)
    return listener


def _load() -> Sequence[APIRouter]:
    """Import what a server does not need to listen: the routes, and with them all that they serve."""
    from holaboss_runtime.api.families import ROUTERS

    return ROUTERS


def _compose(launch: Launch, prepared: _Prepared, instance_id: str, stop: Callable[[], None]) -> RuntimeState:
    from holaboss_runtime.api.state import RuntimeState
    from holaboss_runtime.services import Plan, compose
    from holaboss_runtime.sessions.owners import SERVER

    plan = Plan(
        root=launch.root,
        agent_root=launch.root,
        config_path=launch.config_path,
        environment=launch.environment,
        owner=SERVER,
        embedded=launch.embedded,
        harness=launch.harness,
        hosts=launch.hosts,
        concurrency=launch.concurrency,
        approval_s=launch.approval_s,
        look_s=None if launch.embedded else LOOK_S,  # a desktop that rests has no timers
        secrets=prepared.keys,
        hidden=prepared.hidden,
    )
    services = compose(plan, prepared.database)

    def configured() -> None:
        services.sessions.poke()
        if (protocol := services.config.default_protocol()) is not None:
            services.harness.warm(protocol)  # its first run must not pay for the import of an SDK

    services.config.on_change = configured
    configured()
    return RuntimeState.of(services, lifetime=asyncio.Event(), instance_id=instance_id, stop=stop)


def _http_server(launch: Launch, prepared: _Prepared, application: Application) -> HttpServer:
    from uvicorn.config import Config
    from uvicorn.server import Server as HttpServer

    from holaboss_runtime.api.http_protocol import HttpProtocol
    from holaboss_runtime.api.middleware import Access, Gate, allowed_hosts

    hosts = allowed_hosts(launch.host, prepared.port, launch.allowed_hosts)
    config = Config(
        Gate(application, Access(prepared.token, prepared.poke_token, hosts)),
        loop="asyncio",
        http=HttpProtocol,
        ws=_websocket,  # pyright: ignore[reportArgumentType] — it makes a protocol, as a class would
        ws_max_size=WEBSOCKET_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
    )
    config.load()
    server = HttpServer(config)
    server.lifespan = config.lifespan_class(config)
    return server


def _websocket(**options: Any) -> asyncio.Protocol:  # noqa: ANN401
    """The protocol of one WebSocket. What it needs is imported with the first of them, not at the start."""
    from holaboss_runtime.api.websocket import WebSocketProtocol

    return WebSocketProtocol(**options)


class _Server:
    """Made and run on the event loop."""

    def __init__(self, launch: Launch, prepared: _Prepared, formatter: JsonLines) -> None:
        from holaboss_runtime.api.app import Application

        self._launch = launch
        self._prepared = prepared
        self._formatter = formatter
        self._instance_id = new_id()
        self._stopping = asyncio.Event()
        self._state: RuntimeState | None = None
        self._application = Application()
        self._http = _http_server(launch, prepared, self._application)

    async def run(self) -> int:
        self._watch_for_orders()
        # Only the two halves of the HTTP server are used: its own loop would wake ten times a second for nothing.
        await self._http.startup(sockets=[self._prepared.listener])
        try:
            self._announce()
            await self._open()
            await self._stopping.wait()
        finally:
            await self._come_down()
        return 0

    async def _open(self) -> None:
        """Load and construct the services, recover what a dead server left behind, and let the requests in."""
        routers = await asyncio.to_thread(_load)  # it answers meanwhile
        if self._stopping.is_set():
            return
        state = self._state = _compose(self._launch, self._prepared, self._instance_id, self._stop)
        self._formatter.secrets = state.config.live_secrets
        state.terminals.recover()
        await state.sessions.start()
        self._application.open(state, routers)
        gc.freeze()
        gc.enable()
        await state.harness.start()

    def _announce(self) -> None:
        launch = self._launch
        address, port = self._prepared.listener.getsockname()[:2]
        is_everywhere = address in ("0.0.0.0", "::")
        url = local_url(address if is_everywhere else launch.host, port)
        self._prepared.lock.announce(url, self._prepared.poke_token)
        if launch.bridge_requested:
            log.info("the remote bridge is not part of this version; PROACTIVE_* variables have no effect")
        if is_everywhere and not any(launch.allowed_hosts):
            log.warning(
                "other machines are refused until HOLABOSS_ALLOWED_HOSTS says by which name they call this one"
            )
        log.info("listening on %s%s, root %s", url, " and all other addresses" * is_everywhere, launch.root)
        ready = Ready(
            url=url,
            pid=os.getpid(),
            instance_id=self._instance_id,
            protocol=PROTOCOL_VERSION,
            version=PRODUCT_VERSION,
        )
        with suppress(OSError):  # nobody listens; stdin will say the rest
            say(ready.model_dump_json())

    def _stop(self) -> None:
        """Begin to come down. Safe to call again; after `BACKSTOP_S` the process ends, whatever still hangs."""
        if not self._stopping.is_set():
            self._stopping.set()
            backstop = threading.Timer(BACKSTOP_S, os._exit, args=(1,))
            backstop.daemon = True
            backstop.start()

    async def _come_down(self) -> None:
        """Streams, requests and runs first; then the children they may still need; the database last."""
        self._application.close()
        http = self._http.shutdown(sockets=[self._prepared.listener])
        if (state := self._state) is None:  # its services could not be loaded
            await _end(http)
        else:
            state.lifetime.set()
            await _end(http, state.sessions.close(), state.terminals.close())
            await _end(state.harness.close(), state.config.close(), state.mcp.close())
        self._prepared.database.close()
        self._prepared.lock.release()

    def _watch_for_orders(self) -> None:
        loop = asyncio.get_running_loop()

        def interrupted(_number: int, _frame: object) -> None:
            loop.call_soon_threadsafe(self._stop)

        for number in (signal.SIGTERM, signal.SIGINT):
            if sys.platform == "win32":
                signal.signal(number, interrupted)
            else:
                loop.add_signal_handler(number, self._stop)
        if self._launch.embedded:
            # A thread and a plain read: the one way that works for pipes on every platform.
            watcher = threading.Thread(target=_wait_for_end_of_input, args=(loop, self._stop), daemon=True)
            watcher.start()


async def _end(*steps: Coroutine[Any, Any, None]) -> None:
    """Run the steps of coming down together; neither an error nor a delay of one may keep the next from its turn."""
    try:
        async with asyncio.timeout(STOP_S):
            results = await asyncio.gather(*steps, return_exceptions=True)
    except TimeoutError:
        log.warning("not everything stopped within %.0f s", STOP_S)
        return
    for result in results:
        if isinstance(result, Exception):
            log.error("something did not stop in order", exc_info=result)


def _wait_for_end_of_input(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    with suppress(OSError):
        while os.read(0, 65536):
            pass
    with suppress(RuntimeError):  # the loop is closed already
        loop.call_soon_threadsafe(stop)
