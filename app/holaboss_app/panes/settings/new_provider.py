"""Connects the form of a new provider to the runtime and the keychain: tries it, adds it, says what came of it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from holaboss_app.panes.settings.custom_provider import CustomProviderForm, NewProvider
from holaboss_app.panes.settings.provider_actions import EXPECTED_ERRORS, ProviderActions, sentence
from holaboss_app.services.keychain import KeychainError
from holaboss_app.services.tasks import Tasks
from holaboss_client.config import ProviderCatalogue


class NewProviderPresenter(QObject):
    """Tells its owner when there is a new provider, also when its key could not be stored."""

    added = Signal(ProviderCatalogue)
    key_refused = Signal(NewProvider, str)
    """After `added`: which provider, and why the keychain did not take its key."""

    def __init__(self, form: CustomProviderForm, actions: ProviderActions, tasks: Tasks) -> None:
        super().__init__(form)
        self._form = form
        self._actions = actions
        self._tasks = tasks
        form.add_requested.connect(self._add)
        form.test_requested.connect(self._test)

    def _add(self, new: NewProvider) -> None:
        self._tasks.start(self._adding(new), key="add")

    async def _adding(self, new: NewProvider) -> None:
        self._form.set_busy(True)
        self._form.fail("")
        try:
            await self._add_and_tell(new)
        except EXPECTED_ERRORS as error:
            self._form.fail(sentence(error))
        finally:
            self._form.set_busy(False)

    async def _add_and_tell(self, new: NewProvider) -> None:
        try:
            catalogue, refusal = await self._actions.add(new), ""
        except KeychainError as error:
            catalogue, refusal = await self._actions.runtime.providers(), sentence(error)
        self.added.emit(catalogue)
        if refusal:
            self.key_refused.emit(new, refusal)

    def _test(self, new: NewProvider) -> None:
        self._tasks.start(self._testing(new), key="test")

    async def _testing(self, new: NewProvider) -> None:
        self._form.set_testing(new)
        try:
            self._form.show_test(new, await self._actions.test_new(new))
        except EXPECTED_ERRORS as error:
            self._form.test_failed(new, sentence(error))
