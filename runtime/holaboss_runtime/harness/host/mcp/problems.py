"""What goes wrong between this host and a server, as sentences for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import httpx2

LONGEST = 500


class ServerProblemError(Exception):
    """A server cannot be used as it is. The message is a sentence."""


class AuthorizationNeededError(Exception):
    """A server wants to know who asks, and what we have does not satisfy it."""


class McpToolMissingError(Exception):
    """A run names a tool it may see, and no server offers it. The message is a sentence."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(inner)
    else:
        yield error


def needs_authorization(error: BaseException) -> bool:
    return any(isinstance(leaf, AuthorizationNeededError) for leaf in leaves(error))


def sentence(error: BaseException) -> str:
    """One bounded sentence. It may quote the server: whoever shows it takes out the secrets first."""
    found = list(leaves(error))
    for leaf in found:
        if isinstance(leaf, ServerProblemError):
            return _bounded(str(leaf))
    for leaf in found:
        if isinstance(leaf, httpx2.ConnectError | httpx2.ConnectTimeout):
            return "Nobody answers at its address."
        if isinstance(leaf, httpx2.TimeoutException):
            return "It stopped answering."
        if isinstance(leaf, httpx2.HTTPStatusError):
            return f"It answers with status {leaf.response.status_code}."
        if isinstance(leaf, httpx2.HTTPError):
            return _bounded(f"The connection failed: {leaf}")
    told = next((leaf for leaf in found if type(leaf).__name__ == "MCPError"), None)
    if told is not None:
        return _bounded(f"It said: {told}")
    if any(isinstance(leaf, ValueError) for leaf in found):
        return "It sent something that is not valid in the protocol."
    return _bounded(f"The connection failed ({type(found[0]).__name__}: {found[0]}).")


def _bounded(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
