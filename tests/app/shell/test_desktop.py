"""The whole desktop in this process over a real runtime: first start, a killed runtime, the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, SignalInstance
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

from holaboss_app.application import unusable
from holaboss_app.desktop import Desktop
from holaboss_app.panes.settings.page import SettingsPage
from holaboss_app.services.diagnostics import Diagnostics
from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_supervisor import RuntimeState, Stage
from holaboss_app.services.watched_transport import SILENT_AFTER_S
from holaboss_app.shell.main_window import Page
from tests.app.conftest import QLoop
from tests.support.processes import wait_until_gone

REPOSITORY = Path(__file__).parents[3]


def press(desktop: Desktop, name: str) -> None:
    found = desktop.window.findChild(QPushButton, name)
    assert found is not None, name
    found.click()


class Stages:
    """Follows the supervisor of a desktop."""

    def __init__(self, desktop: Desktop) -> None:
        self._supervisor = desktop.supervisor
        self._changed = asyncio.Event()
        self._tell = self._supervisor.on_change
        self._supervisor.on_change = self._entered

    async def until(self, *stages: Stage) -> None:
        while self._supervisor.state.stage not in stages:
            self._changed.clear()
            await self._changed.wait()

    def _entered(self, state: RuntimeState) -> None:
        assert self._tell is not None
        self._tell(state)
        self._changed.set()


async def told(signal_: SignalInstance, begin: Callable[[], object]) -> None:
    """Begin something and wait until `signal_` says that it is done."""
    heard = asyncio.Event()
    connection = signal_.connect(heard.set)
    begin()
    await heard.wait()
    QObject.disconnect(connection)


def test_from_the_first_start_through_a_crash_to_the_end(
    qloop: QLoop, qapp: QApplication, tmp_path: Path
) -> None:
    profile = Profile.at(tmp_path / "profile")
    profile.create()

    async def scenario(diagnostics: Diagnostics) -> None:
        desktop = Desktop(qapp, profile, diagnostics)
        await desktop.open()
        try:
            assert desktop.window.isVisible()
            await desktop.ready.wait()
            assert desktop.window.page == Page.FIRST_RUN
            moved_on = desktop.presenter.first_start.moved_on
            await told(moved_on, lambda: press(desktop, "first-run-demo"))
            name = desktop.window.findChild(QLineEdit, "workspace-name")
            assert name.isVisible()
            name.setText("Research")
            await told(moved_on, lambda: press(desktop, "create-workspace"))
            assert desktop.window.page == Page.SPACE
            assert desktop.workspaces.current is not None
            assert desktop.window.findChild(SettingsPage, "settings-page") is None, "nobody has opened it"
            desktop.presenter.open_settings("models/openai_direct")
            assert desktop.window.page == Page.SETTINGS

            connection = desktop.supervisor.state.connection
            assert connection is not None
            stages = Stages(desktop)
            os.kill(connection.pid, signal.SIGKILL)
            await stages.until(Stage.BACKOFF, Stage.STARTING)
            assert not desktop.window.banner.isHidden()
            section = desktop.window.findChild(SettingsPage, "settings-page")
            assert section.models.connection.isHidden(), "the banner says it once for every page"
            assert desktop.window.toasts._shown == []
            await stages.until(Stage.HEALTHY)
            desktop.presenter.open_space()
            assert desktop.window.page == Page.SPACE
            assert desktop.window.banner.isHidden()
            again = desktop.supervisor.state.connection
            assert again is not None
        finally:
            await desktop.close()
        assert wait_until_gone([connection.pid, again.pid]) == []

    diagnostics = Diagnostics(profile.log_dir)
    try:
        qloop.run(scenario(diagnostics))
    finally:
        diagnostics.close()
    assert (profile.log_dir / "desktop.log").read_text() == ""
    kept = (profile.data_dir / "settings.json").read_text()
    assert '"last_workspace"' in kept


@pytest.mark.skipif(sys.platform == "win32", reason="nothing freezes a process there")
def test_a_frozen_runtime_is_noticed_while_a_request_waits_and_comes_back_by_itself(
    qloop: QLoop, qapp: QApplication, tmp_path: Path
) -> None:
    profile = Profile.at(tmp_path / "profile")
    profile.create()

    async def scenario(diagnostics: Diagnostics) -> None:
        desktop = Desktop(qapp, profile, diagnostics)
        await desktop.open()
        try:
            await desktop.ready.wait()
            connection, client = desktop.supervisor.state.connection, desktop.presenter.client
            assert connection is not None
            assert client is not None
            stages, transport = Stages(desktop), client._http._transport
            os.kill(connection.pid, signal.SIGSTOP)
            try:
                transport._after_s = (
                    0.2  # of this request alone: no other may count as silent on a busy machine
                )
                waiting = asyncio.ensure_future(client.version())
                await stages.until(Stage.DEGRADED)
                assert not waiting.done()
                assert not desktop.window.banner.isHidden()
            finally:
                transport._after_s = SILENT_AFTER_S
                os.kill(connection.pid, signal.SIGCONT)
            await stages.until(Stage.HEALTHY)
            assert (await waiting).instance_id == connection.instance_id
            assert desktop.window.banner.isHidden()
            assert desktop.supervisor.state.connection == connection
        finally:
            await desktop.close()

    diagnostics = Diagnostics(profile.log_dir)
    try:
        qloop.run(scenario(diagnostics))
    finally:
        diagnostics.close()


def test_a_file_where_a_folder_must_be_is_named(tmp_path: Path) -> None:
    profile = Profile.at(tmp_path / "profile")
    profile.data_dir.mkdir()
    profile.sandbox_root.write_text("")
    with pytest.raises(FileExistsError) as caught:
        profile.create()
    sentence = unusable(caught.value, profile)
    assert f"needs a folder at {profile.sandbox_root}, but there is a file in the way" in sentence
    assert "Rename the file" in sentence
    denied = unusable(PermissionError(13, "Permission denied", str(profile.log_dir)), profile)
    assert f"cannot use {profile.log_dir} (Permission denied)" in denied


@pytest.mark.parametrize(("option", "said"), [("--version", "protocol"), ("--help", "--profile-dir")])
def test_what_needs_no_window_opens_none(option: str, said: str) -> None:
    command = [sys.executable, "-m", "holaboss_app", option]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "app"), "QT_QPA_PLATFORM": "none such"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert said in result.stdout


def test_the_self_test_passes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holaboss_app", "--self-test"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "app"), "QT_QPA_PLATFORM": "offscreen"}
    environment["TMPDIR"] = str(tmp_path)
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert result.returncode == 0, result.stderr
    picture = Path(result.stdout.strip().rpartition("Screenshot: ")[2])
    assert picture.is_relative_to(tmp_path)
    assert picture.stat().st_size > 10_000
    noise = [line for line in result.stderr.splitlines() if "propagateSizeHints" not in line]
    assert noise == []
