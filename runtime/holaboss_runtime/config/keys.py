"""Provider keys while the runtime runs: where each comes from, in which order, and what is redacted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holaboss_client.config import KeyState
from holaboss_runtime.config.builtin import BUILTIN, DEMO_ID, PROXY_ID
from holaboss_runtime.config.endpoints import is_loopback
from holaboss_runtime.config.environment import Environment
from holaboss_runtime.config.settings import ProviderEntry, Settings
from holaboss_runtime.errors import DomainError
from holaboss_runtime.redaction import worth_hiding

KEYCHAIN = "keychain:"
_VALID = re.compile(r"[\x21-\x7e]{1,8192}")
NOT_A_KEY = "This is not a key: it is empty, or has spaces or characters in it that no key has."
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


def is_key(value: str) -> bool:
    """Whether a header of HTTP can carry it; what was copied from where it is shown in part, as `sk-…`, cannot."""
    return _VALID.fullmatch(value) is not None


def needs_key(entry: ProviderEntry) -> bool:
    """Whoever has one on record does, because a keychain may open later than the first message comes; without one a
    vendor does, a server on this computer and an endpoint of the person's own do not."""
    if entry.id == DEMO_ID:
        return False
    return bool(entry.api_key) or (entry.id in BUILTIN and not is_loopback(entry.base_url))


class KeyRing:
    """Keys handed over by the parent or by a client (`memory`), keys of the file, keys of the environment.

    Embedded, a literal key of the file is the newest word on it, because putting one in memory also removes
    it from the file. Standalone, memory was set by a live request and wins.
    """

    def __init__(self, memory: dict[str, str], environment: Environment, *, embedded: bool) -> None:
        self._memory = memory
        self._environment = environment
        self._embedded = embedded

    def __contains__(self, provider_id: str) -> bool:
        return provider_id in self._memory

    def put(self, provider_id: str, value: str) -> None:
        """Raises `DomainError` `key_invalid` for what no HTTP header can carry."""
        value = value.strip()
        if not is_key(value):
            raise DomainError("unprocessable", "key_invalid", NOT_A_KEY)
        self._memory[provider_id] = value

    def drop(self, provider_id: str) -> None:
        self._memory.pop(provider_id, None)

    def key(self, entry: ProviderEntry) -> str | None:
        return self._find(entry)[1]

    def state(self, entry: ProviderEntry) -> KeyState:
        return self._find(entry)[0]

    def literal(self, entry: ProviderEntry) -> str | None:
        """The key when it stands in the file itself."""
        state, key = self._find(entry)
        return key if state == "literal" else None

    def proxy_token(self, settings: Settings) -> str | None:
        entry = settings.providers.get(PROXY_ID)
        return self.key(entry) if entry is not None else settings.values.get("auth_token")

    def values(self, settings: Settings) -> frozenset[str]:
        """Everything that must not be shown: keys from everywhere, and headers that look like one."""
        found = {*self._memory.values(), *self._environment.keys.values(), *self._of_settings(settings)}
        found.add(self._environment.overrides.get("auth_token", ""))
        return frozenset(worth_hiding(found))

    def _find(self, entry: ProviderEntry) -> tuple[KeyState, str | None]:
        if entry.id == PROXY_ID and (token := self._environment.overrides.get("auth_token")):
            return "environment", token
        stored = entry.api_key or ""
        is_reference = stored.startswith(KEYCHAIN)
        literal = stored if stored and not is_reference else None
        memory = self._memory.get(stored.removeprefix(KEYCHAIN) if is_reference else entry.id)
        ordered: tuple[tuple[KeyState, str | None], ...] = (
            ("literal", literal if self._embedded else None),
            ("keychain", memory),
            ("literal", literal),
            ("environment", self._environment.keys.get(entry.id)),
            ("keychain_missing" if is_reference else "none", ""),
        )
        found = next(source for source in ordered if source[1] is not None)
        return found[0], found[1] or None

    def _of_settings(self, settings: Settings) -> Iterator[str]:
        for entry in settings.providers.values():
            if entry.api_key and not entry.api_key.startswith(KEYCHAIN):
                yield entry.api_key
            yield from (value for name, value in entry.headers.items() if _SECRET_HEADER.search(name))
        yield from (key for key in settings.search.keys.values() if not key.startswith(KEYCHAIN))
        yield settings.values.get("auth_token", "")
