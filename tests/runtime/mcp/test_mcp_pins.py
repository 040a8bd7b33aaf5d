"""The real servers of the tests are pinned with hashes, and no file says where they were fetched from."""

from __future__ import annotations

import json
import re

from tests.project.repository import ROOT

FOLDER = ROOT / "tests" / "support" / "mcp_servers"


def test_python_servers_have_hashes_and_no_address() -> None:
    text = (ROOT / "requirements" / "mcp-servers.txt").read_text()
    blocks = re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert all(re.match(r"[a-z0-9.-]+==\S+", block) and "--hash=sha256:" in block for block in blocks)
    assert {"mcp-server-git", "mcp-server-time"} <= {block.partition("==")[0] for block in blocks}
    assert "://" not in text


def test_node_servers_have_hashes_and_no_address() -> None:
    wanted = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    packages = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    assert packages[""]["dependencies"] == wanted
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-"), name
    assert all(re.fullmatch(r"[\d.]+", version) for version in wanted.values())
