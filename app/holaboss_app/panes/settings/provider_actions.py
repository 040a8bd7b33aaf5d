"""What can be done with providers and their keys, over one runtime and one keychain. No widgets.

The order is always such that a crash in between loses no key: it reaches the keychain before the runtime, and
leaves the configuration file only after the keychain gave it back.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from holaboss_app.panes.settings.custom_provider import NewProvider
from holaboss_app.panes.settings.form import ProviderDraft, is_loopback
from holaboss_app.panes.settings.key_field import KeyEntry, KeyPlace
from holaboss_app.services.keychain import Keychain, KeychainError, KeychainState
from holaboss_client.client import RuntimeClient
from holaboss_client.config import (
    LocalServer,
    ProviderCatalogue,
    ProviderTest,
    ProviderView,
    PutProvider,
)
from holaboss_client.problems import ProblemError, RuntimeUnreachableError

EXPECTED_ERRORS = (ProblemError, RuntimeUnreachableError, KeychainError)
"""What a person is told where they acted. Anything else is a fault of ours and is reported."""


class KeyMissingError(Exception):
    """This provider cannot be connected without a key, and there is none."""


class ProviderActions:
    """Every method raises one of `EXPECTED_ERRORS`; `runtime` raises while there is no runtime."""

    def __init__(self, keychain: Keychain) -> None:
        self._keychain = keychain
        self.client: RuntimeClient | None = None
        self.keychain_state = KeychainState.AVAILABLE

    @property
    def runtime(self) -> RuntimeClient:
        if self.client is None:
            raise RuntimeUnreachableError(_tr("The runtime is not running."))
        return self.client

    @property
    def entry(self) -> KeyEntry:
        absent = self.keychain_state is KeychainState.ABSENT
        return KeyEntry.SESSION if absent else KeyEntry.KEYCHAIN

    async def look_at_keychain(self) -> str:
        """Learn the state of the keychain; returns its sentence."""
        self.keychain_state = await self._keychain.state()
        return self._keychain.detail

    def place(self, view: ProviderView) -> KeyPlace:
        session = view.key_state == "keychain" and self._keychain.kept_for_session(view.id)
        return "session" if session else view.key_state

    # Providers

    async def connect(self, view: ProviderView, draft: ProviderDraft, key: str) -> ProviderCatalogue:
        """Put the provider, then its key; a key that the keychain still has from before is used again.

        Raises:
            KeyMissingError: nothing was changed.
            KeychainError: the provider is connected, its key is not stored.
        """
        known = await self._known_key(view, draft) if not key else None
        await self.runtime.put_provider(view.id, body_of(view, draft))
        if key:
            await self.store_key(view.id, key)
        elif known:
            await self.runtime.put_secret(view.id, known)
        return await self.runtime.providers()

    async def connect_demo(self, view: ProviderView) -> ProviderCatalogue:
        return await self.runtime.put_provider(view.id, PutProvider())

    async def add(self, new: NewProvider) -> ProviderCatalogue:
        """Put a new provider, then its key.

        Raises:
            KeychainError: the provider is connected, its key is not stored.
        """
        body = PutProvider(
            name=new.name, kind=new.kind, base_url=new.draft.base_url, models=list(new.draft.models)
        )
        await self.runtime.put_provider(new.provider_id, body)
        if new.key:
            await self.store_key(new.provider_id, new.key)
        return await self.runtime.providers()

    async def connect_local(self, server: LocalServer, view: ProviderView | None) -> ProviderCatalogue:
        """Connect a server of this computer: the catalogue's provider of that name, or one of its own."""
        body = PutProvider(base_url=server.base_url, models=server.models)
        if view is None:
            body = body.model_copy(update={"name": server.name, "kind": "openai_compatible"})
        return await self.runtime.put_provider(server.provider_id, body)

    async def save(self, view: ProviderView, draft: ProviderDraft) -> ProviderCatalogue:
        return await self.runtime.put_provider(view.id, body_of(view, draft))

    async def disconnect(self, view: ProviderView, *, forget_key: bool) -> ProviderCatalogue:
        catalogue = await self.runtime.delete_provider(view.id)
        if forget_key:
            await self.remove_key(view)
            return await self.runtime.providers()
        return catalogue

    async def test(self, view: ProviderView, draft: ProviderDraft, key: str) -> ProviderTest:
        """Try the draft as it stands, saved or not."""
        first = draft.models[0] if draft.models else None
        return await self.runtime.test_provider(
            view.id, kind=view.kind, base_url=draft.base_url, api_key=key or None, model=first
        )

    async def test_new(self, new: NewProvider) -> ProviderTest:
        """Try a provider that is not stored yet."""
        first = new.draft.models[0] if new.draft.models else None
        return await self.runtime.test_provider(
            new.provider_id, kind=new.kind, base_url=new.draft.base_url, api_key=new.key or None, model=first
        )

    # Keys

    async def store_key(self, provider_id: str, key: str) -> None:
        """Into the keychain, then to the runtime; for this session only where there is no keychain."""
        if self.entry is KeyEntry.SESSION:
            await self.keep_key(provider_id, key)
        else:
            await self._keychain.write(provider_id, key)
            await self.runtime.put_secret(provider_id, key)

    async def keep_key(self, provider_id: str, key: str) -> None:
        """Use the key until the program ends; it is written nowhere."""
        self._keychain.remember_for_session(provider_id, key)
        await self.runtime.put_secret(provider_id, key)

    async def remove_key(self, view: ProviderView) -> None:
        """Forget the key where it is: in the configuration file, or in the keychain and in this session."""
        if view.key_state != "literal":
            await self._forget(view.id)
        await self.runtime.delete_secret(view.id)

    async def _forget(self, provider_id: str) -> None:
        session_only = self._keychain.kept_for_session(provider_id)
        try:
            await self._keychain.delete(provider_id)
        except KeychainError:
            # Where there is no keychain, forgetting the key of this session is all there is to do.
            if not (session_only and self.keychain_state is KeychainState.ABSENT):
                raise

    async def send_key(self, provider_id: str) -> None:
        """Read the key from the keychain once more and hand it to the runtime."""
        key = await self._keychain.read(provider_id)
        if key is None:
            raise KeychainError(_tr("The keychain has no key of this provider. Enter it again."))
        await self.runtime.put_secret(provider_id, key)

    async def migrate_key(self, provider_id: str) -> None:
        """Move a key out of the configuration file; the file lets go of it only once the keychain has it."""
        handed = await self.runtime.hand_over_secret(provider_id)
        await self._keychain.write(provider_id, handed.value)
        if await self._keychain.read(provider_id) != handed.value:
            message = _tr("The keychain did not give the key back, so the file was left as it is.")
            raise KeychainError(message)
        await self.runtime.confirm_hand_over(provider_id)

    async def _known_key(self, view: ProviderView, draft: ProviderDraft) -> str | None:
        if not view.key_required or view.key_state not in {"none", "keychain_missing"}:
            return None
        if is_loopback(draft.base_url):
            return None
        key = await self._keychain.read(view.id) if self.entry is KeyEntry.KEYCHAIN else None
        if key is None:
            raise KeyMissingError
        return key


def body_of(view: ProviderView, draft: ProviderDraft) -> PutProvider:
    """What to put for a draft; a custom provider also says its name and protocol."""
    name, kind = (view.name, view.kind) if view.custom else (None, None)
    return PutProvider(name=name, kind=kind, base_url=draft.base_url, models=list(draft.models))


def sentence(error: BaseException) -> str:
    """What to tell about one of `EXPECTED_ERRORS`."""
    if isinstance(error, RuntimeUnreachableError):
        return _tr("The runtime does not answer right now. What you entered is kept; try again in a moment.")
    return str(error)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ProviderActions", text)
