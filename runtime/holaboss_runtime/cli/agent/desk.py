"""Where a command works: the services over the database of a place, opened and ended in order.

Beside a server it changes nothing but the database and tells the server; without one it may run sessions itself, with
a harness that is started at the first run and is gone before the command returns.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from holaboss_runtime import processes
from holaboss_runtime.cli.place import Place
from holaboss_runtime.cli.remote import Remote
from holaboss_runtime.config.builtin import BUILTIN, DEMO_ID
from holaboss_runtime.config.document import ConfigFile
from holaboss_runtime.config.environment import Environment, take_environment
from holaboss_runtime.config.settings import Settings, read_settings
from holaboss_runtime.errors import DomainError
from holaboss_runtime.services import Plan, Services, compose
from holaboss_runtime.sessions.owners import CLI
from holaboss_runtime.sessions.service import Sessions
from holaboss_runtime.store.database import Database, DatabaseError

log = logging.getLogger(__name__)

ORDERS_S = 0.25
"""How often a run of a command looks whether another program ordered it to stop: nobody can signal a command."""


class Desk:
    """Lives on one event loop. `beside_server`: whether a server works here, as of when the desk was opened."""

    def __init__(self, place: Place, services: Services, remote: Remote, *, beside_server: bool) -> None:
        self.place = place
        self.services = services
        self.remote = remote
        self.beside_server = beside_server
        self._harness_started = False

    @property
    def sessions(self) -> Sessions:
        return self.services.sessions

    async def start_harness(self) -> None:
        """Harmless when it runs already."""
        if not self._harness_started:
            self._harness_started = True
            await self.services.harness.start()
            if (protocol := self.services.config.default_protocol()) is not None:
                self.services.harness.warm(protocol)

    async def changed(self) -> None:
        """Something was committed: the files shall show it, and a running server shall see it at once."""
        await self.sessions.files.flush()
        if self.beside_server:
            await self.remote.tell()

    async def begin(self, *, imports: bool) -> None:
        """What a server does at its start: end what dead processes left, take in what is only there as files."""
        self.sessions.recover()
        if not imports:
            return
        await self.sessions.files.take_in()

    def alone(self) -> None:
        """The server is gone. What it left is recovered at once, because its leases are dead with it."""
        self.beside_server = False
        self.sessions.recover()

    async def close(self) -> None:
        try:
            await self.sessions.close()
            await self.services.harness.close()
            await self.services.config.close()
        finally:
            self.services.database.close()
            if self._harness_started:
                processes.sweep()


@asynccontextmanager
async def open_desk(place: Place, *, imports: bool = True) -> AsyncGenerator[Desk]:
    """`imports`: take in sessions that only exist as files, unless a server does.

    Raises `DomainError` for a place or a database that cannot be used.
    """
    place.prepare()
    remote = Remote(place)
    beside_server = remote.find() is not None
    database = _open(place, beside_server=beside_server)
    try:
        services = compose(
            Plan(
                root=place.root,
                agent_root=place.agent_root,
                config_path=place.config_path,
                environment=_environment(place),
                owner=CLI,
                orders_s=ORDERS_S,
            ),
            database,
        )
    except BaseException:
        database.close()
        raise
    desk = Desk(place, services, remote, beside_server=beside_server)
    try:
        if not beside_server:
            await desk.begin(imports=imports)
        yield desk
    finally:
        await desk.close()


def _environment(place: Place) -> Environment:
    """What the environment says, and the labelled demo model where nobody said anything about a model."""
    given = take_environment(os.environ, embedded=False)
    settings = read_settings(ConfigFile(place.config_path).read(), given)
    if settings.providers:
        return _kept(place, given, settings) if place.is_project else given
    demo = {"default_model": f"{DEMO_ID}/{BUILTIN[DEMO_ID].models[0]}"}
    return Environment({**given.overrides, **demo}, given.keys, {DEMO_ID: ""})


def _kept(place: Place, given: Environment, settings: Settings) -> Environment:
    """Without the keys that the file of a project would have sent to an address of its own."""
    keys, overrides = dict(given.keys), dict(given.overrides)
    for provider_id in given.keys:
        builtin, address = BUILTIN[provider_id], settings.providers[provider_id].base_url
        if address not in (builtin.base_url, given.base_urls[provider_id]):
            del keys[provider_id]
            log.warning(
                "%s sends %s to %s. The key in %s_API_KEY is not given to it; if it should be, put that address into"
                " %s_BASE_URL.",
                place.config_path,
                builtin.name,
                address,
                builtin.variable,
                builtin.variable,
            )
    if "auth_token" in overrides and "model_proxy_base_url" not in overrides:
        del overrides["auth_token"]
    return Environment(overrides, keys, given.base_urls)


def _open(place: Place, *, beside_server: bool) -> Database:
    try:
        return Database.open(place.database_path, beside_others=beside_server)
    except DatabaseError as error:
        raise DomainError("unavailable", error.code, str(error)) from error
    except OSError as error:
        sentence = f"{place.database_path} cannot be opened ({error.strerror})."
        raise DomainError("unavailable", "root_not_writable", sentence) from error
