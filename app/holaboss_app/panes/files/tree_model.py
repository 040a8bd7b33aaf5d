"""The tree of a workspace's files as an item model that knows only the folders someone has opened.

It asks for a folder through `folder_wanted` and is told through `set_folder`; a reload changes only the rows
that differ, so that expanded folders and the selection stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from holaboss_app.core.attachments import PATHS_MIME, readable_size
from holaboss_app.theme.icons import icon
from holaboss_client.workspaces import FileEntry, FolderListing

Index = QModelIndex | QPersistentModelIndex

ENTRY_ROLE = Qt.ItemDataRole.UserRole


class Loading(IntEnum):
    NOT_ASKED = 0
    ASKED = 1
    DONE = 2


@dataclass(eq=False, slots=True)
class Node:
    """One row. `children` of a folder are in the order the runtime lists them."""

    entry: FileEntry
    parent: Node | None = None
    children: list[Node] = field(default_factory=list["Node"])
    loading: Loading = Loading.NOT_ASKED

    @property
    def row(self) -> int:
        return 0 if self.parent is None else self.parent.children.index(self)


class FileTreeModel(QAbstractItemModel):
    """One column, lazily filled. `ENTRY_ROLE` gives the `FileEntry` of an index."""

    folder_wanted = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = _root()

    def clear(self) -> None:
        """Forget everything; nothing is asked for until `reload`."""
        self.beginResetModel()
        self._root = _root()
        self.endResetModel()

    def reload(self, paths: list[str] | None = None) -> None:
        """Ask again for the loaded folders that show one of `paths`; for all of them without paths."""
        wanted = self.loaded_folders() or [""]
        if paths:
            loaded = set(wanted)
            changed = {_nearest(path, loaded) for path in paths} | set(paths)
            wanted = [folder for folder in wanted if folder in changed]
        for folder in wanted:
            self.folder_wanted.emit(folder)

    def loaded_folders(self) -> list[str]:
        return [node.entry.path for node in _walk(self._root) if node.loading is Loading.DONE]

    def set_folder(self, listing: FolderListing) -> None:
        """Take a listing over. A folder that is gone meanwhile is ignored."""
        node = self._find(listing.path)
        if node is None:
            return
        node.loading = Loading.DONE
        parent = self._index(node)
        self._remove_vanished(node, {(entry.name, entry.kind) for entry in listing.entries}, parent)
        for row, entry in enumerate(listing.entries):
            if row < len(node.children) and node.children[row].entry.name == entry.name:
                node.children[row].entry = entry
            else:
                self.beginInsertRows(parent, row, row)
                node.children.insert(row, Node(entry, node))
                self.endInsertRows()
        self._cut(node, len(listing.entries), parent)
        if node.children:
            last = len(node.children) - 1
            self.dataChanged.emit(self.index(0, 0, parent), self.index(last, 0, parent))

    def folder_failed(self, path: str) -> None:
        """The listing did not come: the folder may be asked for again."""
        if (node := self._find(path)) is not None and node.loading is Loading.ASKED:
            node.loading = Loading.NOT_ASKED

    def index_of(self, path: str) -> QModelIndex:
        """The index of a loaded path, or an invalid one."""
        node = self._find(path)
        return QModelIndex() if node is None else self._index(node)

    def entry(self, index: Index) -> FileEntry:
        return self._node(index).entry

    # QAbstractItemModel

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        children = self._node(parent).children
        if column != 0 or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        node = self._node(index).parent
        return QModelIndex() if node is None else self._index(node)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._node(parent).children)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 1

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        node = self._node(parent)
        return node.entry.kind == "folder" and (node.loading is not Loading.DONE or bool(node.children))

    def canFetchMore(self, parent: Index) -> bool:
        node = self._node(parent)
        return node is not self._root and node.entry.kind == "folder" and node.loading is Loading.NOT_ASKED

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            node = self._node(parent)
            node.loading = Loading.ASKED
            self.folder_wanted.emit(node.entry.path)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401
        if not index.isValid():
            return None
        entry = self._node(index).entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.name
        if role == Qt.ItemDataRole.DecorationRole:
            return icon("folder" if entry.kind == "folder" else "file")
        if role == Qt.ItemDataRole.ToolTipRole:
            return entry.path if entry.kind == "folder" else f"{entry.path} — {readable_size(entry.size)}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{entry.name}, {self._spoken(entry)}"
        return entry if role == ENTRY_ROLE else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        is_folder = self._node(index).entry.kind == "folder"
        if is_folder or self._node(index).entry.kind == "file":
            flags |= Qt.ItemFlag.ItemIsDragEnabled
        return flags if is_folder else flags | Qt.ItemFlag.ItemNeverHasChildren

    def mimeTypes(self) -> list[str]:
        return [PATHS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """What is dragged out of the tree: paths, to be named in a message."""
        entries = [self.entry(index) for index in indexes]
        lines = [f"{entry.path}/" if entry.kind == "folder" else entry.path for entry in entries]
        data = QMimeData()
        data.setData(PATHS_MIME, "\n".join(lines).encode("utf-8", "replace"))
        return data

    def supportedDragActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction

    # Nodes

    def _spoken(self, entry: FileEntry) -> str:
        kinds = {"folder": self.tr("folder"), "link": self.tr("link")}
        return kinds.get(entry.kind, self.tr("file"))

    def _remove_vanished(self, node: Node, kept: set[tuple[str, str]], parent: QModelIndex) -> None:
        """A row whose kind changed goes too: it comes back as a new one."""
        for row in range(len(node.children) - 1, -1, -1):
            entry = node.children[row].entry
            if (entry.name, entry.kind) not in kept:
                self.beginRemoveRows(parent, row, row)
                del node.children[row]
                self.endRemoveRows()

    def _cut(self, node: Node, length: int, parent: QModelIndex) -> None:
        """Drop what a differently sorted listing would leave behind."""
        if len(node.children) > length:
            self.beginRemoveRows(parent, length, len(node.children) - 1)
            del node.children[length:]
            self.endRemoveRows()

    def _node(self, index: Index) -> Node:
        return index.internalPointer() if index.isValid() else self._root

    def _index(self, node: Node) -> QModelIndex:
        return QModelIndex() if node is self._root else self.createIndex(node.row, 0, node)

    def _find(self, path: str) -> Node | None:
        node = self._root
        for name in path.split("/") if path else []:
            found = next((child for child in node.children if child.entry.name == name), None)
            if found is None:
                return None
            node = found
        return node


def _nearest(path: str, loaded: set[str]) -> str:
    """The loaded folder in which a change of `path` shows: a file in a new folder shows as that folder, further up."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in loaded:
            break
    return folder


def _root() -> Node:
    return Node(FileEntry(name="", path="", kind="folder", size=0, modified_at=""))


def _walk(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _walk(child))]
