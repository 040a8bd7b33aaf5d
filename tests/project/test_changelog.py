"""The changelog keeps the form that people and tools expect of it."""

from __future__ import annotations

import re
import tomllib

from holaboss_client import PRODUCT_VERSION
from tests.project.repository import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GROUPS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Internal"}


def test_it_starts_with_what_is_not_released() -> None:
    releases = re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    assert releases[0] == "[Unreleased]"
    for release in releases[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", release), release


def test_groups_are_the_known_ones() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, flags=re.MULTILINE)) <= GROUPS


def test_every_entry_is_a_sentence() -> None:
    entries = re.findall(r"^- (.+(?:\n  .+)*)", TEXT, flags=re.MULTILINE)
    assert entries
    assert [entry for entry in entries if not entry.endswith(".")] == []


def test_there_is_one_version() -> None:
    for distribution in ("app", "runtime"):
        with (ROOT / distribution / "pyproject.toml").open("rb") as file:
            assert tomllib.load(file)["project"]["version"] == PRODUCT_VERSION, distribution
