"""What the documents promise exists, and what exists is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

from tests.project.repository import APP, DOCUMENTS, ROOT, RUNTIME, documentation, python_files, text_files

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"|srcset=\"([^\"]+)\"")
VARIABLE = re.compile(r"\b((?:HOLABOSS|HB|SANDBOX_AGENT|PROACTIVE)_[A-Z0-9_]*[A-Z0-9])\b")
FLAG = re.compile(r"add_argument\(\s*[\"'](--[a-z-]+)[\"']")
SUB_COMMAND = re.compile(r"add_parser\(\s*[\"']([a-z-]+)[\"']")

# Paths of one machine have no place in a product.
PRIVATE = re.compile(r"(?<![\w.$}/-])/(?:Users|root|work)/\w", re.IGNORECASE)


def sources() -> str:
    launcher = ROOT / "runtime" / "bin" / "sandbox-runtime"
    return "\n".join(path.read_text(encoding="utf-8") for path in [*python_files(APP, RUNTIME), launcher])


def test_every_link_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for match in LINK.finditer(document.read_text(encoding="utf-8")):
            target = next(filter(None, match.groups()))
            if "://" in target or target.startswith(("#", "mailto:")):
                continue
            path = document.parent / unquote(target.split("#")[0])
            assert path.exists(), f"{document.name}: {target}"


def test_every_script_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for script in (ROOT / "scripts").iterdir():
        if script.is_file():
            assert f"scripts/{script.name}" in readme, script.name


def test_every_named_script_exists() -> None:
    for name in set(re.findall(r"\bscripts/([a-z]+)\b", documentation())) - {"support"}:
        assert (ROOT / "scripts" / name).is_file(), name


def test_every_variable_is_documented() -> None:
    text = documentation()
    assert sorted(name for name in set(VARIABLE.findall(sources())) if name not in text) == []


def test_every_option_and_sub_command_is_documented() -> None:
    text = documentation()
    code = sources()
    assert sorted(name for name in set(FLAG.findall(code)) if f"`{name}" not in text) == []
    assert sorted(name for name in set(SUB_COMMAND.findall(code)) if f"`{name}`" not in text) == []


def test_every_route_is_documented() -> None:
    routes = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:[A-Z, ]+ )?(/[^`\s]*)`", text))
    assert sorted(set(routes) - named) == []
    described = {*routes, "/api/v1/openapi.json"}
    assert sorted(name for name in named if name.startswith("/api/") and name not in described) == []


def test_the_product_speaks_of_itself_alone() -> None:
    for path in text_files():
        if path != Path(__file__):
            found = PRIVATE.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found}"
