"""Telling an authorization server that tokens are not wanted any more (RFC 7009), as far as it can be told."""

from __future__ import annotations

import logging

import httpx2

from holaboss_runtime.harness.host.mcp.oauth_credentials import Provider, Record
from holaboss_runtime.harness.host.mcp.oauth_http import open_client

logger = logging.getLogger(__name__)


async def revoke(record: Record) -> None:
    """Never raises for what the server says or does not say: the tokens are forgotten here anyway."""
    endpoint = record.metadata.revocation_endpoint if record.metadata else None
    if endpoint is None or record.tokens is None or record.client is None:
        return
    token = record.tokens.refresh_token or record.tokens.access_token
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    data, headers = Provider(record).context.prepare_token_auth(
        {"token": token, "client_id": record.client.client_id}, headers
    )
    try:
        async with open_client(record.server_url) as client:
            await client.send(httpx2.Request("POST", str(endpoint), data=data, headers=headers))
    except httpx2.RequestError as error:
        logger.info("tokens could not be revoked: %s", type(error).__name__)
