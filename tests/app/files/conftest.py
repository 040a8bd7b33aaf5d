"""A file pane over a fake runtime that holds files in memory."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex
from PySide6.QtWidgets import QPushButton

from holaboss_app.panes.files.editor import FileEditor
from holaboss_app.panes.files.pane import FilesPane
from holaboss_app.panes.files.presenter import FilesPresenter
from holaboss_client.base import utc_now
from holaboss_client.client import API, RuntimeClient
from holaboss_client.events import Change, ChangeEvent
from holaboss_client.workspaces import Workspace
from tests.app.conftest import QLoop

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            # The offscreen platform says so about every window with a smallest size; it means nothing here.
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints"))


def workspace(name: str, **changes: Any) -> Workspace:
    now = utc_now()
    values = {
        "id": name,
        "name": name,
        "status": "active",
        "harness": "native",
        "workspace_path": f"/w/{name}",
    }
    return Workspace.model_validate(values | {"created_at": now, "updated_at": now} | changes)


class FakeFiles:
    """`files` maps a path to bytes; `links` are listed and never read; answers wait for `gate`.

    Every workspace has the same files."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {
            "AGENTS.md": b"# Policy\n\nBe kind.\n",
            "workspace.yaml": b"name: demo\n",
            "notes/today.md": b"one\r\ntwo\r\n",
            "notes/deep/far.txt": b"far",
            "picture.png": b"\x89PNG\0",
        }
        self.links: set[str] = set()
        self.down = False
        self.calls: list[tuple[str, str]] = []
        self.gate: asyncio.Event | None = None
        self.before_write: Callable[[], None] = lambda: None

    def client(self) -> RuntimeClient:
        return RuntimeClient("http://127.0.0.1:1", "token", transport=httpx.MockTransport(self._answer))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.gate is not None:
            await self.gate.wait()
        _, _, name, kind, *rest = request.url.path.removeprefix(API).split("/")
        path = request.url.params.get("path", "/".join(rest))
        self.calls.append((request.method, f"{name}:{path}"))
        if self.down:
            raise httpx.ConnectError("down")
        if kind == "folders":
            return httpx.Response(200, json=self._folder(path))
        if request.method == "PUT":
            return self._write(path, json.loads(request.content))
        return self._read(path)

    def _folder(self, path: str) -> dict[str, Any]:
        prefix = f"{path}/" if path else ""
        rows: dict[str, dict[str, Any]] = {}
        for file in [*self.files, *self.links]:
            if file.startswith(prefix):
                name, _, below = file.removeprefix(prefix).partition("/")
                kind = "folder" if below else "link" if file in self.links else "file"
                size = 0 if below else len(self.files.get(file, b""))
                rows[name] = {
                    "name": name,
                    "path": prefix + name,
                    "kind": kind,
                    "size": size,
                    "modified_at": utc_now(),
                }
        ordered = sorted(rows.values(), key=lambda row: (row["kind"] != "folder", row["name"].casefold()))
        return {"path": path, "entries": ordered}

    def _read(self, path: str) -> httpx.Response:
        if path not in self.files:
            return _problem(404, "file_not_found", f"There is no file {path!r} in this workspace.")
        content = self.files[path]
        encoding, text = "utf-8", ""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            encoding, text = "base64", base64.b64encode(content).decode()
        body = {
            "path": path,
            "content": text,
            "encoding": encoding,
            "size": len(content),
            "sha256": _sha(content),
        }
        return httpx.Response(200, json=body)

    def _write(self, path: str, body: dict[str, Any]) -> httpx.Response:
        self.before_write()
        found = _sha(self.files[path]) if path in self.files else ""
        if body["expected_sha256"] != found:
            return _problem(409, "file_changed", f"{path!r} has changed.")
        self.files[path] = base64.b64decode(body["content_base64"])
        return httpx.Response(200, json={"path": path, "sha256": _sha(self.files[path])})


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _problem(status: int, code: str, detail: str) -> httpx.Response:
    return httpx.Response(status, json={"title": "Refused", "status": status, "code": code, "detail": detail})


class Shelf:
    """Everything of one file pane, with the few gestures that most tests make."""

    def __init__(self, qloop: QLoop) -> None:
        self.qloop = qloop
        self.runtime = FakeFiles()
        self.errors: list[BaseException] = []
        self.pane = FilesPane()
        self.presenter = FilesPresenter(self.pane, self.errors.append)
        self._client: RuntimeClient | None = None

    def open(self, space: Workspace | None = None) -> None:
        """Show the pane with a workspace and a runtime."""
        self.do(lambda: (self.pane.resize(320, 800), self.pane.show()))
        self.attach()
        self.switch(space or workspace("one"))

    def attach(self) -> None:
        self._client = self._client or self.runtime.client()
        client = self._client
        self.do(lambda: self.presenter.attach(client))

    def switch(self, space: Workspace | None) -> None:
        async def run() -> None:
            await self.presenter.show_workspace(space)
            await self.settle()

        self.qloop.run(run())

    async def settle(self) -> None:
        """Wait until nothing that the pane started still runs."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    def do(self, gesture: Callable[[], object]) -> None:
        """Make a gesture on the loop and wait for everything it started."""

        async def run() -> None:
            gesture()
            await self.settle()

        self.qloop.run(run())

    def rows(self, path: str = "") -> list[str]:
        """The names in a loaded folder."""
        model, parent = self.pane.model, self.pane.model.index_of(path)
        return [model.entry(model.index(row, 0, parent)).name for row in range(model.rowCount(parent))]

    def expand(self, path: str) -> None:
        tree = self.pane.tree
        # The view lays its rows out when it is idle; here that must have happened on the running loop.
        self.do(tree.doItemsLayout)
        self.do(lambda: (tree.expand(self.pane.model.index_of(path)), tree.doItemsLayout()))

    def activate(self, path: str) -> None:
        index = self.pane.model.index_of(path)
        assert index != QModelIndex(), path
        self.do(lambda: self.pane.tree.activated.emit(index))

    def changed(self, *paths: str, kind: Change = Change.FILES, space: str = "one") -> None:
        event = ChangeEvent(
            id=1, kind=kind, workspace_id=space, created_at=utc_now(), payload={"paths": list(paths)}
        )
        self.do(lambda: self.presenter.on_change(event))

    @property
    def editor(self) -> FileEditor:
        editor = self.pane.tabs.currentWidget()
        assert isinstance(editor, FileEditor)
        return editor

    def type(self, text: str) -> None:
        """Replace the text of the open file as typing would."""
        self.editor.area.selectAll()
        self.do(lambda: self.editor.area.insertPlainText(text))

    def click(self, name: str) -> None:
        button = self.editor.findChild(QPushButton, name)
        assert button is not None
        assert button.isVisibleTo(self.editor), name
        self.do(button.click)

    async def _close(self) -> None:
        await self.presenter.close()
        if self._client is not None:
            await self._client.aclose()

    def close(self) -> None:
        self.qloop.run(self._close())
        self.pane.close()
        self.pane.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert self.errors == []


@pytest.fixture
def shelf(qloop: QLoop) -> Iterator[Shelf]:
    shelf = Shelf(qloop)
    yield shelf
    shelf.close()
