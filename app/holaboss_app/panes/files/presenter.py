"""Connects the file pane to the runtime: folders on demand, files opened, saved and kept in step with the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from holaboss_app.panes.files.document import Document, may_be_picture, opened, refusal
from holaboss_app.panes.files.editor import FileEditor
from holaboss_app.panes.files.pane import FilesPane
from holaboss_app.panes.files.picture import PictureView, decoded
from holaboss_app.services.tasks import Report, Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from holaboss_client.workspaces import FileContent, FileEntry, Workspace

EXPECTED_ERRORS = (ProblemError, RuntimeUnreachableError)
SAVING_LIMIT_S = 2.0


class FilesPresenter(QObject):
    """Unsaved text survives everything but the end of the program: a restart of the runtime, and other workspaces
    being looked at meanwhile."""

    def __init__(self, pane: FilesPane, report: Report) -> None:
        super().__init__(pane)
        self._pane = pane
        self._tasks = Tasks(report)
        self._client: RuntimeClient | None = None
        self._workspace: Workspace | None = None
        self._editors: dict[str, FileEditor] = {}
        self._pictures: dict[str, PictureView] = {}
        self._kept: dict[str, list[tuple[Document, str]]] = {}
        self._saves: set[asyncio.Task[None]] = set()
        pane.model.folder_wanted.connect(self._folder_wanted)
        pane.entry_activated.connect(self._open_entry)
        pane.close_requested.connect(self._close_path)
        pane.refresh_requested.connect(self._refresh)
        pane.returned.connect(self._refresh)
        self._show_nothing()

    # What the shell tells

    def attach(self, client: RuntimeClient) -> None:
        self._client = client
        self._pane.say("")
        self._refresh()

    def detach(self, reason: str) -> None:
        """The runtime is gone; the window says why. The tree and every open file stay as they are."""
        self._client = None

    async def show_workspace(self, workspace: Workspace | None) -> None:
        """Put the open files of the old workspace aside, take those of the new one out, and read its folder."""
        if self._saves:
            await asyncio.wait(self._saves, timeout=SAVING_LIMIT_S)
        self._put_aside()
        self._workspace = workspace
        self._pane.model.clear()
        self._pane.say("")
        if workspace is None or workspace.folder_state != "healthy":
            self._show_nothing()
            return
        self._pane.show_empty("")
        for document, text in self._kept.pop(workspace.id, []):
            self._add(document, text)
        self._check_open(self._open_paths())
        if self._client is not None:
            await self._load_folder("")

    def on_change(self, event: ChangeEvent) -> None:
        if event.kind == Change.RESET:
            self._refresh()
        elif event.kind == Change.FILES and self._workspace and event.workspace_id == self._workspace.id:
            paths = cast("list[str]", event.payload.get("paths") or [])
            self._pane.model.reload(paths)
            self._check_open([path for path in self._open_paths() if not paths or path in paths])

    def open_path(self, path: str) -> None:
        """Show a file that something else speaks of, and where it is in the tree; a folder is opened there."""
        self._start(self._find_and_open(path), "find")

    def unsaved(self) -> list[str]:
        """Paths with text that is not saved, of every workspace; what a question before quitting would name."""
        here = [path for path, editor in self._editors.items() if editor.dirty]
        aside = [item for items in self._kept.values() for item in items]
        return here + [document.path for document, text in aside if text != document.text]

    async def close(self) -> None:
        if self._saves:
            await asyncio.wait(self._saves, timeout=SAVING_LIMIT_S)
        await self._tasks.close()

    # The tree

    def _refresh(self) -> None:
        if self._client is not None and self._workspace is not None and not self._is_missing():
            self._pane.model.reload()
            self._check_open(self._open_paths())

    def _folder_wanted(self, path: str) -> None:
        self._start(self._load_folder(path), f"folder/{path}")

    async def _load_folder(self, path: str) -> None:
        workspace, client, model = self._workspace, self._client, self._pane.model
        if workspace is None or client is None:
            model.folder_failed(path)
            return
        try:
            listing = await client.folder(workspace.id, path)
        except EXPECTED_ERRORS as error:
            model.folder_failed(path)
            if self._workspace is workspace and not _is_gone(error):
                self._pane.say(_sentence(self, error))
            return
        if self._workspace is not workspace:
            return
        model.set_folder(listing)
        if path == "":
            self._pane.show_empty("" if listing.entries else self.tr("This workspace has no files yet."))
        if listing.truncated:
            self._pane.say(self.tr("{path} holds more files than can be listed.").format(path=path or "/"))

    async def _find_and_open(self, path: str) -> None:
        workspace = self._workspace
        if was_open := path in self._open_paths():  # it need not wait until it is found in the tree
            self._open_file(path)
        await self._load_way_to(path)
        if self._workspace is not workspace:
            return
        index = self._pane.model.index_of(path)
        if index.isValid():
            self._pane.reveal(index)
        if index.isValid() and self._pane.model.entry(index).kind == "folder":
            self._pane.tree.expand(index)
            self._pane.tree.setFocus()
        elif not was_open:
            self._open_file(path)

    async def _load_way_to(self, path: str) -> None:
        """Read the folders above a path that the tree does not know, from the top; what was just made may be in one
        that was read before. Some paths are in no listing: what was sent with a message is not."""
        names = path.split("/")
        for depth in range(len(names)):
            if self._pane.model.index_of("/".join(names[: depth + 1])).isValid():
                continue
            await self._load_folder("/".join(names[:depth]))
            if not self._pane.model.index_of("/".join(names[: depth + 1])).isValid():
                return

    # Opening and following

    def _open_entry(self, entry: FileEntry) -> None:
        self._pane.say("")
        if (reason := refusal(entry)) is not None:
            self._pane.say(f"{entry.name}: {reason}")
        else:
            self._open_file(entry.path)

    def _open_file(self, path: str) -> None:
        self._pane.say("")
        if (view := self._editors.get(path) or self._pictures.get(path)) is not None:
            self._pane.show_tab(view)
        else:
            self._start(self._open(path), "open")

    async def _open(self, path: str) -> None:
        workspace, name = self._workspace, path.rpartition("/")[2]
        try:
            content = await self._read(path)
        except EXPECTED_ERRORS as error:
            self._pane.say(f"{name}: {_sentence(self, error)}")
            return
        image = await asyncio.to_thread(decoded, content) if may_be_picture(content) else None
        if self._workspace is not workspace:
            return
        if image is not None and not image.isNull():
            self._show_picture(image, content)
        elif isinstance(document := opened(content), str):
            self._pane.say(f"{name}: {document}")
        else:
            self._pane.show_tab(self._add(document, None))

    def _show_picture(self, image: QImage, content: FileContent) -> None:
        view = self._pictures[content.path] = PictureView(content.path)
        view.load(image, content)
        self._pane.add_picture(view)
        self._pane.show_tab(view)

    def _open_paths(self) -> list[str]:
        return [*self._editors, *self._pictures]

    def _check_open(self, paths: list[str]) -> None:
        """Compare open files with the disk."""
        if self._client is not None:
            for path in paths:
                picture = self._pictures.get(path)
                check = self._check(self._editors[path]) if picture is None else self._look_again(picture)
                self._start(check, f"check/{path}")

    async def _check(self, editor: FileEditor) -> None:
        path = editor.document.path
        try:
            content = await self._read(path)
        except EXPECTED_ERRORS as error:
            if _is_gone(error) and self._is_open(editor):
                editor.gone()
            return
        if self._is_open(editor) and content.sha256 != editor.document.sha256:
            self._take_change(editor, content)

    async def _look_again(self, view: PictureView) -> None:
        """A picture follows its file."""
        try:
            content = await self._read(view.path)
        except EXPECTED_ERRORS as error:
            if _is_gone(error) and self._pictures.get(view.path) is view:
                view.gone()
            return
        if content.sha256 == view.sha256 or not may_be_picture(content):
            return
        image = await asyncio.to_thread(decoded, content)
        if not image.isNull() and self._pictures.get(view.path) is view:
            view.load(image, content)

    def _take_change(self, editor: FileEditor, content: FileContent) -> None:
        """Somebody else wrote the file: follow, unless there is something to lose."""
        theirs = opened(content)
        if isinstance(theirs, str):
            editor.meet(None, content.sha256)
        elif not editor.dirty or theirs.text == editor.text:
            editor.load(theirs)
        else:
            editor.meet(theirs, content.sha256)

    # Saving and closing

    def _save(self, editor: FileEditor, *, expected: str | None = None, close: bool = False) -> None:
        """`expected` is the digest the file must still have; without it, the one the editor was given."""
        digest = editor.document.sha256 if expected is None else expected
        task = self._tasks.start(self._saving(editor, digest, close))
        self._saves.add(task)
        task.add_done_callback(self._saves.discard)

    async def _saving(self, editor: FileEditor, expected: str, close: bool) -> None:
        editor.saving()
        document, text, workspace = editor.document, editor.text, self._workspace
        try:
            client = self._runtime()
            assert workspace is not None
            content = document.encode(text)
            await client.put_file(workspace.id, document.path, content, expected_sha256=expected)
        except EXPECTED_ERRORS as error:
            await self._save_refused(editor, error)
            return
        if self._is_open(editor):
            editor.saved(document.saved_as(text))
            if close and not editor.dirty:
                self._close(editor)

    async def _save_refused(self, editor: FileEditor, error: Exception) -> None:
        if isinstance(error, ProblemError) and error.problem.code == "file_changed":
            await self._meet(editor)
        elif self._is_open(editor):
            editor.failed(_sentence(self, error))

    async def _meet(self, editor: FileEditor) -> None:
        """The save was refused because the file changed: show with what."""
        try:
            content = await self._read(editor.document.path)
        except EXPECTED_ERRORS as error:
            if self._is_open(editor):
                editor.gone() if _is_gone(error) else editor.failed(_sentence(self, error))
            return
        if self._is_open(editor):
            self._take_change(editor, content)

    def _close_path(self, path: str) -> None:
        if (picture := self._pictures.pop(path, None)) is not None:
            self._tasks.cancel(f"check/{path}")
            self._pane.remove_tab(picture)
            return
        editor = self._editors[path]
        if editor.dirty:
            self._pane.show_tab(editor)
            editor.ask_to_close()
        else:
            self._close(editor)

    def _close(self, editor: FileEditor) -> None:
        self._tasks.cancel(f"check/{editor.document.path}")
        if self._editors.pop(editor.document.path, None) is not None:
            self._pane.remove_tab(editor)

    def _add(self, document: Document, text: str | None) -> FileEditor:
        editor = self._editors[document.path] = FileEditor(document, text)
        editor.save_requested.connect(lambda: self._save(editor))
        editor.overwrite_requested.connect(lambda: self._save(editor, expected=editor.theirs_sha256))
        editor.save_and_close_requested.connect(lambda: self._save(editor, close=True))
        editor.close_confirmed.connect(lambda: self._close(editor))
        self._pane.add_editor(editor)
        return editor

    def _put_aside(self) -> None:
        """Remember the open files of the workspace that is left, with what was typed in them."""
        if self._workspace is not None and self._editors:
            self._kept[self._workspace.id] = [(one.document, one.text) for one in self._editors.values()]
        for editor in list(self._editors.values()):
            self._close(editor)
        for path in list(self._pictures):
            self._close_path(path)

    # Inside

    def _is_open(self, editor: FileEditor) -> bool:
        """False once its tab was closed or its workspace left: then it must not be touched any more."""
        return self._editors.get(editor.document.path) is editor

    def _runtime(self) -> RuntimeClient:
        if self._client is None:
            raise RuntimeUnreachableError("The runtime is not running.")
        return self._client

    async def _read(self, path: str) -> FileContent:
        if self._workspace is None:
            raise RuntimeUnreachableError("No workspace is open.")
        return await self._runtime().file(self._workspace.id, path)

    def _start(self, coroutine: Coroutine[Any, Any, None], key: str) -> None:
        self._tasks.start(coroutine, key=key)

    def _is_missing(self) -> bool:
        return self._workspace is not None and self._workspace.folder_state != "healthy"

    def _show_nothing(self) -> None:
        if self._workspace is None:
            self._pane.show_empty(self.tr("Open a workspace to see its files."))
        else:
            words = self.tr("The folder of this workspace is missing: {path}")
            self._pane.show_empty(words.format(path=self._workspace.workspace_path))


def _is_gone(error: BaseException) -> bool:
    return isinstance(error, ProblemError) and error.problem.status == 404


def _sentence(owner: QObject, error: BaseException) -> str:
    if isinstance(error, RuntimeUnreachableError):
        return owner.tr("The runtime does not answer right now. Nothing was changed; try again in a moment.")
    return str(error)
