"""One window per profile: a second start asks the first to come forward, and ends."""

from __future__ import annotations

import getpass
import hashlib
from contextlib import suppress
from functools import partial

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from holaboss_app.services.profile import Profile

COME_FORWARD = b"come-forward 1\n"
ANSWER_MS = 1_000


class SingleInstance(QObject):
    """Call `acquire` once. The lock file protects the data even where no socket can be made."""

    activated = Signal()
    """Another start asked this one to show itself."""

    def __init__(self, profile: Profile, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = QLockFile(str(profile.data_dir / "desktop.lock"))
        self._lock.setStaleLockTime(0)  # stale only when its process is gone, never by age
        identity = f"{_user()}:{profile.data_dir}"
        self._name = f"holaboss-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        self._server: QLocalServer | None = None

    def acquire(self) -> bool:
        """True when this is the first; otherwise the first one was asked to come forward."""
        if not self._lock.tryLock(0):
            self._knock()
            return False
        QLocalServer.removeServer(self._name)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._visited)
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._lock.unlock()

    def _knock(self) -> None:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if socket.waitForConnected(ANSWER_MS):
            socket.write(COME_FORWARD)
            socket.waitForBytesWritten(ANSWER_MS)
            socket.disconnectFromServer()

    def _visited(self) -> None:
        """A visitor belongs to the server and goes with it; there are as many as there were second starts."""
        if self._server is not None:
            visitor = self._server.nextPendingConnection()
            visitor.readyRead.connect(partial(self._heard, visitor))
            if visitor.bytesAvailable():
                self._heard(visitor)

    def _heard(self, visitor: QLocalSocket) -> None:
        # Anything else than the one known word is ignored: whoever can connect can at most raise a window.
        if bytes(visitor.readAll().data()).startswith(COME_FORWARD):
            self.activated.emit()


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return "user"
