"""Everything unexpected reaches one log and one reporter."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import qWarning

from holaboss_app.services.diagnostics import Diagnostics
from tests.app.conftest import QLoop


@pytest.mark.allow_log("holaboss_app", "")
def test_all_roads_lead_to_the_log(qloop: QLoop, tmp_path: Path) -> None:
    diagnostics = Diagnostics(tmp_path)
    told: list[str] = []
    diagnostics.on_error = lambda error: told.append(str(error))
    previous = sys.excepthook
    try:
        sys.excepthook(ValueError, ValueError("from a slot"), None)
        qWarning("from Qt")

        def fails() -> None:
            raise ValueError("from a thread")

        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()

        async def scenario() -> None:
            loop = asyncio.get_running_loop()
            diagnostics.watch(loop)
            loop.call_exception_handler({"message": "m", "exception": ValueError("from a task")})
            loop.set_exception_handler(None)

        qloop.run(scenario())
    finally:
        diagnostics.close()
    log = (tmp_path / "desktop.log").read_text()
    for words in ("from a slot", "from Qt", "from a thread", "from a task"):
        assert words in log
    assert told == ["from a slot", "from a task"]
    assert sys.excepthook is not previous
    assert (tmp_path / "desktop.log").stat().st_mode & 0o777 == 0o600


def test_a_crash_of_the_last_run_is_found(tmp_path: Path) -> None:
    (tmp_path / "crash.log").write_text("Fatal Python error")
    diagnostics = Diagnostics(tmp_path)
    assert diagnostics.crashed_before
    assert (tmp_path / "crash.previous.log").read_text() == "Fatal Python error"
    diagnostics.close()
    assert not (tmp_path / "crash.log").exists()
