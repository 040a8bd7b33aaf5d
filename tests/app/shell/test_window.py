"""The window's own parts: boot card, banner, switcher, palette, dialogs, toasts, menus, zoom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QListWidget, QPushButton, QWidget

from holaboss_app.services.runtime_supervisor import Connection, RuntimeState, Stage
from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.shell.appearance import Appearance
from holaboss_app.shell.boot import Failure
from holaboss_app.shell.command_palette import Command, CommandPalette, matching
from holaboss_app.shell.commands import Entry, entries
from holaboss_app.shell.dialogs import ConfirmQuestion, NameQuestion
from holaboss_app.shell.failures import failure_of, told
from holaboss_app.shell.main_window import MainWindow, Page
from holaboss_app.shell.runtime_status import RuntimePopover, title_of
from holaboss_app.shell.switcher import WorkspacePopover
from holaboss_app.theme import style
from holaboss_client.config import LocalServer, ProviderCatalogue
from holaboss_client.workspaces import Workspace
from tests.app.conftest import QLoop
from tests.app.shell.conftest import provider_record, workspace_record

# Popups raise themselves and grab the keyboard, which a screen in memory cannot do, and says.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def child(widget: QWidget, kind: type[QWidget], name: str) -> QWidget:
    found = widget.findChild(kind, name)
    assert found is not None, name
    return found


@pytest.fixture
def window(qapp: QApplication) -> Iterator[MainWindow]:
    window = MainWindow()
    window.set_panes(QWidget(), QWidget())
    window.resize(1200, 800)
    window.show()
    yield window
    window.hide()
    window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def workspaces() -> list[Workspace]:
    records = [workspace_record(1, "Alpha"), workspace_record(2, "Beta"), workspace_record(3, "Gamma")]
    records[2]["folder_state"] = "missing"
    return [Workspace.model_validate(record) for record in records]


@pytest.mark.parametrize("entry", [e for e in entries() if e.keys], ids=lambda e: e.command)
def test_every_shortcut_gives_its_command_once(window: MainWindow, entry: Entry) -> None:
    given: list[str] = []
    window.commanded.connect(given.append)
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    QTest.keySequence(window, QKeySequence(entry.keys))
    assert given == [entry.command]


def test_a_start_that_fails_is_a_card_with_a_way_out(window: MainWindow) -> None:
    asked: list[str] = []
    window.boot.restart_requested.connect(lambda: asked.append("restart"))
    window.boot.quit_requested.connect(lambda: asked.append("quit"))
    window.boot.show_failure(Failure("The runtime is missing", "Install it again.", "code: not_found"))
    assert child(window.boot, QLabel, "boot-reason").text() == "Install it again."
    for name in ("boot-restart", "boot-failure-quit", "boot-copy"):
        QTest.mouseClick(child(window.boot, QPushButton, name), Qt.MouseButton.LeftButton)
    assert asked == ["restart", "quit"]
    copied = QGuiApplication.clipboard().text()
    assert copied == "The runtime is missing\n\nInstall it again.\n\ncode: not_found"
    window.boot.settle()


def test_a_slow_start_offers_the_log_and_quit(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    window.boot.show_preparing()
    window.boot._tick()
    assert child(window.boot, QPushButton, "boot-quit").isHidden() or not window.boot._slow.isVisible()
    monkeypatch.setattr("holaboss_app.shell.boot.SLOW_AFTER_MS", 0)
    window.boot._tick()
    assert window.boot._slow.isVisible()
    window.boot.settle()


@pytest.mark.parametrize("stage", list(Stage))
def test_every_stage_of_the_runtime_has_words(window: MainWindow, stage: Stage) -> None:
    window.rail.dot.show_state(RuntimeState(stage))
    assert window.rail.dot.accessibleName() == title_of(stage)
    window.boot.settle()


OWN_WORDS = {
    "root_locked": "Another Holaboss is using the data in /data",
    "root_not_writable": "cannot use the folder /data.",
    "database_damaged": "It was kept as it is.",
    "database_foreign": "It was kept as it is.",
    "database_newer": "Update Holaboss",
    "migration_failed": "Nothing in it is lost.",
    "port_in_use": "no free port",
    "settings_invalid": "The details name it.",
    "handshake_invalid": "Install Holaboss again.",
    "internal": "Start again.",
}
SAID = "Set HB_SANDBOX_ROOT to another folder."


@pytest.mark.parametrize("code", OWN_WORDS)
def test_what_the_runtime_says_to_whoever_starts_it_is_told_to_a_person_in_other_words(code: str) -> None:
    failure = failure_of(RuntimeState(Stage.GAVE_UP, SAID, code), ["last words"], Path("/log"), Path("/data"))
    assert failure.title != failure_of(RuntimeState(Stage.GAVE_UP), [], Path("/log"), Path("/data")).title
    assert OWN_WORDS[code] in failure.reason
    assert SAID not in failure.reason
    assert f"code: {code}\nmessage: {SAID}" in failure.details
    assert failure.details.endswith("last words")


@pytest.mark.parametrize("code", ["not_found", "something_new"])
def test_other_failures_keep_their_reason(code: str) -> None:
    failure = failure_of(RuntimeState(Stage.GAVE_UP, "Because.", code), [], Path("/log"), Path("/data"))
    assert failure.title
    assert failure.reason == "Because."
    assert failure.folder is None


def test_a_failure_shows_the_folder_in_which_it_is(window: MainWindow) -> None:
    asked: list[Path] = []
    window.boot.open_folder_requested.connect(asked.append)
    shown = child(window.boot, QPushButton, "boot-folder")
    for code, words in (("migration_failed", "Show folder"), ("root_not_writable", "Open folder")):
        state = RuntimeState(Stage.GAVE_UP, SAID, code)
        window.boot.show_failure(failure_of(state, [], Path("/log"), Path("/data")))
        assert isinstance(shown, QPushButton)
        assert (shown.text(), shown.isHidden()) == (words, False)
        shown.click()
    assert asked == [Path("/data/state"), Path("/data")]
    window.boot.show_failure(Failure("The runtime is missing", "Install it again."))
    assert shown.isHidden()
    window.boot.settle()


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_note_of_a_start_that_takes_another_try_is_shown_whole(
    window: MainWindow, qapp: QApplication, scale: float
) -> None:
    style.apply(qapp, "light", scale)
    state = RuntimeState(Stage.BACKOFF, SAID, "root_locked")
    window.boot.show_preparing(told(state, Path("/home/someone/.local/share/holaboss/sandbox-host")))
    qapp.processEvents()
    note = window.boot._note
    assert note.height() >= note.heightForWidth(note.width()) > note.fontMetrics().height()
    window.boot.settle()


def test_the_switcher_filters_opens_and_marks_missing_folders(
    window: MainWindow, workspaces: list[Workspace]
) -> None:
    window.switcher.show_workspaces(workspaces, workspaces[2])
    assert "Gamma" in window.switcher.accessibleName()
    popover = WorkspacePopover(workspaces, workspaces[0], window)
    popover.show()
    opened: list[str] = []
    popover.opened.connect(opened.append)
    listed = child(popover, QListWidget, "workspace-list")
    assert isinstance(listed, QListWidget)
    assert listed.item(2).data(Qt.ItemDataRole.AccessibleTextRole) == "Gamma, folder missing"
    search = child(popover, QLineEdit, "workspace-search")
    QTest.keyClicks(search, "zzz")
    assert not listed.isVisible()
    search.clear()
    QTest.keyClicks(search, "a")
    QTest.keyClick(search, Qt.Key.Key_Down)
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert opened == ["w2"]
    window.boot.settle()


@pytest.mark.parametrize(("key", "signal"), [(Qt.Key.Key_F2, "renamed"), (Qt.Key.Key_Delete, "deleted")])
def test_a_workspace_is_renamed_and_deleted_by_key(
    window: MainWindow, workspaces: list[Workspace], key: Qt.Key, signal: str
) -> None:
    popover = WorkspacePopover(workspaces, workspaces[1], window)
    asked: list[str] = []
    getattr(popover, signal).connect(asked.append)
    popover.show()
    listed = child(popover, QListWidget, "workspace-list")
    listed.setFocus()
    QTest.keyClick(listed, key)
    assert asked == ["w2"]
    window.boot.settle()


def test_the_palette_finds_by_words_and_runs_by_enter(window: MainWindow) -> None:
    ran: list[str] = []
    commands = [
        Command(title, lambda title=title: ran.append(title)) for title in ("Open Settings", "Settings")
    ]
    assert [command.title for command in matching(commands, "sett")] == ["Settings", "Open Settings"]
    assert matching(commands, "set open")[0].title == "Open Settings"
    palette = CommandPalette(commands, window)
    palette.show()
    search = child(palette, QLineEdit, "palette-search")
    QTest.keyClicks(search, "settings")
    QTest.keyClick(search, Qt.Key.Key_Up)
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert ran == ["Open Settings"]
    window.boot.settle()


def test_menus_are_made_of_the_command_table(window: MainWindow) -> None:
    told: list[str] = []
    window.commanded.connect(told.append)
    for entry in entries():
        action = window.findChild(QAction, f"action-{entry.command}")
        assert action is not None
        assert bool(entry.keys) == bool(action.shortcut().toString())
        action.trigger()
    assert told == [str(entry.command) for entry in entries()]
    window.boot.settle()


def test_a_name_is_asked_for_and_a_refusal_stays_on_the_dialog(window: MainWindow) -> None:
    dialog = NameQuestion(window, "new-workspace", "New workspace", "Create", with_folder=True)
    given: list[tuple[str, str]] = []
    dialog.submitted.connect(lambda name, folder: given.append((name, folder)))
    dialog.open()
    action = child(dialog, QPushButton, "new-workspace-ok")
    assert not action.isEnabled()
    QTest.keyClicks(child(dialog, QLineEdit, "new-workspace-name"), " Research ")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert given == [("Research", "")]
    assert not action.isEnabled()
    dialog.fail("The name is taken.")
    assert child(dialog, QLabel, "new-workspace-error").text() == "The name is taken."
    assert action.isEnabled()
    dialog.accept()
    window.boot.settle()


def test_files_are_only_deleted_when_that_was_ticked(window: MainWindow) -> None:
    dialog = ConfirmQuestion(window, "delete-workspace", "Delete?", "Text", "Delete", option="Files too")
    given: list[bool] = []
    dialog.confirmed.connect(given.append)
    dialog.open()
    action = child(dialog, QPushButton, "delete-workspace-ok")
    action.click()
    dialog.fail("No.")
    box = child(dialog, QCheckBox, "delete-workspace-option")
    assert isinstance(box, QCheckBox)
    box.setChecked(True)
    action.click()
    assert given == [False, True]
    dialog.reject()
    window.boot.settle()


def test_toasts_stack_and_do_not_repeat(window: MainWindow) -> None:
    for text in ("one", "two", "two", "three", "four"):
        window.toasts.show(text)
    shown = [toast.text for toast in window.toasts._shown]
    assert shown == ["two", "three", "four"]
    for toast in list(window.toasts._shown):
        toast.closed()
    assert window.toasts._shown == []
    window.boot.settle()


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("name", ["short", "runtime-config.json.corrupt-20261120T115410Z-and-longer-still"])
def test_a_toast_shows_all_of_its_text(
    window: MainWindow, qapp: QApplication, scale: float, name: str
) -> None:
    style.apply(qapp, "light", scale)
    text = f"The file could not be read. It was kept as /home/someone/{name}. The defaults are used."
    window.toasts.show(text)
    qapp.processEvents()
    said = next(each for each in window.toasts._shown[0].findChildren(QLabel) if each.text() == text)
    assert said.width() >= said.minimumSizeHint().width()
    assert said.height() >= said.heightForWidth(said.width())
    window.boot.settle()


def test_the_switcher_has_an_arrow_of_its_own_behind_its_text(
    window: MainWindow, qapp: QApplication, workspaces: list[Workspace]
) -> None:
    window.show_page(Page.SPACE)
    for scale in (1.0, 2.0):
        style.apply(qapp, "light", scale)
        window.switcher.show_workspaces(workspaces, workspaces[0])
        qapp.processEvents()
        assert window.switcher.text() == "Alpha"
        words = window.switcher.fontMetrics().horizontalAdvance("Alpha") + window.switcher.iconSize().width()
        arrow = window.switcher.arrow_rect()
        assert window.switcher.rect().contains(arrow)
        assert arrow.left() >= words
    window.boot.settle()


def test_menus_have_round_corners(window: MainWindow) -> None:
    menus = [action.menu() for action in window.menuBar().actions()]
    assert menus
    assert all(menu.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground) for menu in menus)
    window.boot.settle()


def test_a_found_server_is_shown_once(window: MainWindow) -> None:
    catalogue = ProviderCatalogue.model_validate(
        {
            "providers": [provider_record("a"), provider_record("ollama"), provider_record("demo")],
            "default_provider": None,
            "default_model": None,
            "background_tasks": {},
        }
    )
    page, found = (
        window.first_run,
        [LocalServer(provider_id="ollama", name="O", base_url="http://o", models=[])],
    )

    def shown() -> list[str]:
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        names = ("first-run-a", "first-run-ollama", "first-run-ollama-found")
        return [name for name in names if page.findChild(QPushButton, name) is not None]

    page.show_providers(catalogue)
    assert shown() == ["first-run-a", "first-run-ollama"]
    page.show_local_servers(found)
    assert shown() == ["first-run-a", "first-run-ollama-found"]
    page.show_providers(catalogue)
    assert shown() == ["first-run-a", "first-run-ollama-found"]
    page.show_local_servers([])
    assert shown() == ["first-run-a", "first-run-ollama"]
    window.boot.settle()


def test_the_file_pane_is_hidden_only_on_request(window: MainWindow) -> None:
    window.show_page(Page.SPACE)
    window.arrange(files_visible=True, sizes=[])
    files, chat = window.splitter.sizes()
    assert (files, files + chat) == (300, window.splitter.width() - window.splitter.handleWidth())
    window.resize(760, 520)
    assert window.splitter.widget(0).isVisible()
    window.arrange(files_visible=False, sizes=[300, 900])
    assert not window.splitter.widget(0).isVisible()
    window.boot.settle()


def test_a_window_that_was_on_a_screen_which_is_gone_comes_back(window: MainWindow) -> None:
    window.move(QPoint(90_000, 90_000))
    lost = window.geometry_text()
    window.restore_geometry_text(lost)
    screen = QGuiApplication.primaryScreen().availableGeometry()
    assert screen.intersects(window.frameGeometry())
    window.restore_geometry_text(None)
    assert screen.contains(window.geometry().topLeft()) or window.width() <= screen.width()
    window.boot.settle()


def test_closing_the_window_asks_its_owner(window: MainWindow) -> None:
    asked: list[bool] = []
    window.close_requested.connect(lambda: asked.append(True))
    assert not window.close()
    assert asked == [True]
    assert window.isVisible()
    window.boot.settle()


def test_zoom_goes_in_steps_between_limits(qloop: QLoop, qapp: QApplication, settings: SettingsStore) -> None:
    async def scenario() -> None:
        appearance = Appearance(qapp, settings)
        scales = []
        for _ in range(6):
            appearance.zoom(1)
            scales.append(style.scale())
        assert scales == [1.1, 1.25, 1.5, 1.75, 2.0, 2.0]
        for _ in range(10):
            appearance.zoom(-1)
        assert settings.settings.text_scale == 0.8
        appearance.set_theme("dark")
        assert style.current_tokens().name == "dark"
        await settings.close()

    qloop.run(scenario())


def test_everything_that_takes_the_focus_has_a_name(window: MainWindow, workspaces: list[Workspace]) -> None:
    catalogue = ProviderCatalogue.model_validate(
        {
            "providers": [provider_record("a"), provider_record("demo")],
            "default_provider": None,
            "default_model": None,
            "background_tasks": {},
        }
    )
    window.first_run.show_providers(catalogue)
    window.first_run.show_local_servers(
        [LocalServer(provider_id="ollama", name="Ollama", base_url="http://localhost:11434/v1", models=[])]
    )
    window.toasts.show("Something")
    connection = Connection("http://127.0.0.1:1", "t", "i", 1, "0")
    popovers = [
        WorkspacePopover(workspaces, None, window),
        CommandPalette([], window),
        RuntimePopover(RuntimeState(Stage.HEALTHY, connection=connection), window),
        NameQuestion(window, "q", "Title", "Create", with_folder=True),
        ConfirmQuestion(window, "c", "Title", "Text", "Delete", option="Too"),
    ]
    nameless = [
        f"{type(widget).__name__} {widget.objectName()}"
        for root in (window, *popovers)
        for widget in root.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not (widget.accessibleName() or (isinstance(widget, QPushButton | QCheckBox) and widget.text()))
        and not widget.objectName().startswith("qt_")
    ]
    assert nameless == []
    for popover in popovers:
        popover.close()
        popover.deleteLater()
    window.boot.settle()
