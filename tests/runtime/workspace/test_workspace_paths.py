"""`resolve_inside`: whatever the path, the answer lies below the root or there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holaboss_runtime.errors import DomainError
from holaboss_runtime.workspace.paths import NotAFileError, open_regular, resolve_inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with every kind of link a hostile archive could leave in it."""
    root = tmp_path / "workspace"
    (root / "inner" / "deep").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (root / "out").symlink_to(tmp_path)
    (root / "dangling").symlink_to(tmp_path / "not-there")
    (root / "within").symlink_to("inner")
    (root / "loop").symlink_to("loop")
    (root / "inner" / "up").symlink_to("../..")
    return root


@pytest.mark.parametrize(
    "path",
    [
        "..", "../secret", "inner/../../secret", "inner/..", "/etc/passwd", "//host/share", "\\\\host\\share",
        "C:\\Windows", "c:/Windows", "C:", "a\0b", "out", "out/secret", "dangling", "inner/up/secret", "loop",
        "loop/x", "\ud800",
    ],
)  # fmt: skip
def test_paths_that_lead_out_are_refused(root: Path, path: str) -> None:
    with pytest.raises(DomainError) as raised:
        resolve_inside(root, path)
    assert (raised.value.kind, raised.value.code) == ("invalid", "path_outside_workspace")
    raised.value.detail.encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ""),
        (".", ""),
        ("a/./b", "a/b"),
        ("new/file.txt", "new/file.txt"),
        ("within/x", "inner/x"),
        ("...", "..."),
    ],
)
def test_paths_that_stay_inside_are_resolved(root: Path, path: str, expected: str) -> None:
    assert resolve_inside(root, path) == root / expected


def test_a_root_that_is_itself_a_link_is_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert resolve_inside(tmp_path / "alias", "inner") == root / "inner"


parts = st.sampled_from(
    ["..", ".", "", "inner", "deep", "out", "within", "up", "loop", "C:", "~", "a\\b", "\0", "x"]
)


@given(path=st.one_of(st.text(max_size=40), st.lists(parts, max_size=8).map("/".join)))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_ever_leads_out(root: Path, path: str) -> None:
    try:
        resolved = resolve_inside(root, path)
    except DomainError:
        return
    assert os.path.realpath(resolved) == str(resolved)
    assert resolved.is_relative_to(root)


def test_only_regular_files_are_opened(root: Path) -> None:
    (root / "file").write_bytes(b"x")
    with open_regular(root / "file") as file:
        assert file.read() == b"x"
    os.mkfifo(root / "pipe")
    for other in ("pipe", "inner"):
        with pytest.raises(NotAFileError):
            open_regular(root / other)
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(root / "loop")
