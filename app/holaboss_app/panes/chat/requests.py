"""What waits for a person in the session on screen: fetched when the runtime says so, shown, decided once.

Another window, the command line or time may be faster: then what was decided there is said, and the card goes.
"""

from __future__ import annotations

from PySide6.QtCore import QObject

from holaboss_app.core.requests import Request, open_requests
from holaboss_app.core.shortcuts import Action, keys
from holaboss_app.panes.chat.conversation import Conversation
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.services.tasks import Tasks
from holaboss_client.agents import DecideAction
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.sessions import SessionState

_NOTICE = "request"
_GONE = frozenset({"action_not_open", "action_not_found"})


class Requests(QObject):
    def __init__(self, pane: ChatPane, tasks: Tasks) -> None:
        super().__init__(pane)
        self._pane = pane
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._conversation: Conversation | None = None
        self._open = 0
        pane.requests.decided.connect(self._decide)
        pane.requests.left.connect(pane.composer.field.setFocus)
        pane.banners.acted.connect(self._dismiss)

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        self._fetch()

    def detach(self) -> None:
        """The runtime is gone: what waits is kept there, and shown again when it is back."""
        self._client = None
        self._tasks.cancel("requests")
        self._show([])

    def show(self, conversation: Conversation | None) -> None:
        """Another session is on screen, or none."""
        self._conversation = conversation
        self._open = 0
        self._tasks.cancel("requests")
        self._show([])
        self._pane.banners.withdraw(_NOTICE)
        self._fetch()

    def take_state(self, state: SessionState) -> None:
        """What the runtime says about the session on screen."""
        if state.open_actions or self._open:
            self._fetch()

    def _fetch(self) -> None:
        if self._client is not None and self._conversation is not None:
            self._tasks.start(self._load(self._client, self._conversation), key="requests")

    async def _load(self, client: RuntimeClient, conversation: Conversation) -> None:
        try:
            actions = await client.pending_actions(conversation.session_id, only_open=True)
        except (ProblemError, RuntimeUnreachableError):
            return  # The next state asks again, and so does the next connection.
        if conversation is self._conversation:
            self._open = actions.count
            self._show(open_requests(actions.items))

    def _show(self, requests: list[Request]) -> None:
        self._pane.requests.show_requests(requests)
        asked = any(request.kind == "question" for request in requests)
        hint = ""
        if asked and len(requests) == 1:
            hint = self.tr("Answer above, or write it here")
        elif requests:
            hint = self.tr("Something waits for you above (%s)").replace("%s", keys(Action.FOCUS_REQUEST))
        self._pane.composer.set_hint(hint)

    def _decide(self, request_id: str, decision: DecideAction) -> None:
        client, conversation = self._client, self._conversation
        card = self._pane.requests.card(request_id)
        if client is None or conversation is None or card is None:
            return
        card.set_busy(True)
        self._tasks.start(self._send(client, conversation, request_id, decision))

    async def _send(
        self, client: RuntimeClient, conversation: Conversation, request_id: str, decision: DecideAction
    ) -> None:
        try:
            await client.decide_action(conversation.session_id, request_id, decision)
        except ProblemError as error:
            self._refused(request_id, error)
        except RuntimeUnreachableError:
            self._complain(request_id, self.tr("The runtime did not answer. Decide again in a moment."))
        self._fetch()

    def _refused(self, request_id: str, error: ProblemError) -> None:
        if error.problem.code in _GONE:
            sentence = self.tr("Somebody else was faster: %s").replace("%s", str(error))
            self._pane.banners.say(_NOTICE, sentence, action=self.tr("Dismiss"), surface="sunken")
        else:
            self._complain(request_id, str(error))

    def _complain(self, request_id: str, sentence: str) -> None:
        card = self._pane.requests.card(request_id)
        if card is not None:
            card.complain(sentence)

    def _dismiss(self, banner: str) -> None:
        if banner == _NOTICE:
            self._pane.banners.withdraw(_NOTICE)
