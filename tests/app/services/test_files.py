"""What the desktop keeps on disk: settings, drafts, the runtime's log; private, atomic, never lost to a bad
byte."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from holaboss_app.services.debounced_file import DebouncedFile
from holaboss_app.services.drafts import LONGEST_DRAFT, Drafts
from holaboss_app.services.first_look import FirstLook, first_look
from holaboss_app.services.kept_pictures import KeptPictures
from holaboss_app.services.private_files import write_private
from holaboss_app.services.profile import Profile
from holaboss_app.services.runtime_log import RuntimeLog
from holaboss_app.services.settings_store import Layout, SettingsStore
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_profile_is_private_and_its_suffix_tells_profiles_apart(tmp_path: Path) -> None:
    profile, other = Profile.at(tmp_path / "a"), Profile.at(tmp_path / "b")
    profile.create()
    for directory in (profile.data_dir, profile.sandbox_root, profile.log_dir):
        assert mode(directory) == 0o700
    assert profile.suffix != other.suffix
    assert Profile.default().suffix == ""


def test_a_private_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError):  # noqa: PT011 - whichever the system says
        write_private(tmp_path / "missing" / "file", b"new")


async def test_settings_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    store = SettingsStore(path)
    store.update(theme="dark", text_scale=1.5)
    store.save_layout("w", Layout(files_visible=False, sizes=[300, 900]))
    await store.close()
    again = SettingsStore(path)
    assert again.settings.theme == "dark"
    assert again.settings.text_scale == 1.5
    assert again.layout("w") == Layout(files_visible=False, sizes=[300, 900])
    assert again.layout("other") == Layout()
    assert mode(path) == 0o600


async def test_the_first_look_is_what_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    assert first_look(path) == FirstLook()
    store = SettingsStore(path)
    store.update(theme="dark", text_scale=1.25, geometry="AAAA")
    await store.close()
    assert first_look(path) == FirstLook("dark", 1.25, "AAAA")


@pytest.mark.parametrize("content", ["{", "[]", "3", '{"theme": ["x"], "text_scale": "big", "geometry": 1}'])
def test_the_first_look_never_fails(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content)
    assert first_look(path) == FirstLook()


async def test_a_value_that_makes_no_sense_changes_nothing(tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.json")
    with pytest.raises(ValueError, match="theme"):
        store.update(theme="purple")
    with pytest.raises(ValueError, match="text_scale"):
        store.update(text_scale=9.0)
    assert store.settings.theme == "system"
    await store.close()
    assert not (tmp_path / "settings.json").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"theme": "purple"}', '{"schema_version": 2}', "\xff"])
def test_an_unreadable_settings_file_is_kept_aside_and_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content, "latin-1")
    store = SettingsStore(path)
    assert store.settings.theme == "system"
    assert store.notice is not None
    assert "settings.json.bak" in store.notice
    assert (tmp_path / "settings.json.bak").read_text("latin-1") == content
    assert not path.exists()


async def test_unknown_settings_of_a_newer_program_are_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"theme": "light", "from_the_future": 1}))
    store = SettingsStore(path)
    assert (store.settings.theme, store.notice) == ("light", None)


async def test_many_changes_become_one_write_of_the_last_value(tmp_path: Path) -> None:
    encoded: list[bytes] = []
    value = b""

    def encode() -> bytes:
        encoded.append(value)
        return value

    file = DebouncedFile(tmp_path / "file", encode)
    for value in (b"a", b"b", b"c"):  # noqa: B007 - read by encode
        file.schedule()
    await file.close()
    assert encoded == [b"c"]
    assert (tmp_path / "file").read_bytes() == b"c"


async def test_a_write_happens_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holaboss_app.services.debounced_file.PAUSE_S", 0.0)
    written = asyncio.Event()
    file = DebouncedFile(tmp_path / "file", lambda: b"x")
    original = file._written

    def seen(task: asyncio.Task[None]) -> None:
        original(task)
        written.set()

    monkeypatch.setattr(file, "_written", seen)
    file.schedule()
    async with asyncio.timeout(PATIENCE_S):
        await written.wait()
    assert (tmp_path / "file").read_bytes() == b"x"
    await file.close()


async def test_drafts_and_models_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "drafts.json"
    drafts = Drafts(path, tmp_path / "pasted")
    drafts.save_draft("w/s", "half a thou")
    drafts.save_draft("w/t", "gone")
    drafts.save_draft("w/t", "")
    drafts.save_draft("huge", "x" * (LONGEST_DRAFT + 1))
    drafts.save_last_model("w", "demo/scripted")
    await drafts.close()
    again = Drafts(path, tmp_path / "pasted")
    assert again.draft("w/s") == "half a thou"
    assert again.draft("w/t") == ""
    assert again.draft("huge") == ""
    assert again.last_model("w") == "demo/scripted"
    assert again.last_model("v") is None
    assert mode(path) == 0o600


def test_an_unreadable_drafts_file_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "drafts.json"
    path.write_text("nonsense")
    picture = KeptPictures(tmp_path / "pasted").keep(b"png")
    assert Drafts(path, tmp_path / "pasted").draft("any") == ""
    assert picture.exists(), "the file that was kept aside may name it"
    assert (tmp_path / "drafts.json.bak").read_text() == "nonsense"


def test_the_log_keeps_five_files_and_the_last_lines(tmp_path: Path) -> None:
    log = RuntimeLog(tmp_path / "runtime.log", limit=100)
    for number in range(40):
        log.append(f"line {number:03} {'x' * 20}\n".encode())
    log.append(b"cut in ")
    log.append(b"pieces\nunfinished")
    assert log.tail(2) == [f"line 039 {'x' * 20}", "cut in pieces"]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["runtime.log", *(f"runtime.log.{number}" for number in range(1, 5))]
    assert all(mode(path) == 0o600 for path in tmp_path.iterdir())
    log.close()
    log.append(b"\nagain\n")
    assert log.tail(1) == ["again"]
    log.close()
