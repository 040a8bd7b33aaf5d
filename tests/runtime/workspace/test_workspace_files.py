"""Files over the API: lossless, bounded, and never somebody else's."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from pathlib import Path

import pytest

from holaboss_client.workspaces import CreateWorkspace, PutFile
from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.files import MAX_ENTRIES, MAX_FILE_BYTES
from tests.runtime.workspace.conftest import Space

pytestmark = pytest.mark.anyio


def put(content: bytes, *, expected: str | None = None, executable: bool = False) -> PutFile:
    encoded = base64.b64encode(content).decode()
    return PutFile(content_base64=encoded, expected_sha256=expected, executable=executable)


@pytest.fixture
async def folder(space: Space) -> Path:
    made = await space.registry.create(CreateWorkspace(name="w", workspace_id="w"))
    return Path(made.workspace_path)


async def code_of(awaitable: object) -> str:
    with pytest.raises(DomainError) as raised:
        await awaitable  # type: ignore[misc]
    return raised.value.code


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(b"", "utf-8"), ("é\r\n\n".encode(), "utf-8"), (b"a\0b", "base64"), (b"\xff\xfe", "base64")],
)
async def test_what_is_written_is_read_back(
    space: Space, folder: Path, content: bytes, encoding: str
) -> None:
    written = await space.files.write("w", "notes/deep/file.txt", put(content))
    read = await space.files.read("w", "notes/deep/file.txt")
    assert read.encoding == encoding
    assert (read.content.encode() if encoding == "utf-8" else base64.b64decode(read.content)) == content
    assert written.sha256 == read.sha256 == hashlib.sha256(content).hexdigest()
    assert (folder / "notes/deep/file.txt").read_bytes() == content
    assert space.told()[-1].payload == {"paths": ["notes/deep/file.txt"]}
    assert [path.name for path in (folder / "notes/deep").iterdir()] == ["file.txt"]


async def test_a_save_over_somebody_elses_change_is_refused(space: Space, folder: Path) -> None:
    seen = (await space.files.write("w", "a.txt", put(b"one"))).sha256
    (folder / "a.txt").write_bytes(b"two")
    told = len(space.told())
    assert await code_of(space.files.write("w", "a.txt", put(b"mine", expected=seen))) == "file_changed"
    assert await code_of(space.files.write("w", "a.txt", put(b"mine", expected=""))) == "file_changed"
    assert await code_of(space.files.write("w", "new.txt", put(b"mine", expected=seen))) == "file_changed"
    assert (folder / "a.txt").read_bytes() == b"two"
    assert not (folder / "new.txt").exists()
    assert len(space.told()) == told
    await space.files.write("w", "a.txt", put(b"mine", expected=hashlib.sha256(b"two").hexdigest().upper()))
    await space.files.write("w", "new.txt", put(b"mine", expected=""))
    assert (folder / "a.txt").read_bytes() == (folder / "new.txt").read_bytes() == b"mine"


async def test_the_mode_of_a_file_survives(space: Space, folder: Path) -> None:
    (folder / "run.sh").touch(0o750)
    await space.files.write("w", "run.sh", put(b"#!/bin/sh\n"))
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o750
    await space.files.write("w", "new.sh", put(b"#!/bin/sh\n", executable=True))
    assert (await space.files.read("w", "new.sh")).executable


@pytest.mark.parametrize(
    "path",
    [
        ".holaboss/workspace_id",
        ".git/config",
        ".HOLABOSS/x",
        "sub/.git/hooks/pre-commit",
        "alias/workspace_id",
    ],
)
async def test_our_own_state_is_not_for_clients(space: Space, folder: Path, path: str) -> None:
    (folder / "alias").symlink_to(".holaboss")
    assert await code_of(space.files.read("w", path)) == "path_reserved"
    assert await code_of(space.files.write("w", path, put(b"x"))) == "path_reserved"
    assert (folder / ".holaboss" / "workspace_id").read_text().strip() == "w"


async def test_paths_outside_are_refused_for_reading_writing_and_listing(
    space: Space, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "secret").write_text("outside")
    (folder / "link").symlink_to(tmp_path)
    for path in ("../w/AGENTS.md", "link/secret", "/etc/hostname"):
        assert await code_of(space.files.read("w", path)) == "path_outside_workspace"
        assert await code_of(space.files.write("w", path, put(b"x"))) == "path_outside_workspace"
        assert await code_of(space.files.list("w", path)) == "path_outside_workspace"
    assert (tmp_path / "secret").read_text() == "outside"


async def test_things_that_are_not_files(space: Space, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert await code_of(space.files.read("w", "pipe")) == "not_a_file"
    assert await code_of(space.files.read("w", "skills")) == "not_a_file"
    assert await code_of(space.files.read("w", "nothing")) == "file_not_found"
    assert await code_of(space.files.read("w", "AGENTS.md/below")) == "file_not_found"
    assert await code_of(space.files.list("w", "nothing")) == "folder_not_found"
    assert await code_of(space.files.list("w", "AGENTS.md")) == "folder_not_found"
    assert await code_of(space.files.write("w", "skills", put(b"x"))) == "not_a_file"
    assert await code_of(space.files.write("w", "", put(b"x"))) == "not_a_file"
    assert await code_of(space.files.write("w", "AGENTS.md/below", put(b"x"))) == "file_not_writable"
    assert await code_of(space.files.read("w", "x" * 300)) == "file_unreadable"
    assert await code_of(space.files.write("w", "x" * 300, put(b"x"))) == "file_not_writable"
    assert (
        await code_of(space.files.write("w", "x", PutFile(content_base64="not base64!"))) == "content_invalid"
    )


async def test_a_file_too_large_to_open_is_said_so(space: Space, folder: Path) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert await code_of(space.files.read("w", "large")) == "file_too_large"
    os.truncate(folder / "large", MAX_FILE_BYTES)
    assert (await space.files.read("w", "large")).size == MAX_FILE_BYTES


async def test_a_listing_puts_folders_first_and_hides_our_state(space: Space, folder: Path) -> None:
    (folder / "beta").mkdir()
    (folder / "Alpha").mkdir()
    (folder / "link").symlink_to("AGENTS.md")
    os.mkdir(os.fsencode(folder) + b"/bad-\xff")  # noqa: PTH102 — Path takes no bytes
    listing = await space.files.list("w", "")
    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("Alpha", "folder"), ("beta", "folder"), ("skills", "folder"), ("AGENTS.md", "file"), ("link", "link"),
        ("workspace.yaml", "file"),
    ]  # fmt: skip
    await space.files.write("w", "beta/x.txt", put(b"12345"))
    (entry,) = (await space.files.list("w", "beta")).entries
    assert (entry.path, entry.size) == ("beta/x.txt", 5)
    assert entry.modified_at.endswith("Z")


async def test_a_huge_folder_is_cut_and_says_so(space: Space, folder: Path) -> None:
    (folder / "many").mkdir()
    for number in range(MAX_ENTRIES + 1):
        (folder / "many" / str(number)).touch()
    listing = await space.files.list("w", "many")
    assert (len(listing.entries), listing.truncated) == (MAX_ENTRIES, True)


async def test_saving_over_a_pipe_does_not_wait_for_it(space: Space, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert await code_of(space.files.write("w", "pipe", put(b"x", expected=""))) == "not_a_file"
    await space.files.write("w", "next", put(b"x"))
