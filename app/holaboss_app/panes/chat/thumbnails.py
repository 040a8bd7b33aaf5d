"""Small pictures for the cards of files: made from what is at hand, or asked of the runtime once and kept.

Pictures are decoded off the loop, never larger than a card needs them, and a file that is no picture is remembered as
one without.
"""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QPixmap

from holaboss_app.services.tasks import Tasks
from holaboss_client.client import RuntimeClient
from holaboss_client.problems import ProblemError, RuntimeUnreachableError

SIDE = 128
"""Pixels of the shorter side: a card at 200 % on a dense screen."""
_KEPT = 200
_MOST_PIXELS_MB = 128


class Thumbnails(QObject):
    arrived = Signal(str, QPixmap)
    """The path of a file of the workspace on screen, and its picture."""

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._client: RuntimeClient | None = None
        self._workspace_id = ""
        self._kept: OrderedDict[tuple[str, str], QPixmap] = OrderedDict()
        self._asked: set[tuple[str, str]] = set()
        self._one_at_a_time = asyncio.Lock()

    def attach(self, client: RuntimeClient) -> None:
        self._client = client

    def detach(self) -> None:
        self._client = None

    def show(self, workspace_id: str) -> None:
        """Paths are those of this workspace from now on."""
        self._workspace_id = workspace_id

    def keep(self, workspace_id: str, path: str, image: QImage) -> None:
        """What a file looks like is known already."""
        self._remember((workspace_id, path), image)

    def want(self, path: str) -> None:
        """Have `arrived` say what a file looks like: now, or once the runtime has answered."""
        key = (self._workspace_id, path)
        if (known := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            if not known.isNull():
                self.arrived.emit(path, known)
        elif key not in self._asked and self._client is not None:
            self._asked.add(key)
            self._tasks.start(self._fetch(self._client, key))

    async def _fetch(self, client: RuntimeClient, key: tuple[str, str]) -> None:
        try:
            async with self._one_at_a_time:
                content = await client.file(*key)
                data = content.content if content.encoding == "base64" else ""
                image = await asyncio.to_thread(_decoded, data)
        except ProblemError:
            image = QImage()
        except RuntimeUnreachableError:
            return
        finally:
            self._asked.discard(key)
        self._remember(key, image)
        if key[0] == self._workspace_id and not image.isNull():
            self.arrived.emit(key[1], self._kept[key])

    def _remember(self, key: tuple[str, str], image: QImage) -> None:
        self._kept[key] = QPixmap.fromImage(small(image))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def small(image: QImage) -> QImage:
    """The middle of a picture, as a square of at most `SIDE` pixels."""
    side = min(image.width(), image.height())
    if image.isNull():
        return image
    square = image.copy((image.width() - side) // 2, (image.height() - side) // 2, side, side)
    if side <= SIDE:
        return square
    return square.scaled(
        QSize(SIDE, SIDE), Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )


def read_picture(content: bytes) -> QImage:
    """A small picture of an image file; a null one when it is none or would take too much memory."""
    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if not size.isValid() or size.width() * size.height() * 4 > _MOST_PIXELS_MB << 20:
        return QImage()
    return small(reader.read())


def _decoded(text: str) -> QImage:
    return read_picture(base64.b64decode(text)) if text else QImage()
