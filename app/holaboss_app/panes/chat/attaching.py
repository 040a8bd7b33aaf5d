"""The files that will go with the next message: taken in, brought to the runtime, kept with the draft.

Files of this computer are read once and staged beside the workspace's own, so that a draft that is found again
tomorrow still has them; what is in the workspace already is only named. What cannot be attached is said at once, in
words, and nothing is left out silently. While the runtime is away files wait here, and are remembered by their paths
over the end of the program; a pasted picture becomes a file for that. What is taken out of a draft is deleted again.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QBuffer, QCoreApplication, QIODevice, QObject, Signal
from PySide6.QtGui import QImage, QPixmap

from holaboss_app.core.attachments import (
    MAX_FILE_BYTES,
    MAX_PICTURE_BYTES,
    MOST_FILES,
    in_workspace,
    is_blind,
    is_picture,
    readable_size,
)
from holaboss_app.core.models import short_name
from holaboss_app.panes.chat.conversation import Conversation
from holaboss_app.panes.chat.discards import Discards
from holaboss_app.panes.chat.drafts import DraftStore
from holaboss_app.panes.chat.file_chips import Face, face_of
from holaboss_app.panes.chat.pane import ChatPane
from holaboss_app.panes.chat.thumbnails import Thumbnails, read_picture, small
from holaboss_app.services.tasks import Tasks
from holaboss_app.services.waiting_files import WaitingFile
from holaboss_client.attachments import MessageAttachment, StagedAttachment
from holaboss_client.base import new_id
from holaboss_client.client import RuntimeClient
from holaboss_client.config import ProviderCatalogue
from holaboss_client.problems import ProblemError, RuntimeUnreachableError


@dataclass(slots=True, eq=False)
class Item:
    """One file. `file` is there once the runtime has it; until then `path` or `picture` says where it comes from.
    `kept` says that `path` is our own copy of what was pasted."""

    name: str
    size: int = 0
    path: Path | None = None
    picture: QImage | None = None
    file: MessageAttachment | None = None
    problem: str = ""
    kept: bool = False
    key: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class _Place:
    """A session and the folder of its workspace."""

    workspace_id: str
    session_id: str

    @property
    def draft_key(self) -> str:
        return f"{self.workspace_id}/{self.session_id}"


class Attaching(QObject):
    complained = Signal(str)
    """Something could not be attached, and why."""
    file_requested = Signal(str)
    """A person wants to see a file of the workspace, by its path."""

    def __init__(self, pane: ChatPane, drafts: DraftStore, thumbnails: Thumbnails, tasks: Tasks) -> None:
        super().__init__(pane)
        self._pane, self._drafts, self._tasks = pane, drafts, tasks
        self._thumbnails = thumbnails
        self._discards = Discards(drafts, tasks)
        self._client: RuntimeClient | None = None
        self._catalogue: ProviderCatalogue | None = None
        self._place: _Place | None = None
        self._root: Path | None = None
        self._items: dict[str, list[Item]] = {}
        self._one_at_a_time = asyncio.Lock()
        pane.files_offered.connect(self.add_files)
        pane.paths_offered.connect(self.add_paths)
        pane.picture_offered.connect(self.add_picture)
        pane.composer.files.removed.connect(self._remove)
        pane.composer.files.opened.connect(self._open)
        pane.composer.picker.model_changed.connect(self._say)
        thumbnails.arrived.connect(self._show_picture)

    # What the presenter tells

    def attach(self, client: RuntimeClient) -> None:
        """A runtime is there: what waits goes on."""
        self._client = client
        self._discards.attach(client)
        for key, items in self._items.items():
            workspace_id, _, session_id = key.partition("/")
            self._stage(_Place(workspace_id, session_id), items)
        self._show()

    def detach(self) -> None:
        self._client = None
        self._discards.detach()

    async def close(self) -> None:
        """Whatever would be lost with the program goes to the disk."""
        for key, items in self._items.items():
            for item in items:
                await self._set_down(key, item)

    def set_folder(self, path: str) -> None:
        """Where the workspace lies: files in it are named and not copied."""
        self._root = Path(path) if path else None

    def show(self, conversation: Conversation | None) -> None:
        """Another session is on screen, or none; its files come back with its draft."""
        self._place = None
        if conversation is not None:
            self._place = _Place(conversation.workspace_id, conversation.session_id)
            key = self._place.draft_key
            if key not in self._items:
                self._items[key] = self._remembered(key)
                self._stage(self._place, self._items[key])
        self._show()

    def set_catalogue(self, catalogue: ProviderCatalogue) -> None:
        """What is known of models: not all of them can look at pictures."""
        self._catalogue = catalogue
        self._say()

    def take(self) -> list[MessageAttachment]:
        """The files of a message that is being sent; they leave the composer."""
        files = [item.file for item in self._here if item.file is not None]
        self._keep([])
        return files

    def put_back(self, draft_key: str, files: Sequence[MessageAttachment]) -> None:
        """The files of a message that was not sent."""
        before = self._items.setdefault(draft_key, self._remembered(draft_key))
        known = {item.file.workspace_path for item in before if item.file is not None}
        again = [_ready(file) for file in files if file.workspace_path not in known]
        self._items[draft_key] = [*again, *before]
        self._save(draft_key)
        self._show()

    def throw_away(self, workspace_id: str, files: Iterable[MessageAttachment]) -> None:
        """The files of a message that nobody wants to send any more."""
        self._discards.add(workspace_id, files)

    # What a person does

    def add_files(self, names: Sequence[str]) -> None:
        """Attach files of this computer."""
        if self._place is not None:
            self._tasks.start(self._take_in(self._place, [Path(name) for name in names]))

    def add_paths(self, paths: Sequence[str]) -> None:
        """Attach what is in the workspace; folders end with a slash."""
        self._add(_ready(in_workspace(path)) for path in paths)

    def add_picture(self, picture: QImage) -> None:
        name = self.tr("Pasted picture") + ".png"
        self._add([Item(name, picture=picture)])

    def _open(self, key: str) -> None:
        for item in self._here:
            if item.key == key and item.file is not None and item.file.kind != "folder":
                self.file_requested.emit(item.file.workspace_path)

    def _remove(self, key: str) -> None:
        place, gone = self._place, [item for item in self._here if item.key == key]
        self._keep([item for item in self._here if item.key != key])
        for item in gone:
            if place is not None and item.file is not None:
                self.throw_away(place.workspace_id, [item.file])
            self._forget_copy(item)

    # Inside

    @property
    def _here(self) -> list[Item]:
        return self._items.get(self._place.draft_key, []) if self._place is not None else []

    def _remembered(self, draft_key: str) -> list[Item]:
        """The files of a draft as they were kept."""
        there = [_ready(file) for file in self._drafts.files(draft_key)]
        waiting = self._drafts.waiting(draft_key)
        return [*there, *(Item(file.name, path=file.path, kept=file.kept) for file in waiting)]

    async def _take_in(self, place: _Place, paths: list[Path]) -> None:
        """Look at files before they are listed: what can never be sent is not."""
        looked_at = await asyncio.to_thread(lambda: [_look_at(path, self._root) for path in paths])
        refused = [item for item in looked_at if item.problem]
        if refused:
            more = self.tr("%n more could not be attached.", "", len(refused) - 1) if len(refused) > 1 else ""
            self.complained.emit(" ".join(filter(None, (refused[0].problem, more))))
        if place == self._place:
            self._add(item for item in looked_at if not item.problem)

    def _add(self, items: Iterable[Item]) -> None:
        place = self._place
        if place is None:
            return
        here = self._here
        named = {item.file.workspace_path for item in here if item.file is not None}
        new = [item for item in items if item.file is None or item.file.workspace_path not in named]
        if len(here) + len(new) > MOST_FILES:
            sentence = self.tr("A message takes up to %1 files. Put more into a folder of the workspace.")
            self.complained.emit(sentence.replace("%1", str(MOST_FILES)))
            new = new[: MOST_FILES - len(here)]
        self._keep([*here, *new])
        self._stage(place, new)

    def _keep(self, items: list[Item]) -> None:
        if self._place is not None:
            self._items[self._place.draft_key] = items
            self._save(self._place.draft_key)
            self._show()

    def _save(self, draft_key: str) -> None:
        items = self._items.get(draft_key, [])
        waiting = [
            WaitingFile.at(item.path, item.name, kept=item.kept)
            for item in items
            if item.path is not None and _is_coming(item)
        ]
        self._drafts.save_files(draft_key, [item.file for item in items if item.file is not None], waiting)

    def _stage(self, place: _Place, items: Sequence[Item]) -> None:
        client = self._client
        for item in items:
            if _is_coming(item) and client is not None:
                self._tasks.start(self._bring(client, place, item))
            elif _is_coming(item):
                self._tasks.start(self._set_down(place.draft_key, item))

    async def _set_down(self, draft_key: str, item: Item) -> None:
        """Keep a picture that is only in memory as a file, until the runtime has it."""
        async with self._one_at_a_time:
            if (picture := item.picture) is None or item not in self._items.get(draft_key, []):
                return
            try:
                path = await asyncio.to_thread(lambda: self._drafts.pictures.keep(_png(picture)))
            except OSError:
                sentence = self.tr("%1 is lost if you quit before the runtime is back: it could not be kept.")
                self.complained.emit(sentence.replace("%1", item.name))
                return
            item.path, item.picture, item.kept = path, None, True
        if item not in self._items.get(draft_key, []):
            self._forget_copy(item)
        self._save(draft_key)

    def _forget_copy(self, item: Item) -> None:
        if item.kept and item.path is not None:
            self._drafts.pictures.drop(item.path)

    async def _bring(self, client: RuntimeClient, place: _Place, item: Item) -> None:
        """Read one file and hand it to the runtime. One at a time: each may fill much memory."""
        async with self._one_at_a_time:
            if item.file is not None or item not in self._items.get(place.draft_key, []):
                return
            try:
                content, thumbnail = await asyncio.to_thread(_content, item)
                staged = await client.stage_attachment(place.workspace_id, item.name, content)
            except FileNotFoundError:
                item.problem = self.tr("It is not there any more.")
            except OSError as error:
                item.problem = error.strerror or self.tr("It cannot be read.")
            except ProblemError as error:
                item.problem = str(error)
            except RuntimeUnreachableError:
                pass  # it is brought again when a runtime is there
            else:
                self._arrived(place, item, staged)
                self._thumbnails.keep(place.workspace_id, staged.workspace_path, thumbnail)
        await self._set_down(place.draft_key, item)
        self._save(place.draft_key)
        if item.problem:
            self.complained.emit(f"{item.name}: {item.problem}")
        self._show()

    def _arrived(self, place: _Place, item: Item, staged: StagedAttachment) -> None:
        """The runtime has a file now."""
        self._forget_copy(item)
        item.size, item.path, item.picture = staged.size, None, None
        item.file = MessageAttachment(
            workspace_path=staged.workspace_path, name=item.name, kind=staged.kind, size=staged.size
        )
        if item not in self._items.get(place.draft_key, []):  # it was removed while it was on its way
            self.throw_away(place.workspace_id, [item.file])

    def _show(self) -> None:
        """Bring the cards above the message up to date."""
        shelf = self._pane.composer.files
        shelf.show_faces([self._face(item) for item in self._here], {})
        for item in self._here:
            if item.file is not None and item.file.kind == "image":
                self._thumbnails.want(item.file.workspace_path)
        self._say()

    def _say(self) -> None:
        """Tell the composer what there is, and why it cannot go yet."""
        items = self._here
        coming = (
            self._client is not None and any(map(_is_coming, items)) and not any(x.problem for x in items)
        )
        self._pane.composer.set_files(len(items), self._obstacle(), coming=coming)

    def _obstacle(self) -> str:
        items, model = self._here, self._pane.composer.picker.model
        if any(item.problem for item in items):
            return self.tr("Remove the file that could not be attached.")
        if any(_is_coming(item) for item in items):
            waiting = self.tr("The files wait for the runtime.")
            return waiting if self._client is None else self.tr("Attaching…")
        if any(_is_picture(item) for item in items) and is_blind(self._catalogue, model):
            sentence = self.tr("%s cannot look at pictures. Choose another model, or remove them.")
            return sentence.replace("%s", short_name(model or ""))
        return ""

    def _face(self, item: Item) -> Face:
        if item.file is not None:
            face, detail = face_of(item.file), ""
            if item.file.kind == "image" and item.size > MAX_PICTURE_BYTES:
                detail = self.tr("%1, too large to be looked at").replace("%1", face.detail)
            return Face(item.key, face.name, detail or face.detail, face.kind, removable=True)
        kind = "image" if _is_picture(item) else "file"
        if item.problem:
            return Face(item.key, item.name, item.problem, kind, "failed", removable=True)
        words = self.tr("waits for the runtime") if self._client is None else self.tr("attaching…")
        return Face(item.key, item.name, words, kind, "busy", removable=True)

    def _show_picture(self, path: str, picture: QPixmap) -> None:
        for item in self._here:
            if item.file is not None and item.file.workspace_path == path:
                self._pane.composer.files.show_picture(item.key, picture)


def _is_coming(item: Item) -> bool:
    return item.file is None and not item.problem


def _is_picture(item: Item) -> bool:
    return is_picture(item.name) if item.file is None else item.file.kind == "image"


def _ready(file: MessageAttachment) -> Item:
    return Item(file.name, file.size, file=file)


def _look_at(path: Path, root: Path | None) -> Item:
    """What can be said of a file of this computer without reading it. `problem` says why it cannot be attached."""
    name = path.name.encode("utf-8", "replace").decode()
    try:
        info = path.stat()
        inside = _inside(path, root)
    except OSError as error:
        return Item(name, problem=f"{name}: {error.strerror}.")
    if inside is not None:
        found = in_workspace(f"{inside}/" if stat.S_ISDIR(info.st_mode) else inside)
        return _ready(found.model_copy(update={"size": info.st_size if found.kind != "folder" else 0}))
    if stat.S_ISDIR(info.st_mode):
        sentence = _tr("%1 is a folder. Attach its files, or move it into the workspace first.")
        return Item(name, problem=sentence.replace("%1", name))
    if not stat.S_ISREG(info.st_mode):
        return Item(name, problem=_tr("%1 is no ordinary file.").replace("%1", name))
    if info.st_size > MAX_FILE_BYTES:
        sentence = _tr("%1 is %2. A file can be attached up to %3.")
        words = (name, readable_size(info.st_size), readable_size(MAX_FILE_BYTES))
        for number, word in enumerate(words, start=1):
            sentence = sentence.replace(f"%{number}", word)
        return Item(name, problem=sentence)
    return Item(name, info.st_size, path)


def _inside(path: Path, root: Path | None) -> str | None:
    """How the workspace calls a file that lies in it; None for all others, also for its own state."""
    if root is None:
        return None
    try:
        relative = path.resolve().relative_to(root.resolve())
    except ValueError:
        return None
    if not relative.as_posix().isprintable():
        return None  # not every name can be written in a message; a copy gets one that can
    private = any(part.lower() in (".holaboss", ".openboa", ".git") for part in relative.parts)
    return None if private or not relative.parts else relative.as_posix()


def _content(item: Item) -> tuple[bytes, QImage]:
    """The bytes of a file, and a small picture of it where it is one. Raises `OSError`."""
    if item.picture is not None:
        return _png(item.picture), small(item.picture)
    assert item.path is not None
    if not stat.S_ISREG(item.path.stat().st_mode):  # it was looked at when it was chosen, perhaps days ago
        raise OSError(0, _tr("It is no ordinary file."))
    with item.path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise OSError(0, _tr("It has grown beyond what can be attached."))
    return content, read_picture(content) if is_picture(item.name) else QImage()


def _png(picture: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")  # pyright: ignore[reportArgumentType, reportCallIssue]
    return bytes(buffer.data().data())


def _tr(text: str) -> str:
    return QCoreApplication.translate("Attaching", text)
