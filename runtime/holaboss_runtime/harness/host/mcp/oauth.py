"""Authorization of remote MCP servers in this host: tokens for connections, and the way of a person to one.

Nothing here opens a browser or starts an authorization by itself: a connection that is refused says so and waits. The
SDK is loaded for the first remote server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from holaboss_runtime.harness.contract import McpServer
from holaboss_runtime.harness.host.asks import AskError, Asks
from holaboss_runtime.harness.host.runtime_calls import RuntimeCalls, ServiceError

if TYPE_CHECKING:
    import httpx2

    from holaboss_runtime.harness.host.mcp.oauth_credentials import Credentials
    from holaboss_runtime.harness.host.mcp.oauth_flow import Authorization

logger = logging.getLogger(__name__)

START_S = 45.0
REVOKE_S = 5.0
OPEN_AT_ONCE = 8

_Key = tuple[str, str]


def secret_name(workspace_id: str, server: str) -> str:
    return f"mcp-oauth:{workspace_id}:{server}"


class Authorizations:
    """One per host. `changed` is called with workspace and server when a token came or went by a person's wish."""

    def __init__(self, calls: RuntimeCalls) -> None:
        self._calls = calls
        self._credentials: dict[_Key, Credentials] = {}
        self._open: dict[_Key, tuple[asyncio.Task[None], Authorization]] = {}
        self.changed: Callable[[str, str], None] = _nobody

    def register(self, asks: Asks) -> None:
        asks.register("mcp.authorize", self._authorize)
        asks.register("mcp.forget_authorization", self._forget)
        asks.register("mcp.credentials_changed", self._replaced)

    def auth(self, workspace_id: str, server: McpServer, needed: Callable[[], None]) -> httpx2.Auth | None:
        """What puts the token of a server on its requests; None where there can be none.

        `needed` is called when a request was refused and only a person can help.
        """
        if not authorizable(server):
            return None
        from holaboss_runtime.harness.host.mcp.oauth_credentials import CarryToken

        return CarryToken(self._of(workspace_id, server), needed)

    async def close(self) -> None:
        """Give up what is open, and let renewals end."""
        tasks = [task for task, _ in self._open.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self._credentials.values()))

    def _of(self, workspace_id: str, server: McpServer) -> Credentials:
        from holaboss_runtime.harness.host.mcp.oauth_credentials import Credentials, SecretPlace

        key, url = (workspace_id, server.name), str(server.config.url)
        known = self._credentials.get(key)
        if known is None or known.server_url != url:
            place = SecretPlace(
                partial(self._get, secret_name(*key)),
                partial(self._put, secret_name(*key)),
                partial(self._delete, secret_name(*key)),
            )
            self._credentials[key] = Credentials(url, place)
        return self._credentials[key]

    async def _authorize(self, arguments: dict[str, Any]) -> dict[str, str]:
        """The address for the browser. One that is open already is given again."""
        from holaboss_runtime.harness.host.mcp.oauth_flow import Authorization

        workspace_id, server = str(arguments["workspace_id"]), McpServer.model_validate(arguments["server"])
        if not authorizable(server):
            raise AskError(
                "authorization_not_possible",
                f"{server.name} cannot be authorized: it needs an https address and no Authorization header.",
            )
        key = (workspace_id, server.name)
        if key not in self._open:
            if len(self._open) >= OPEN_AT_ONCE:
                raise AskError("authorizations_open", "Finish the authorizations that are open first.")
            credentials = self._of(workspace_id, server)
            flow = Authorization(credentials, server.config.headers)
            task = asyncio.get_running_loop().create_task(self._carry(key, credentials, flow))
            task.add_done_callback(_heard)
            self._open[key] = (task, flow)
        return {"authorization_url": await self._address(*self._open[key])}

    async def _address(self, task: asyncio.Task[None], flow: Authorization) -> str:
        try:
            async with asyncio.timeout(START_S):
                await asyncio.wait({task, flow.url}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            task.cancel()
            raise AskError("authorization_unreachable", "The authorization server is too slow.") from error
        if flow.url.done() and not flow.url.cancelled():
            return flow.url.result()
        await task  # it ended before there was anything to open, and raises why
        raise AskError("authorization_not_needed", "The server does not ask for an authorization now.")

    async def _carry(self, key: _Key, credentials: Credentials, flow: Authorization) -> None:
        """From the start to the token; the outcome is told to the browser, and to whoever keeps the connection."""
        from holaboss_runtime.harness.host.mcp.oauth_flow import AuthorizationError

        done, sentence = False, "The authorization was not finished. Start it again in Holaboss."
        try:
            await credentials.save(await flow.run())
            self.changed(*key)
            done, sentence = True, "Holaboss has what it needs. You can close this page."
        except AuthorizationError as error:
            sentence = str(error)
            if not flow.url.done():  # whoever asked for the address still waits, and is told
                raise AskError(error.code, sentence) from error
            news = {"workspace_id": key[0], "server": key[1], "code": error.code, "message": sentence}
            self._calls.tell("mcp.authorization", news)
        finally:
            self._open.pop(key, None)
            await flow.finish(done, sentence)

    async def _replaced(self, arguments: dict[str, Any]) -> None:
        """The runtime has got what it keeps for a server from elsewhere: what is remembered here is old."""
        key = (str(arguments["workspace_id"]), str(arguments["server"]))
        if (known := self._credentials.get(key)) is not None:
            known.reread()
            self.changed(*key)

    async def _forget(self, arguments: dict[str, Any]) -> None:
        """Away with the tokens of a server; where it can be told, the authorization server is."""
        workspace_id, server = str(arguments["workspace_id"]), McpServer.model_validate(arguments["server"])
        if not authorizable(server):
            return
        key = (workspace_id, server.name)
        if (open_flow := self._open.get(key)) is not None:
            open_flow[0].cancel()
        credentials = self._of(workspace_id, server)
        record = await credentials.record()
        await credentials.forget()
        self.changed(*key)
        from holaboss_runtime.harness.host.mcp.oauth_revocation import revoke

        try:
            async with asyncio.timeout(REVOKE_S):
                await revoke(record)
        except TimeoutError:
            logger.info("an authorization server did not answer a revocation")

    async def _get(self, name: str) -> str | None:
        value = await self._calls.serve("secret.get", {"name": name})
        return value if isinstance(value, str) else None

    async def _put(self, name: str, value: str) -> None:
        try:
            await self._calls.serve("secret.put", {"name": name, "value": value})
        except ServiceError as error:  # it is used all the same, for as long as this host lives
            logger.error("credentials of a server could not be kept: %s", error)

    async def _delete(self, name: str) -> None:
        await self._calls.serve("secret.delete", {"name": name})


def authorizable(server: McpServer) -> bool:
    """Whether tokens of ours may go there at all: a header of the person's own says who they are already."""
    config = server.config
    if config.type != "remote" or config.url is None:
        return False
    if any(name.lower() == "authorization" for name in config.headers):
        return False
    from holaboss_runtime.harness.host.mcp.oauth_http import may_carry_tokens

    return may_carry_tokens(config.url)


def _heard(task: asyncio.Task[None]) -> None:
    """An error that nobody waits for any more is not unheard."""
    if not task.cancelled():
        task.exception()


def _nobody(workspace_id: str, server: str) -> None:
    """Until somebody keeps connections."""
