"""The profile for macOS, as text. Whether the system takes it can only be seen there; the probe does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from holaboss_runtime.containment.seatbelt import Seatbelt, profile, quoted
from holaboss_runtime.containment.view import Network, View

pytestmark = pytest.mark.anyio
SCRATCH = Path("/private/tmp/scratch")


def lines_of(view: View, **network: object) -> list[str]:
    text = profile(view, SCRATCH, network.get("mode", "off"), network.get("port"))  # type: ignore[arg-type]
    assert text.count("(") == text.count(")")
    return text.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work space"
    made.mkdir()
    subprocess.run(["git", "init", "-q", str(made / "sub" / "repository")], check=True)
    return made


def test_everything_is_refused_first(folder: Path) -> None:
    assert lines_of(View(folder))[:2] == ["(version 1)", "(deny default)"]


def test_the_last_rule_that_fits_decides(folder: Path) -> None:
    """So what is allowed comes before what is protected in it."""
    lines = lines_of(View(folder, read_only=("workspace.yaml", "skills")))
    allowed = lines.index(f'(allow file-read* file-write* (subpath "{folder}"))')
    hidden = lines.index(
        f'(deny file-read* file-write* (subpath "{folder}/.holaboss") (subpath "{folder}/.openboa"))'
    )
    git = folder / "sub" / "repository" / ".git"
    kept = [line for line in lines if line.startswith("(deny file-write* ")]
    assert len(kept) == 1
    assert allowed < hidden < lines.index(kept[0])
    for path in (
        git / "hooks",
        git / "config",
        git / "commondir",
        folder / "workspace.yaml",
        folder / "skills",
    ):
        assert f'(subpath "{path}")' in kept[0]
    pinned = next(line for line in lines if line.startswith("(deny file-write-unlink "))
    for path in (folder, folder / "sub", folder / "sub" / "repository", git):
        assert f'(literal "{path}")' in pinned, "a folder that is renamed away can be replaced"


def test_a_view_to_read_allows_no_write(folder: Path) -> None:
    lines = lines_of(View(folder, writable=False))
    assert f'(allow file-read* (subpath "{folder}"))' in lines
    assert not [
        line for line in lines if "file-write*" in line and line.startswith("(allow") and str(folder) in line
    ]


def test_one_file_is_one_file(folder: Path) -> None:
    (folder / "a.txt").touch()
    assert f'(allow file-read* (literal "{folder}/a.txt"))' in lines_of(
        View(folder / "a.txt", writable=False)
    )


def test_the_network(folder: Path) -> None:
    assert not [line for line in lines_of(View(folder)) if "network-" in line]
    listed = [line for line in lines_of(View(folder), mode="listed", port=8123) if "network-" in line]
    assert listed == ['(allow network-outbound (remote ip "localhost:8123"))']
    assert "(allow network-outbound (remote ip))" in lines_of(View(folder), mode="on")


def test_nothing_of_the_home_is_readable(folder: Path) -> None:
    text = "\n".join(lines_of(View(folder)))
    for path in (
        "/Users",
        "/private/var/folders",
        '(subpath "/Library")',
        '(subpath "/private/etc")',
        '(subpath "/")',
    ):
        assert path not in text


@pytest.mark.parametrize("name", ['a"b', "a\\b", 'a") (allow default) ("', "a\nb", "ü"])
def test_a_name_cannot_become_a_rule(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert quoted(str(folder)) in profile(View(folder), SCRATCH, "off")
    unescaped = quoted(name)[1:-1].replace("\\\\", "").replace('\\"', "")
    assert '"' not in unescaped


async def test_home_and_temporary_files_are_a_folder_that_goes_away(folder: Path) -> None:
    async with Seatbelt("/usr/bin/sandbox-exec").hold(
        View(folder),
        ["true"],
        {"HOME": "/home/me", "TMPDIR": "/var/folders/x"},
        Network("listed", ("example.org",)),
    ) as held:
        scratch = Path(held.environment["HOME"])
        assert held.environment["TMPDIR"] == str(scratch)
        assert await anyio.Path(scratch).is_dir()
        assert held.arguments[:2] == ["/usr/bin/sandbox-exec", "-p"]
        assert held.arguments[3:] == ["true"]
        assert held.environment["HTTPS_PROXY"].rpartition(":")[2] in held.arguments[2]
    assert not await anyio.Path(scratch).exists()
