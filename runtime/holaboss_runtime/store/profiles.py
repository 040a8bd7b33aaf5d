"""The operator's profile: one row, who the agent is working for."""

from __future__ import annotations

from holaboss_client.base import utc_now
from holaboss_client.config import Profile, PutProfile
from holaboss_runtime.store.database import Database

PROFILE_ID = "default"
_RANK = {"auth_fallback": 0, "agent": 1, "manual": 2}


class Profiles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self) -> Profile:
        row = self._database.row("SELECT * FROM runtime_user_profiles WHERE profile_id = ?", (PROFILE_ID,))
        return Profile() if row is None else Profile.model_validate(row)

    def put(self, body: PutProfile) -> Profile:
        """Set the name, unless a better source has set it: what a person typed is never overwritten by a
        guess.
        """
        with self._database.transaction():
            current = self.get()
            if current.name and _RANK[body.name_source] < _RANK.get(current.name_source or "", 0):
                return current
            now = utc_now()
            self._database.execute(
                "INSERT INTO runtime_user_profiles (profile_id, name, name_source, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (profile_id) DO UPDATE SET"
                " name = excluded.name, name_source = excluded.name_source, updated_at = excluded.updated_at",
                (PROFILE_ID, body.name.strip(), body.name_source, now, now),
            )
        return self.get()
