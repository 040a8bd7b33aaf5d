"""The shape checker: it finds what it should, and the repository has the shape it checks."""

from __future__ import annotations

import subprocess
import sys

from tests.project.repository import ROOT, load

shape = load(ROOT / "scripts" / "support" / "shape.py")


def function(lines: int) -> str:
    return '"""A module."""\n\n\ndef long() -> None:\n' + "    pass\n" * (lines - 1)


def test_a_good_module_has_no_findings() -> None:
    assert shape.findings_of("good.py", function(60)) == []


def test_a_long_function_is_found() -> None:
    assert shape.findings_of("a.py", function(61)) == ["a.py:4: long has 61 lines, more than 60"]


def test_a_long_file_is_found() -> None:
    text = '"""A module."""\n' + "x = 1\n" * 500
    assert shape.findings_of("a.py", text) == ["a.py:1: 501 lines, more than 500"]


def test_a_silent_module_is_found() -> None:
    assert shape.findings_of("a.py", "x = 1\n") == ["a.py:1: no module docstring"]
    assert shape.findings_of("__init__.py", "") == []


def test_a_repository_of_long_files_is_found() -> None:
    assert shape.ninth_decile(list(range(1, 11))) == 9
    assert shape.beyond_typical("files", [10] * 8 + [300, 300], 250) != []
    assert shape.beyond_typical("files", [10] * 9 + [300], 250) == []


def test_the_repository_has_the_shape() -> None:
    script = ROOT / "scripts" / "support" / "shape.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
