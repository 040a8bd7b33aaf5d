"""`runtime-config.json` on disk: atomic, private, and never lost."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from holaboss_runtime.config.document import ConfigFile
from holaboss_runtime.errors import DomainError

LOGGER = "holaboss_runtime.config.document"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runtime-config.json"


def test_a_missing_file_is_an_empty_one(path: Path) -> None:
    file = ConfigFile(path)
    assert (file.read(), file.loaded, file.notices) == ({}, False, [])
    assert not path.parent.exists()


def test_written_privately_and_read_back(path: Path) -> None:
    ConfigFile(path).write({"a": "é", "unknown": {"kept": [1]}})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ConfigFile(path).read() == {"a": "é", "unknown": {"kept": [1]}}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_others_could_read_is_made_private(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    path.chmod(0o644)
    assert ConfigFile(path).read() == {"a": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_edit_by_hand_is_noticed(path: Path) -> None:
    file = ConfigFile(path)
    file.write({"a": 1})
    revision = (file.read(), file.revision)[1]
    assert (file.read(), file.revision) == ({"a": 1}, revision)
    path.write_text('{"a": 2, "by": "hand"}')
    assert file.read() == {"a": 2, "by": "hand"}
    assert file.revision > revision


@pytest.mark.allow_log(LOGGER, "cannot be understood")
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a": 1} trailing']
)
def test_a_corrupt_file_is_kept_aside_and_named(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    file = ConfigFile(path)
    assert (file.read(), file.loaded) == ({}, False)
    (aside,) = path.parent.iterdir()
    assert aside.name.startswith("runtime-config.json.corrupt-")
    assert aside.read_bytes() == content
    assert str(aside) in file.notices[0]
    file.write({"a": 1})
    assert ConfigFile(path).read() == {"a": 1}
    assert aside.read_bytes() == content


@pytest.mark.allow_log(LOGGER, "cannot be understood")
def test_a_file_that_becomes_corrupt_leaves_the_last_good_settings_in_use(path: Path) -> None:
    file = ConfigFile(path)
    file.write({"a": 1})
    file.read()
    path.write_text('{"a": 2,')
    assert file.read() == {"a": 1}
    assert path.read_text() == '{"a": 2,'
    assert "last good settings" in file.notices[0]
    path.write_text(
        '{"a": 2 }'
    )  # also of another length: not every system has times fine enough to tell the two
    assert (file.read(), file.notices) == ({"a": 2}, [])
    path.write_text("{ oh")
    file.read()
    file.write({"a": 3})
    (aside,) = (entry for entry in path.parent.iterdir() if "corrupt" in entry.name)
    assert (aside.read_text(), json.loads(path.read_text())) == ("{ oh", {"a": 3})


@pytest.mark.allow_log(LOGGER, "cannot be opened")
def test_a_file_that_cannot_be_opened_is_left_alone(path: Path) -> None:
    path.mkdir(parents=True)  # a folder stands for any file that refuses to be read, also to root
    file = ConfigFile(path)
    assert file.read() == {}
    assert "permissions" in file.notices[0]
    with pytest.raises(DomainError) as raised:
        file.write({"a": 1})
    assert raised.value.code == "config_not_writable"
    assert path.is_dir()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_content(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ConfigFile(path)
    file.write({"a": 1})

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(DomainError) as raised:
        file.write({"a": 2})
    assert "No space left" in raised.value.detail
    assert json.loads(path.read_text()) == {"a": 1}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    target = tmp_path / "elsewhere.json"
    target.write_text("{}")
    path.symlink_to(target)
    ConfigFile(path).write({"a": 1})
    assert path.is_symlink()
    assert json.loads(target.read_text()) == {"a": 1}


def test_a_key_in_what_a_crash_left_of_a_write_does_not_stay(path: Path) -> None:
    file = ConfigFile(path)
    file.write({})
    path.with_name(f"{path.name}.part").write_text("sk-marker")  # killed between writing and renaming
    file.write({"a": 1})
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.allow_log(LOGGER, "cannot be understood")
def test_text_that_could_not_be_written_again_is_not_understood(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"name": "\\ud800"}')
    file = ConfigFile(path)
    assert (file.read(), len(file.notices)) == ({}, 1)
    file.write({"a": 1})


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a file that nobody can move")
@pytest.mark.allow_log(LOGGER, "cannot be understood")
def test_a_corrupt_file_that_cannot_be_kept_aside_stops_nobody() -> None:
    file = ConfigFile(Path("/proc/version"))
    assert (file.read(), file.loaded) == ({}, False)
    assert "cannot be understood" in file.notices[0]
