"""The least that could do the same job, as child processes: a bare server and a bare window.

`python -m tests.bench.floors server` prints its port once it listens; `… window` prints the milliseconds from
the start of the process to its first paint, and quits.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

ROUTES = 110


def serve() -> None:
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Item(BaseModel):
        ok: bool = True

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    async def handler():  # noqa: ANN202 (a local class cannot stand in a postponed annotation)
        return Item()

    for path in ("/healthz", *(f"/api/v1/items/{number}" for number in range(1, ROUTES))):
        app.add_api_route(path, handler, response_model=Item)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None)
    uvicorn.Server(config).run(sockets=[listener])


def window() -> None:
    import httpx
    import qasync
    from PySide6.QtCore import QTimer
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

    class Surface(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:
            super().paintEvent(event)
            sys.stdout.write(f"{since_process_start_ms()}\n")
            sys.stdout.flush()
            QTimer.singleShot(0, app.quit)

    app = QApplication([])
    loop = qasync.QEventLoop(app)
    client = httpx.AsyncClient(trust_env=False)
    main = QMainWindow()
    main.setCentralWidget(Surface())
    main.resize(1200, 800)
    main.show()
    with loop:
        loop.run_forever()
        loop.run_until_complete(client.aclose())  # pyright: ignore[reportUnknownMemberType]


def since_process_start_ms() -> float:
    """From the kernel's own record, which counts in hundredths of a second."""
    started_ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 - started_ticks * 10


if __name__ == "__main__":
    {"server": serve, "window": window}[sys.argv[1]]()
