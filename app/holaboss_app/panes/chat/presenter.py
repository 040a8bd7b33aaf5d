"""Between the chat pane and the runtime: which workspace and which session are shown.

Everything that talks to the runtime runs as a task that this object owns. Changing the workspace is a
transaction: cancel, save, clear, load, resume; a change that comes meanwhile wins. A runtime that goes away
takes nothing with it.
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, QTimer, QUrl, Signal

from holaboss_app.core.models import provider_names
from holaboss_app.core.plan import Plan, read_plan
from holaboss_app.core.transcript import Transcript
from holaboss_app.panes.chat.attaching import Attaching
from holaboss_app.panes.chat.changes import Changes
from holaboss_app.panes.chat.conversation import Conversation
from holaboss_app.panes.chat.drafts import DraftStore
from holaboss_app.panes.chat.model_picker import connected
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.permissions import Permissions
from holaboss_app.panes.chat.requests import Requests
from holaboss_app.panes.chat.sending import Sending
from holaboss_app.panes.chat.session_header import SessionEntry
from holaboss_app.panes.chat.thumbnails import Thumbnails
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.config import ProviderCatalogue
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.sessions import CreateSession, Session, SessionState
from holaboss_client.workspaces import Workspace

_SAVE_AFTER_MS = 300
_SKELETON_AFTER_MS = 150
_RUNTIME = "runtime"


class ChatPresenter(QObject):
    settings_requested = Signal(str)
    """A page of the settings: `models`, or `models/<provider id>`."""
    open_url_requested = Signal(QUrl)
    """A person has confirmed that this address may be opened in the browser."""
    file_requested = Signal(str)
    """A file of the workspace, by its path, is to be shown."""
    busy_changed = Signal(bool)

    def __init__(self, pane: ChatPane, drafts: DraftStore, report: Report) -> None:
        super().__init__(pane)
        self._pane = pane
        self._drafts = drafts
        self._report = report
        self._tasks = Tasks(report)
        self._client: RuntimeClient | None = None
        self._workspace: Workspace | None = None
        self._conversation: Conversation | None = None
        self._catalogue: ProviderCatalogue | None = None
        self._sessions: list[Session] = []
        self._states: dict[str, str] = {}
        self._chosen: dict[str, str] = {}
        """The session shown last, by workspace."""
        self._places: dict[str, tuple[str, int] | None] = {}
        """Where the person was reading, by session."""
        self._thumbnails = Thumbnails(self._tasks, self)
        self._attaching = Attaching(pane, drafts, self._thumbnails, self._tasks)
        self._sending = Sending(pane, self._attaching, self._tasks)
        self._requests = Requests(pane, self._tasks)
        self._permissions = Permissions(pane, self._tasks)
        self._changes = Changes(pane, self._tasks)
        self._save_timer = self._timer(_SAVE_AFTER_MS)
        self._save_timer.timeout.connect(self._save_draft)
        self._skeleton_timer = self._timer(_SKELETON_AFTER_MS)
        self._skeleton_timer.timeout.connect(pane.show_loading)
        self._connect()
        pane.show_nothing()

    def attach(self, client: RuntimeClient) -> None:
        """A runtime is there: load what is not loaded, go on with what is, send what waits."""
        self._client = client
        self._pane.banners.withdraw(_RUNTIME)
        self._thumbnails.attach(client)
        if self._workspace is not None and self._conversation is None:
            self._tasks.start(self._enter(self._workspace), key="enter")
        elif self._workspace is not None and self._conversation is not None:
            self._conversation.resume(client)
            self._load_states()
        self._attaching.attach(client)
        self._sending.attach(client)
        self._requests.attach(client)
        self._permissions.attach(client)
        self._changes.attach(client)

    def detach(self, reason: str) -> None:
        """The runtime is gone or going; `reason` is a sentence for the person, which the window says above the
        panes: here one line says what becomes of a message. Nothing on screen is lost."""
        self._client = None
        for key in ("enter", "sessions"):
            self._tasks.cancel(key)
        if self._conversation is not None:
            self._conversation.interrupt()
        self._thumbnails.detach()
        self._attaching.detach()
        self._sending.detach()
        self._requests.detach()
        self._permissions.detach()
        self._changes.detach()
        promise = self.tr("What you send now goes out as soon as the runtime is back.")
        self._pane.banners.say(_RUNTIME, promise, why=reason, surface="sunken")

    async def show_workspace(self, workspace: Workspace | None) -> None:
        """Show another workspace, or none. Returns when it is shown, or when a later call has taken over."""
        self._leave()
        self._workspace = workspace
        self._permissions.show(workspace.id if workspace is not None else "")
        if workspace is None:
            self._pane.show_nothing()
            return
        self._thumbnails.show(workspace.id)
        self._attaching.set_folder(workspace.workspace_path)
        self._clear(workspace)
        self._pane.composer.picker.set_model(self._drafts.last_model(workspace.id))
        if self._client is not None:
            await asyncio.wait({self._tasks.start(self._enter(workspace), key="enter")})

    def set_catalogue(self, catalogue: ProviderCatalogue) -> None:
        """Which models there are."""
        self._catalogue = catalogue
        self._pane.composer.picker.set_catalogue(catalogue)
        self._pane.transcript.name_providers(provider_names(catalogue))
        self._sending.set_catalogue(catalogue)
        self._attaching.set_catalogue(catalogue)
        self._say_what_blocks()

    def on_change(self, event: ChangeEvent) -> None:
        """One event of the shell's change feed."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or self._client is None:
            return
        if event.kind == Change.RESET or (
            event.kind == Change.SESSION and event.workspace_id == workspace.id
        ):
            self._load_states()
        if event.kind in (Change.RESET, Change.PERMISSIONS):
            self._permissions.refresh()
        if conversation is None:
            return
        shown = event.session_id == conversation.session_id
        if event.kind == Change.RESET or (event.kind == Change.QUEUE and shown):
            conversation.refresh()
        elif event.kind == Change.SESSION_STATE and shown:
            self._take_state(SessionState.model_validate(event.payload))

    def new_session(self) -> None:
        """Begin another session; one that is still empty is used instead."""
        self._pane.composer.field.setFocus()
        conversation, workspace, client = self._conversation, self._workspace, self._client
        if workspace is None or client is None or conversation is None or not len(conversation.transcript):
            return
        self._tasks.start(self._create_session(workspace, client), key="create")

    def focus_request(self) -> None:
        """Give the keyboard to what waits for a person."""
        self._pane.requests.focus_first()

    async def close(self) -> None:
        """Save, and stop everything. A message that could not be delivered becomes a draft again."""
        self._leave()
        for item in reversed(self._sending.undelivered()):
            self._give_back(item.draft_key, item.text)
            self._attaching.put_back(item.draft_key, item.files)
        self._client = self._workspace = None
        await self._tasks.close()
        await self._attaching.close()

    def _connect(self) -> None:
        pane, sending = self._pane, self._sending
        sending.busy_changed.connect(self.busy_changed)
        sending.returned.connect(self._give_back)
        for source in (self._attaching, pane.transcript):
            source.file_requested.connect(self.file_requested)
        pane.transcript.thumbnail_wanted.connect(self._thumbnails.want)
        self._thumbnails.arrived.connect(pane.transcript.show_thumbnail)
        for part in (self._permissions, self._changes, self._attaching):
            part.complained.connect(sending.complain)
        sending.settings_requested.connect(self.settings_requested)
        sending.sent.connect(self._save_draft)
        pane.composer.text_changed.connect(self._save_timer.start)
        pane.composer.connect_requested.connect(lambda: self.settings_requested.emit("models"))
        pane.composer.picker.settings_requested.connect(self.settings_requested)
        pane.composer.picker.model_changed.connect(self._save_model)
        pane.transcript.settings_requested.connect(self.settings_requested)
        pane.link_confirmed.connect(self.open_url_requested)
        pane.header.new_requested.connect(self.new_session)
        pane.header.list_requested.connect(self._list_sessions)
        pane.header.session_chosen.connect(self._switch_session)
        pane.trouble.retry_requested.connect(self._try_again)

    def _timer(self, milliseconds: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        return timer

    def _leave(self) -> None:
        """Cancel and save."""
        self._save_draft()
        self._skeleton_timer.stop()
        for key in ("enter", "sessions", "create", "list"):
            self._tasks.cancel(key)
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            self._places[conversation.session_id] = self._pane.transcript.place()
            conversation.leave()
            self._tasks.start(conversation.close())
        self._attaching.show(None)
        self._sending.show(None)
        self._requests.show(None)
        self._changes.show(None)
        self._pane.plan.show_plan(None)
        self._set_draft("")

    def _clear(self, workspace: Workspace) -> None:
        """An empty pane, and the shape of a conversation if loading takes noticeably long."""
        self._pane.transcript.set_transcript(Transcript())
        self._pane.show_conversation()
        self._pane.header.describe(workspace.name, usable=False)
        self._say_what_blocks()
        self._skeleton_timer.start()

    async def _enter(self, workspace: Workspace, session_id: str | None = None) -> None:
        """Load and resume: the session asked for, the one shown last, or the main one."""
        client = self._client
        if client is None:
            return
        try:
            wanted = session_id or self._chosen.get(workspace.id)
            if wanted is None:
                wanted = (await client.ensure_main_session(workspace.id)).session_id
            await self._open(client, workspace, wanted)
            await self._fetch_states(workspace, client)
        except (ProblemError, RuntimeUnreachableError) as error:
            self._skeleton_timer.stop()
            self._pane.show_trouble(str(error) or self.tr("The runtime did not answer."))

    async def _open(self, client: RuntimeClient, workspace: Workspace, session_id: str) -> None:
        view = self._pane.transcript
        conversation = Conversation(view, workspace.id, session_id, self._report, self._pane)
        try:
            await conversation.open(client, self._places.get(session_id))
        except BaseException:
            conversation.leave()
            await conversation.close()
            raise
        self._skeleton_timer.stop()
        self._conversation = conversation
        self._chosen[workspace.id] = session_id
        conversation.changed.connect(self._conversation_changed)
        conversation.finished.connect(self._turn_finished)
        if not self._pane.composer.text:  # what was typed while it loaded is newer than any draft
            self._set_draft(self._drafts.draft(self._draft_key()))
        self._attaching.show(conversation)
        self._sending.show(conversation)
        self._requests.show(conversation)
        self._changes.show(conversation)
        self._say_what_blocks()
        self._conversation_changed()

    def _conversation_changed(self) -> None:
        conversation, workspace = self._conversation, self._workspace
        if conversation is None or workspace is None:
            return
        if len(conversation.transcript):
            self._pane.show_conversation()
        else:
            self._pane.show_empty(workspace.name)
        self._pane.plan.show_plan(self._plan(conversation))
        self._sending.update()

    def _plan(self, conversation: Conversation) -> Plan | None:
        """What the agent works by; a finished plan goes with the turn that has finished it."""
        told_in, details = conversation.transcript.newest_details("todo")
        plan = read_plan(details)
        return None if plan is None or (plan.finished and told_in not in conversation.live) else plan

    def _turn_finished(self, input_id: str) -> None:
        self._sending.turn_finished(input_id)
        self._changes.refresh()
        self._permissions.complete()
        conversation = self._conversation
        state = conversation.transcript.find(input_id) if conversation is not None else None
        failed = state is not None and state.error is not None
        self._pane.transcript.announce(
            self.tr("The answer failed") if failed else self.tr("The answer is finished")
        )

    def _load_states(self) -> None:
        if self._workspace is not None and self._client is not None:
            self._tasks.start(self._fetch_states(self._workspace, self._client), key="sessions")

    async def _fetch_states(self, workspace: Workspace, client: RuntimeClient) -> None:
        """Titles and states of all sessions of the workspace."""
        try:
            sessions = (await client.sessions(workspace.id)).items
            states = (await client.session_states(workspace.id)).items
        except (ProblemError, RuntimeUnreachableError):
            return  # They are fetched again with the next change, or when the runtime is back.
        self._sessions = sessions
        self._states = {state.session_id: state.runtime_status for state in states}
        if (conversation := self._conversation) is None:
            return
        self._pane.header.describe(self._title(conversation.session_id), usable=True)
        for state in states:
            if state.session_id == conversation.session_id:
                self._take_state(state)

    def _take_state(self, state: SessionState) -> None:
        self._sending.take_state(state)
        self._requests.take_state(state)

    def _list_sessions(self) -> None:
        if self._workspace is not None and self._client is not None:
            self._tasks.start(self._open_list(self._workspace, self._client), key="list")

    async def _open_list(self, workspace: Workspace, client: RuntimeClient) -> None:
        await self._fetch_states(workspace, client)
        current = self._conversation.session_id if self._conversation else ""
        entries = [
            SessionEntry(
                session.session_id,
                self._title(session.session_id),
                self._states.get(session.session_id, "IDLE"),
                session.session_id == current,
            )
            for session in self._sessions
        ]
        self._pane.header.open_list(entries)

    def _title(self, session_id: str) -> str:
        titles = (session.title for session in self._sessions if session.session_id == session_id)
        return next(titles, None) or self.tr("New session")

    def _switch_session(self, session_id: str) -> None:
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or (conversation is not None and conversation.session_id == session_id):
            return
        self._leave()
        self._clear(workspace)
        self._tasks.start(self._enter(workspace, session_id), key="enter")

    async def _create_session(self, workspace: Workspace, client: RuntimeClient) -> None:
        try:
            session = await client.create_session(CreateSession(workspace_id=workspace.id))
        except (ProblemError, RuntimeUnreachableError) as error:
            self._sending.complain(
                str(error) or self.tr("The runtime did not answer. Try again in a moment.")
            )
            return
        self._switch_session(session.session_id)

    def _try_again(self) -> None:
        if self._workspace is not None:
            self._clear(self._workspace)
            self._tasks.start(self._enter(self._workspace), key="enter")

    def _say_what_blocks(self) -> None:
        """Why nothing can be sent, in words."""
        workspace, composer = self._workspace, self._pane.composer
        if workspace is not None and workspace.folder_state == "missing":
            composer.set_blocked(self.tr("The folder of this workspace is missing."))
        elif self._catalogue is not None and not connected(self._catalogue):
            composer.set_blocked(self.tr("No model is connected yet."), connectable=True)
        elif workspace is not None and self._conversation is None:
            composer.set_blocked(self.tr("Loading…"))
        else:
            composer.set_blocked("")

    def _draft_key(self) -> str:
        conversation = self._conversation
        return f"{conversation.workspace_id}/{conversation.session_id}" if conversation is not None else ""

    def _save_draft(self) -> None:
        self._save_timer.stop()
        if key := self._draft_key():
            self._drafts.save_draft(key, self._pane.composer.text)

    def _set_draft(self, text: str) -> None:
        self._pane.composer.text = text
        self._save_timer.stop()

    def _give_back(self, key: str, text: str) -> None:
        """A message that will not be sent becomes a draft again, before what was written since."""
        self._drafts.save_draft(key, "\n\n".join(filter(None, (text, self._drafts.draft(key)))))

    def _save_model(self) -> None:
        if self._workspace is not None:
            self._drafts.save_last_model(self._workspace.id, self._pane.composer.picker.model or "")
