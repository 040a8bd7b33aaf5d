"""What goes into the frozen programs, checked without freezing them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.project.repository import ROOT, load

PACKAGING = ROOT / "packaging"
contents = load(PACKAGING / "contents.py")
measure = load(PACKAGING / "measure.py")

SPEC = (PACKAGING / "holaboss.spec").read_text(encoding="utf-8")


def calls(name: str) -> list[ast.Call]:
    tree = ast.parse(SPEC)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name]


def test_there_is_one_folder() -> None:
    assert len(calls("COLLECT")) == 1
    assert calls("MERGE") == [], "bundles for macOS cannot be made from merged analyses"


def test_the_window_comes_last() -> None:
    (collect,) = calls("COLLECT")
    programs = [ast.unparse(value) for value in collect.args if ast.unparse(value).endswith("_exe")]
    assert programs == ["runtime_exe", "desktop_exe"]


def test_each_program_leaves_the_other_one_out() -> None:
    assert {"holaboss_runtime", "openai", "anthropic", "pydantic_ai", "apsw"} <= set(
        contents.DESKTOP_EXCLUDES
    )
    assert {"holaboss_app", "PySide6", "keyring"} <= set(contents.RUNTIME_EXCLUDES)


@pytest.mark.parametrize(
    "library",
    [
        *("websockets", "mcp", "cryptography", "psutil", "pathspec", "tree_sitter", "tree_sitter_bash"),
        *("pypdf", "docx", "openpyxl", "pptx", "PIL", "lxml", "lxml.etree", "lxml.html", "ddgs", "primp"),
    ],
)
def test_what_the_runtime_loads_when_it_is_needed_is_shipped(library: str) -> None:
    assert library not in contents.RUNTIME_EXCLUDES


@pytest.mark.parametrize(
    "file",
    [
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqoffscreen.so",
        "PySide6/Qt/plugins/platforms/libqwayland.so",
        "PySide6/Qt/plugins/imageformats/libqsvg.so",
        "PySide6/Qt/plugins/iconengines/libqsvgicon.so",
        "PySide6/Qt/plugins/platforminputcontexts/libibusplatforminputcontextplugin.so",
        "PySide6/Qt/plugins/tls/libqopensslbackend.so",
        "PySide6/Qt/plugins/wayland-shell-integration/libxdg-shell.so",
        "PySide6/Qt/lib/libQt6Widgets.so.6",
        "libX11.so.6",
        "libX11-xcb.so.1",
        "libxcb-cursor.so.0",
        "libglib-2.0.so.0",
        "libdbus-1.so.3",
        "pillow.libs/libXau-154567c4.so.6.0.0",
        "pillow.libs/libjpeg-6dc8d115.so.62.4.0",
        "docx/templates/default-styles.xml",
        "pptx/templates/default.pptx",
        "openai-3.51.0.dist-info/METADATA",
        "openai-3.51.0.dist-info/licenses/LICENSE",
        "resources/icons/send.svg",
    ],
)
def test_what_a_window_needs_is_shipped(file: str) -> None:
    assert contents.is_shipped(file)


@pytest.mark.parametrize(
    "file",
    [
        "PySide6/Qt/translations/qt_de.qm",
        "PySide6/Qt/plugins/platforms/libqvnc.so",
        "PySide6/Qt/plugins/platformthemes/libqgtk3.so",
        "PySide6/Qt/lib/libQt6QmlCompiler.so.6",
        "PySide6/Qt/lib/libQt6EglFSDeviceIntegration.so.6",
        "libQt6OpenGL.so.6",
        "libgtk-3.so.0",
        "libXcursor.so.1",
        "libharfbuzz.so.0",
        "docx/templates/default-docx-template/word/styles.xml",
        "openai-3.51.0.dist-info/RECORD",
    ],
)
def test_what_it_never_opens_is_not(file: str) -> None:
    assert not contents.is_shipped(file)


def test_a_folder_is_held_to_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program").write_bytes(b"x" * 2000)
    assert measure.main(str(tmp_path)) == 0
    assert "program" in capsys.readouterr().out
    monkeypatch.setattr(measure, "UNPACKED_LIMIT", 1000)
    assert measure.main(str(tmp_path)) == 1
