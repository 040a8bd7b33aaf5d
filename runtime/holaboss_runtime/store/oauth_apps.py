"""Rows of `oauth_app_configs`: the OAuth clients a person registered. Of their secrets only the names are here."""

from __future__ import annotations

from dataclasses import dataclass

from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family

REDIRECT_PORT = 38765


@dataclass(frozen=True, slots=True)
class OAuthApp:
    """`client_secret_ref` names where the secret is kept (`keychain:…`), or is null for a public client."""

    provider_id: str
    client_id: str
    client_secret_ref: str | None
    authorize_url: str
    token_url: str
    scopes: list[str]
    redirect_port: int
    created_at: str
    updated_at: str


class OAuthApps:
    def __init__(self, database: Database) -> None:
        self._rows = Family(
            database, "oauth_app_configs", OAuthApp, key=("provider_id",), json_columns=("scopes",)
        )

    def put(
        self,
        provider_id: str,
        *,
        client_id: str,
        authorize_url: str,
        token_url: str,
        client_secret_ref: str | None = None,
        scopes: tuple[str, ...] = (),
        redirect_port: int = REDIRECT_PORT,
    ) -> OAuthApp:
        values = {
            "client_id": client_id,
            "client_secret_ref": client_secret_ref,
            "authorize_url": authorize_url,
            "token_url": token_url,
            "scopes": list(scopes),
            "redirect_port": redirect_port,
        }
        return self._rows.put({"provider_id": provider_id, **values}, replace=(*values, "updated_at"))

    def get(self, provider_id: str) -> OAuthApp | None:
        return self._rows.get(provider_id)

    def all(self) -> list[OAuthApp]:
        return self._rows.select({}, order="provider_id")

    def delete(self, provider_id: str) -> bool:
        return self._rows.delete(provider_id)
