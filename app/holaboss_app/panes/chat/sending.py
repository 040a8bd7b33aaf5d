"""What a person can do to the session that is shown: send, change or take back what waits, stop, go on, try
again.

A message that the runtime cannot take now is kept and sent when it is back; one that it refuses returns to
the composer with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from holaboss_app.panes.chat.attaching import Attaching
from holaboss_app.panes.chat.conversation import Conversation
from holaboss_app.panes.chat.outbox import Outbox, Outgoing
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.queue_rail import Waiting
from holaboss_app.services.tasks import Tasks
from holaboss_client.attachments import MessageAttachment
from holaboss_client.client import RuntimeClient
from holaboss_client.config import ProviderCatalogue
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.sessions import EditInput, SessionState

_KEY, _HELD, _NOTICE = "key", "held", "notice"


class Sending(QObject):
    busy_changed = Signal(bool)
    settings_requested = Signal(str)
    returned = Signal(str, str)
    """A message of a session that is not on screen was refused: its draft key and its text."""
    sent = Signal()
    """A message has left the composer."""

    def __init__(self, pane: ChatPane, attaching: Attaching, tasks: Tasks) -> None:
        super().__init__(pane)
        self._pane = pane
        self._attaching = attaching
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._conversation: Conversation | None = None
        self._catalogue: ProviderCatalogue | None = None
        self._outbox = Outbox()
        self._state: SessionState | None = None
        self._busy = False
        self._stopping = False
        self._last_text = ""
        pane.composer.send_requested.connect(self._send_written)
        pane.composer.stop_requested.connect(self._stop)
        pane.composer.recall_requested.connect(self._recall)
        pane.empty.starter_chosen.connect(self.send)
        pane.transcript.retry_requested.connect(self._retry)
        pane.transcript.continue_requested.connect(self._continue)
        pane.rail.edited.connect(self._edit)
        pane.rail.removed.connect(self._remove)
        pane.banners.acted.connect(self._act)

    @property
    def busy(self) -> bool:
        return self._busy

    def attach(self, client: RuntimeClient) -> None:
        """A runtime is there: what waits goes out."""
        self._client = client
        for item in self._outbox.undelivered():
            self._tasks.start(self._deliver(client, item))

    def undelivered(self) -> list[Outgoing]:
        """Messages that the runtime has not taken, oldest first."""
        return self._outbox.all()

    def detach(self) -> None:
        self._client = None
        self._stopping = False
        self.update()

    def show(self, conversation: Conversation | None) -> None:
        """Another session is on screen, or none."""
        self._conversation = conversation
        self._state, self._stopping = None, False
        self._pane.banners.withdraw(_NOTICE)
        for item in self._outbox.of_session(conversation.session_id) if conversation else ():
            item.shown = False
        self.update()

    def take_state(self, state: SessionState) -> None:
        """What the runtime says about the session on screen."""
        self._state = state
        self.update()

    def set_catalogue(self, catalogue: ProviderCatalogue) -> None:
        self._catalogue = catalogue
        self.update()

    def turn_finished(self, input_id: str) -> None:
        """After its terminal event a session is no longer busy with this input, whatever was said before."""
        if self._state is not None and self._state.current_input_id == input_id:
            self._state = None
        self._stopping = False
        self.update()

    def _send_written(self, text: str) -> None:
        """Send what stands in the composer, with its files."""
        if self._conversation is not None:
            self.send(text, self._attaching.take())

    def send(self, text: str, files: Sequence[MessageAttachment] = ()) -> None:
        """Send `text` in the session on screen, with the model of the picker."""
        conversation, composer = self._conversation, self._pane.composer
        if conversation is None:
            return
        item = Outgoing(
            conversation.workspace_id, conversation.session_id, text, composer.picker.model, tuple(files)
        )
        item.shown = not (self._busy or conversation.queued or self._outbox.of_session(item.session_id))
        self._outbox.add(item)
        self._last_text = text
        if text == composer.text.strip():
            composer.text = ""
        self._pane.banners.withdraw(_NOTICE)
        if item.shown:
            conversation.add(item.key, text, item.files)
        self._pane.transcript.scroll_to_end()
        self.sent.emit()
        self.update()
        if self._client is not None:
            self._tasks.start(self._deliver(self._client, item))

    def complain(self, sentence: str) -> None:
        """Something that was asked for did not work."""
        self._pane.banners.say(_NOTICE, sentence, action=self.tr("Dismiss"), surface="danger")

    def update(self) -> None:
        """Bring composer, rail and banners up to date."""
        conversation, state = self._conversation, self._state
        if conversation is not None:
            self._retire_shown(conversation)
        working = state is not None and state.effective_state == "BUSY"
        busy = conversation is not None and (working or bool(conversation.live))
        self._stopping = self._stopping and busy
        self._pane.composer.set_busy(busy and self._client is not None, stopping=self._stopping)
        self._pane.rail.show_items(self._waiting())
        self._show_banners()
        if busy != self._busy:
            self._busy = busy
            self.busy_changed.emit(busy)

    async def _deliver(self, client: RuntimeClient, item: Outgoing) -> None:
        if item.sending:
            return
        item.sending = True
        if item.shown and (conversation := self._open_for(item)) is not None:
            conversation.hold_events()
        try:
            reply = await client.queue(item.request())
        except RuntimeUnreachableError:
            pass  # It stays in the outbox and goes out under the same key when a runtime is there again.
        except ProblemError as error:
            self._refused(item, str(error))
        else:
            self._outbox.remove(item)
            conversation = self._open_for(item)
            if conversation is not None and item.shown:
                conversation.rename(item.key, reply.input_id)
            elif conversation is not None:
                conversation.refresh()
        finally:
            item.sending = False
            if (conversation := self._open_for(item)) is not None:
                conversation.release_events()
            self.update()

    def _open_for(self, item: Outgoing) -> Conversation | None:
        conversation = self._conversation
        return conversation if conversation and conversation.session_id == item.session_id else None

    def _refused(self, item: Outgoing, sentence: str) -> None:
        self._outbox.remove(item)
        self._attaching.put_back(item.draft_key, item.files)
        conversation = self._open_for(item)
        if conversation is None:
            self.returned.emit(item.draft_key, item.text)
            return
        if item.shown:
            conversation.remove(item.key)
        composer = self._pane.composer
        composer.text = "\n\n".join(text for text in (item.text, composer.text) if text.strip())
        self.complain(sentence)

    def _waiting(self) -> list[Waiting]:
        """Rows of the rail: queued in the runtime, then not delivered yet."""
        conversation = self._conversation
        if conversation is None:
            return []
        rows = [
            Waiting(item.input_id, item.text, self.tr("Waiting"), True, _names(item.attachments))
            for item in conversation.queued
            if conversation.transcript.position(item.input_id) is None
        ]
        for item in self._outbox.of_session(conversation.session_id):
            if not item.shown:
                words = self.tr("Sending…") if item.sending else self.tr("Not sent yet")
                rows.append(Waiting(item.key, item.text, words, not item.sending, _names(item.files)))
        return rows

    def _missing_provider(self, state: SessionState | None) -> str | None:
        """The provider whose key a waiting message needs."""
        error = state.last_error if state is not None else None
        if not error or error.get("code") != "provider_key_missing" or state is None:
            return None
        return str(error.get("provider_id") or "") if state.has_queued_inputs else None

    def _retire_shown(self, conversation: Conversation) -> None:
        """Messages that were shown as if they were about to run go back to those that wait."""
        state = self._state
        if state is None or not (_is_held(state) or self._missing_provider(state) is not None):
            return
        for item in conversation.queued:
            conversation.remove(item.input_id)

    def _show_banners(self) -> None:
        banners, state = self._pane.banners, self._state
        provider = self._missing_provider(state)
        if provider is not None:
            text = self.tr("%s needs a key before this message can run.").replace("%s", self._name(provider))
            banners.say(_KEY, text, action=self.tr("Add the key"))
        else:
            banners.withdraw(_KEY)
        if state is not None and _is_held(state) and state.has_queued_inputs:
            text = self.tr("Stopped. The messages that wait are kept.")
            banners.say(_HELD, text, action=self.tr("Resume"))
        else:
            banners.withdraw(_HELD)

    def _name(self, provider_id: str) -> str:
        providers = self._catalogue.providers if self._catalogue else []
        named = (provider.name for provider in providers if provider.id == provider_id)
        return next(named, provider_id or self.tr("The provider"))

    def _act(self, banner: str) -> None:
        if banner == _NOTICE:
            self._pane.banners.withdraw(_NOTICE)
        elif banner == _KEY:
            provider = self._missing_provider(self._state)
            self.settings_requested.emit(f"models/{provider}" if provider else "models")
        elif banner == _HELD and self._client is not None and self._conversation is not None:
            self._ask(partial(self._resume, self._client, self._conversation))

    def _stop(self) -> None:
        client, conversation = self._client, self._conversation
        if client is None or conversation is None or self._stopping:
            return
        self._stopping = True
        self.update()
        self._ask(partial(self._pause, client, conversation))

    def _recall(self) -> None:
        if self._last_text:
            self._pane.composer.text = self._last_text
        elif self._conversation is not None and (text := self._conversation.last_message()):
            self._pane.composer.text = text

    def _retry(self, input_id: str) -> None:
        state = self._conversation.transcript.find(input_id) if self._conversation else None
        if state is not None and (state.text or state.attachments):
            self.send(state.text, state.attachments)

    def _continue(self) -> None:
        self.send(self.tr("continue"))

    def _edit(self, key: str, text: str) -> None:
        client, conversation = self._client, self._conversation
        if (item := self._outbox.find(key)) is not None:
            item.text = text
            self.update()
        elif client is not None and conversation is not None:
            body = EditInput(workspace_id=conversation.workspace_id, text=text)
            request = partial(client.edit_input, conversation.session_id, key, body)
            self._ask(partial(self._then_refresh, request, conversation))

    def _remove(self, key: str) -> None:
        client, conversation = self._client, self._conversation
        if (item := self._outbox.find(key)) is not None:
            self._outbox.remove(item)
            self._attaching.throw_away(item.workspace_id, item.files)
            self.update()
        elif client is not None and conversation is not None:
            request = partial(self._cancel, client, conversation, key)
            self._ask(partial(self._then_refresh, request, conversation))

    def _ask(self, request: Callable[[], Awaitable[None]]) -> None:
        self._tasks.start(self._or_complain(request))

    async def _or_complain(self, request: Callable[[], Awaitable[None]]) -> None:
        try:
            await request()
        except (ProblemError, RuntimeUnreachableError) as error:
            self._stopping = False
            self.complain(str(error) or self.tr("The runtime did not answer. Try again in a moment."))
        self.update()

    async def _cancel(self, client: RuntimeClient, conversation: Conversation, key: str) -> None:
        """Take back a message that waits, and then its files: before that it names them."""
        files = [file for item in conversation.queued if item.input_id == key for file in item.attachments]
        await client.cancel_input(conversation.workspace_id, conversation.session_id, key)
        self._attaching.throw_away(conversation.workspace_id, files)

    async def _pause(self, client: RuntimeClient, conversation: Conversation) -> None:
        await client.pause(conversation.workspace_id, conversation.session_id)

    async def _resume(self, client: RuntimeClient, conversation: Conversation) -> None:
        state = await client.resume(conversation.workspace_id, conversation.session_id)
        if self._conversation is conversation:
            self.take_state(state)

    async def _then_refresh(
        self, request: Callable[[], Awaitable[object]], conversation: Conversation
    ) -> None:
        try:
            await request()
        finally:
            conversation.refresh()


def _names(files: Sequence[MessageAttachment]) -> tuple[str, ...]:
    return tuple(file.name for file in files)


def _is_held(state: SessionState) -> bool:
    """The queue stands still until somebody says go on. The status words do not tell: they also have errors and what
    waits to report."""
    return state.hold is not None and state.effective_state != "BUSY"
