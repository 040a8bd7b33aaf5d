"""Where everything unexpected ends up: one log file, one reporter, and a sentence for the window.

Four roads lead here: `sys.excepthook`, other threads, the event loop and Qt's own messages. Nothing is ever
sent anywhere. A crash of the interpreter itself leaves its stack in `crash.log`, which the next start
finds.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

LOG_FILES, LOG_BYTES = 5, 5 * 1024 * 1024
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
_log = logging.getLogger("holaboss_app")
_qt_log = logging.getLogger("holaboss_app.qt")


class Diagnostics:
    """Create early, `close` last. `on_error` is called on the GUI thread with what was reported."""

    def __init__(self, log_dir: Path, level: str = "INFO") -> None:
        self.log_file = log_dir / "desktop.log"
        self.on_error: Callable[[BaseException], None] | None = None
        self._crash_path = log_dir / "crash.log"
        self.crashed_before = self._crash_path.exists() and self._crash_path.stat().st_size > 0
        if self.crashed_before:
            self._crash_path.replace(log_dir / "crash.previous.log")
        # Plain `open`: it takes the descriptor, which was created private and stays open for ever.
        self._crash_file = open(_private(self._crash_path), "wb", buffering=0)  # noqa: SIM115
        faulthandler.enable(self._crash_file)
        self._handler = _PrivateHandler(self.log_file, maxBytes=LOG_BYTES, backupCount=LOG_FILES - 1)
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logging.getLogger().addHandler(self._handler)
        _log.setLevel(level)
        self._hooks = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._raised
        threading.excepthook = self._raised_in_thread
        self._qt_handler = qInstallMessageHandler(_qt_said)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Report what tasks of `loop` raise when nobody awaits them."""
        loop.set_exception_handler(self._raised_in_loop)

    def report(self, error: BaseException) -> None:
        """Log an error with its stack, and let the window know. A runtime that is away is no error of
        ours."""
        from holaboss_client.problems import RuntimeUnreachableError

        if isinstance(error, RuntimeUnreachableError):
            _log.info("%s", error)
        else:
            _log.error("%s", error or type(error).__name__, exc_info=error)
        if self.on_error is not None:
            self.on_error(error)

    def close(self) -> None:
        sys.excepthook, threading.excepthook = self._hooks
        qInstallMessageHandler(self._qt_handler)
        logging.getLogger().removeHandler(self._handler)
        self._handler.close()
        faulthandler.disable()
        self._crash_file.close()
        self._crash_path.unlink(missing_ok=True)

    def _raised(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._hooks[0](kind, error, trace)
            return
        self.report(error.with_traceback(trace))

    def _raised_in_thread(self, happened: threading.ExceptHookArgs) -> None:
        error = happened.exc_value or RuntimeError(happened.exc_type.__name__)
        _log.error("in thread %s", happened.thread and happened.thread.name, exc_info=error)

    def _raised_in_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.report(error)
        else:
            _log.error("event loop: %s", context.get("message"))


class _PrivateHandler(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return open(_private(Path(self.baseFilename)), "a", encoding="utf-8")


def _private(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o600)


def _qt_said(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
    _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", message)
