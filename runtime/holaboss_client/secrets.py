"""Stored secrets of the runtime, as they travel. Only `HandedOverStoredSecret` carries a value to a client: it exists
to move one into a keychain."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from holaboss_client.base import RequestModel, WireModel


class PendingSecret(WireModel):
    """A keychain is to `keep` it or to `forget` it; `version` tells this value from a later one."""

    name: str
    version: int
    action: Literal["keep", "forget"] = "keep"


class SecretStoreState(WireModel):
    """`GET /api/v1/runtime/stored-secrets`: names, never values.

    `missing` are those a keychain holds and this runtime does not know yet. With `trouble`, `detail` is something the
    person should read.
    """

    place: Literal["keychain", "encrypted_file", "memory"]
    detail: str
    trouble: bool = False
    names: list[str] = Field(default_factory=list[str])
    pending: list[PendingSecret] = Field(default_factory=list[PendingSecret])
    missing: list[str] = Field(default_factory=list[str])


class StoredSecretState(WireModel):
    """`kept` is false while it lives in memory only."""

    name: str
    kept: bool


class PutStoredSecret(RequestModel):
    """`PUT /api/v1/runtime/stored-secrets/{name}`: under a desktop, one its keychain holds already; never echoed."""

    value: SecretStr


class HandedOverStoredSecret(WireModel):
    """`POST /api/v1/runtime/stored-secrets/{name}/hand-over`; a null `value` means: forget what is kept."""

    name: str
    version: int
    value: str | None = Field(default=None, repr=False)


class ConfirmStoredSecret(RequestModel):
    """`POST /api/v1/runtime/stored-secrets/{name}/confirm-hand-over`."""

    version: int
