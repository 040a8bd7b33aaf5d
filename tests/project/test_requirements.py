"""The pinned requirement files: complete, hashed, without addresses, equal to what the packages declare."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.project.repository import ROOT

FOLDER = ROOT / "requirements"
PARTS = sorted(path.stem for path in FOLDER.glob("*.txt"))
INCLUDED = {"app": "runtime", "runtime-test": "runtime", "dev": "app", "package": "app"}


def pins(part: str) -> dict[str, str]:
    """Name -> version."""
    text = (FOLDER / f"{part}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, flags=re.MULTILINE))


def declared(distribution: str) -> set[str]:
    """The dependencies in a pyproject.toml, other than our own packages."""
    with (ROOT / distribution / "pyproject.toml").open("rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    return {name for name in dependencies if not name.startswith("holaboss")}


def asked(path: Path) -> set[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-r"))}


def test_every_part_of_set_up_is_checked() -> None:
    assert {"runtime", "runtime-test", "app", "dev", "package", "mcp-servers"} == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_every_pin_has_hashes(part: str) -> None:
    text = (FOLDER / f"{part}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert len(blocks) > 20
    for block in blocks:
        assert re.match(r"[a-z0-9.-]+==\S+", block), block
        assert "--hash=sha256:" in block, block


@pytest.mark.parametrize("part", PARTS)
def test_no_address_is_written_down(part: str) -> None:
    for suffix in ("in", "txt"):
        text = (FOLDER / f"{part}.{suffix}").read_text(encoding="utf-8")
        assert re.search(r"://|--(extra-)?index-url|--find-links", text) is None


def test_the_packages_and_the_requirements_agree() -> None:
    assert asked(FOLDER / "runtime.in") == declared("runtime")
    assert asked(FOLDER / "app.in") == declared("app") - declared("runtime")


@pytest.mark.parametrize(("larger", "smaller"), INCLUDED.items())
def test_a_larger_part_contains_the_smaller_one(larger: str, smaller: str) -> None:
    assert pins(smaller).items() <= pins(larger).items()


def test_the_server_needs_no_qt() -> None:
    for part in ("runtime", "runtime-test"):
        assert not {"pyside6-essentials", "shiboken6", "qasync", "keyring", "pytest-qt"} & pins(part).keys()


def test_qt_stays_on_the_line_that_works() -> None:
    assert pins("app")["pyside6-essentials"].startswith("6.11.")
