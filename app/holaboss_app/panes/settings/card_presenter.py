"""Connects one provider card to the runtime and the keychain: does what is asked, shows the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from holaboss_app.panes.settings.form import ProviderDraft
from holaboss_app.panes.settings.key_field import KeyStep
from holaboss_app.panes.settings.provider_actions import (
    EXPECTED_ERRORS,
    KeyMissingError,
    ProviderActions,
    sentence,
)
from holaboss_app.panes.settings.provider_card import DEMO_ID, ProviderCard
from holaboss_app.panes.settings.provider_form import SaveState
from holaboss_app.services.keychain import KeychainError
from holaboss_app.services.tasks import Tasks
from holaboss_client.config import ProviderCatalogue

TakeCatalogue = Callable[[ProviderCatalogue], None]


class CardPresenter:
    """`take` is told every catalogue that a change brought back."""

    def __init__(
        self, card: ProviderCard, actions: ProviderActions, tasks: Tasks, take: TakeCatalogue
    ) -> None:
        self._card = card
        self._form = card.form
        self._actions = actions
        self._tasks = tasks
        self._take = take
        self._unsaved: ProviderDraft | None = None
        self._saving: asyncio.Task[None] | None = None
        key = card.form.key
        card.connect_requested.connect(self._connect)
        card.disconnect_requested.connect(self._disconnect)
        card.form.save_requested.connect(self._save)
        card.form.test_requested.connect(self._test)
        key.save_requested.connect(self._store_key)
        key.keep_requested.connect(self._keep_key)
        key.remove_requested.connect(self._remove_key)
        key.retry_requested.connect(self._read_key)
        key.migrate_requested.connect(self._migrate_key)

    def resume(self) -> None:
        """The runtime is back: save what could not be saved."""
        if self._form.state is SaveState.FAILED:
            self._form.save_now()

    def flush(self) -> asyncio.Task[None] | None:
        """Save at once what still waits for its pause; returns the save that runs, if any."""
        self._form.save_now()
        return self._saving

    @property
    def _id(self) -> str:
        return self._card.provider_id

    def _start(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.start(coroutine, key=f"{name}/{self._id}")

    # Connecting

    def _connect(self, draft: ProviderDraft, key: str) -> None:
        self._start(self._connecting(draft, key), "connect")

    async def _connecting(self, draft: ProviderDraft, key: str) -> None:
        self._card.set_busy(True)
        try:
            view = self._card.view
            if self._id == DEMO_ID:
                self._take(await self._actions.connect_demo(view))
            else:
                self._take(await self._actions.connect(view, draft, key))
            self._form.key.stored()
        except KeyMissingError:
            self._card.ask_for_key()
        except KeychainError as error:
            self._card.set_expanded(True)
            await self._refresh()
            if key:
                self._form.key.failed(KeyStep.SAVE, sentence(error))
            else:
                self._card.fail(sentence(error))  # an older key was asked for; its button tries again
        except EXPECTED_ERRORS as error:
            self._card.fail(sentence(error))
        finally:
            self._card.set_busy(False)

    def _disconnect(self, forget_key: bool) -> None:
        self._start(self._disconnecting(forget_key), "connect")

    async def _disconnecting(self, forget_key: bool) -> None:
        self._card.set_busy(True)
        try:
            self._take(await self._actions.disconnect(self._card.view, forget_key=forget_key))
        except EXPECTED_ERRORS as error:
            self._card.fail(sentence(error))
            await self._refresh()
        finally:
            self._card.set_busy(False)

    # Saving: one request at a time, the newest draft last

    def _save(self, draft: ProviderDraft) -> None:
        self._unsaved = draft
        if self._saving is None or self._saving.done():
            self._saving = self._tasks.start(self._save_all())

    async def _save_all(self) -> None:
        self._form.set_state(SaveState.SAVING)
        try:
            while (draft := self._unsaved) is not None:
                self._unsaved = None
                self._take(await self._actions.save(self._card.view, draft))
                self._form.saved(draft)
        except EXPECTED_ERRORS as error:
            self._form.set_state(SaveState.FAILED, sentence(error))

    # Key and test

    def _store_key(self, value: str) -> None:
        self._with_key(KeyStep.SAVE, partial(self._actions.store_key, self._id, value))

    def _keep_key(self, value: str) -> None:
        self._with_key(KeyStep.KEEP, partial(self._actions.keep_key, self._id, value))

    def _remove_key(self) -> None:
        self._with_key(KeyStep.REMOVE, partial(self._actions.remove_key, self._card.view))

    def _read_key(self) -> None:
        self._with_key(KeyStep.READ, partial(self._actions.send_key, self._id))

    def _migrate_key(self) -> None:
        self._with_key(KeyStep.MIGRATE, partial(self._actions.migrate_key, self._id))

    def _with_key(self, step: KeyStep, action: Callable[[], Awaitable[None]]) -> None:
        self._start(self._changing_key(step, action), "key")

    async def _changing_key(self, step: KeyStep, action: Callable[[], Awaitable[None]]) -> None:
        key = self._form.key
        key.set_running(True)
        try:
            await action()
            key.stored()
            self._take(await self._actions.runtime.providers())
        except EXPECTED_ERRORS as error:
            key.failed(step, sentence(error))
        finally:
            key.set_running(False)

    def _test(self) -> None:
        if self._form.check():
            self._start(self._testing(), "test")

    async def _testing(self) -> None:
        self._form.set_testing()
        try:
            view, draft, key = self._card.view, self._form.draft, self._form.key.key
            self._form.show_test(await self._actions.test(view, draft, key))
        except EXPECTED_ERRORS as error:
            self._form.test_failed(sentence(error))

    async def _refresh(self) -> None:
        """A change stopped half-way: show what is true now, if the runtime can say."""
        try:
            self._take(await self._actions.runtime.providers())
        except EXPECTED_ERRORS as error:
            self._card.fail(sentence(error))
