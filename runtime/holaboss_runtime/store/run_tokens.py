"""Rows of `sandbox_run_tokens`: what a sandbox may do on behalf of one run, for as long as the run lasts.

Only the SHA-256 of a token is kept: whoever reads the database can use none of them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from holaboss_client.base import utc_now
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.family import Family


@dataclass(frozen=True, slots=True)
class RunToken:
    token_hash: str
    run_id: str
    workspace_id: str
    session_id: str
    input_id: str
    scopes: list[str]
    expires_at: str
    revoked_at: str | None
    created_at: str
    updated_at: str


class RunTokens:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Family(
            database, "sandbox_run_tokens", RunToken, key=("token_hash",), json_columns=("scopes",)
        )

    def issue(
        self,
        run_id: str,
        *,
        workspace_id: str,
        session_id: str,
        input_id: str,
        scopes: Sequence[str],
        lifetime_s: float,
    ) -> str:
        """A new token for a run, shown this once; an earlier one of the same run ends."""
        token = secrets.token_urlsafe(32)
        with self._database.transaction():
            self._database.execute("DELETE FROM sandbox_run_tokens WHERE run_id = ?", (run_id,))
            self._rows.put(
                {
                    "token_hash": _hash(token),
                    "run_id": run_id,
                    "workspace_id": workspace_id,
                    "session_id": session_id,
                    "input_id": input_id,
                    "scopes": list(scopes),
                    "expires_at": from_now(lifetime_s),
                }
            )
        return token

    def find(self, token: str) -> RunToken | None:
        """What a token allows now; None for one that is unknown, over or revoked."""
        found = self._rows.get(_hash(token))
        valid = found is not None and found.revoked_at is None and found.expires_at > utc_now()
        return found if valid else None

    def revoke(self, run_id: str) -> bool:
        """False when the run has no token that still stands."""
        now = utc_now()
        with self._database.transaction():
            changed = self._database.execute(
                "UPDATE sandbox_run_tokens SET revoked_at = ?, updated_at = ?"
                " WHERE run_id = ? AND revoked_at IS NULL AND expires_at > ?",
                (now, now, run_id, now),
            )
        return changed > 0

    def forget_expired(self) -> int:
        """Remove the rows of tokens that are over; how many there were."""
        with self._database.transaction():
            return self._database.execute(
                "DELETE FROM sandbox_run_tokens WHERE expires_at <= ?", (utc_now(),)
            )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
