"""What the documents promise exists, and what exists is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

from tests.project.repository import (
    APP,
    DOCUMENTS,
    ROOT,
    RUNTIME,
    documentation,
    is_room,
    python_files,
    text_files,
)

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"|srcset=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
VARIABLE = re.compile(r"\b((?:HOLABOSS|HB|SANDBOX_AGENT|PROACTIVE)_[A-Z0-9_]*[A-Z0-9])\b")
FLAG = re.compile(r"add_argument\([^)]*?[\"'](--[a-z-]+)[\"']")
SUB_COMMAND = re.compile(r"add_parser\(\s*[\"']([a-z-]+)[\"']")

# Paths of one machine and numbers of a tracker have no place in a product.
PRIVATE = re.compile(r"(?<![\w.$}/-])/(?:Users|root|work)/\w|\bissues? #?\d", re.IGNORECASE)

# The earlier runtime read it; ours says in its log that the bridge is not there.
ACCEPTED_VARIABLES = {"PROACTIVE_BRIDGE_BASE_URL"}

# Every command that people knew from the earlier desktop; the table in the README says where it went.
EARLIER_COMMANDS = """
git clone https://github.com/holaboss-ai/holaboss-ai.git
npm run desktop:install
cp desktop/.env.example desktop/.env
npm run desktop:typecheck
npm run desktop:dev
npm run desktop:prepare-runtime
npm run desktop:prepare-runtime:local
npm run desktop:e2e
npm run desktop:dist:mac:local
npm run runtime:state-store:install
npm run runtime:state-store:build
npm run runtime:state-store:typecheck
npm run runtime:state-store:test
npm run runtime:harness-host:install
npm run runtime:harness-host:build
npm run runtime:harness-host:test
npm run runtime:api-server:install
npm run runtime:api-server:test
npm run runtime:test
npm --prefix desktop run dist:mac:dmg
npm --prefix desktop run dist:mac:dmg:local
npm --prefix desktop run prepare:runtime:local
npm --prefix desktop run prepare:packaged-config
npm --prefix desktop run build
npm --prefix desktop exec -- node scripts/run-electron-builder.mjs --mac dmg --arm64
gh workflow run "Release macOS Desktop"
codesign
spctl
xcrun stapler
bash runtime/deploy/package_linux_runtime.sh out/runtime-linux
bash runtime/deploy/package_macos_runtime.sh out/runtime-macos
tar -C out -czf out/holaboss-runtime-linux.tar.gz runtime-linux
tar -C out -czf out/holaboss-runtime-macos.tar.gz runtime-macos
sudo mkdir -p /opt/holaboss
sudo tar -C /opt/holaboss -xzf …
sudo ln -sf /opt/holaboss/…/bin/sandbox-runtime /usr/local/bin/holaboss-runtime
sudo mkdir -p /var/lib/holaboss
mkdir -p "$HOME/Library/Application Support/HolabossRuntime"
export HOLABOSS_MODEL_PROXY_BASE_URL=…
curl http://127.0.0.1:8080/healthz
curl http://localhost:11434/v1/chat/completions …
ollama pull qwen2.5:0.5b
pnpm openboa agent …
cli <operation> --request-base64 …
""".strip().splitlines()


def sources() -> str:
    launcher = ROOT / "runtime" / "bin" / "sandbox-runtime"
    return "\n".join(path.read_text(encoding="utf-8") for path in [*python_files(APP, RUNTIME), launcher])


def anchors(document: Path) -> set[str]:
    """What a link may name after `#`: the headings, as the pages of a repository spell them."""
    headings = HEADING.findall(document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for match in LINK.finditer(document.read_text(encoding="utf-8")):
            target = next(filter(None, match.groups()))
            if "://" in target or target.startswith("mailto:"):
                continue
            name, _, anchor = target.partition("#")
            path = document.parent / unquote(name) if name else document
            assert path.exists(), f"{document.name}: {target}"
            assert not anchor or anchor in anchors(path), f"{document.name}: {target}"


def test_every_named_source_exists() -> None:
    roots = (ROOT, RUNTIME, RUNTIME.parent, APP)
    for document in DOCUMENTS:
        for name in re.findall(r"`([\w/-]+\.py)`", document.read_text(encoding="utf-8")):
            assert any((root / name).is_file() for root in roots), f"{document.name}: {name}"


def test_every_place_that_keeps_a_rule_of_security_exists() -> None:
    table = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("| surface |")[1].split("\n\n")[0]
    places = [
        place for row in table.splitlines()[2:] for place in re.findall(r"`([^`]+)`", row.split("|")[-2])
    ]
    assert len(places) > 20
    assert [
        place for place in places if not any((root / place).exists() for root in (ROOT, RUNTIME, APP))
    ] == []


def test_every_earlier_command_is_in_the_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("| before | now |")[1].split("\n\n")[0]
    before = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = {name for cell in before for name in re.findall(r"`([^`]+)`", cell)}
    assert [command for command in EARLIER_COMMANDS if command not in named] == []


def test_every_script_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for script in (ROOT / "scripts").iterdir():
        if script.is_file():
            assert f"scripts/{script.name}" in readme, script.name


def test_every_named_script_exists() -> None:
    for name in set(re.findall(r"\bscripts/([a-z]+)\b", documentation())) - {"support"}:
        assert (ROOT / "scripts" / name).is_file(), name


def test_every_variable_is_documented_and_every_documented_one_is_read() -> None:
    documented, read = set(VARIABLE.findall(documentation())), set(VARIABLE.findall(sources()))
    assert sorted(read - documented) == []
    assert sorted(documented - read) == sorted(ACCEPTED_VARIABLES)


def test_every_option_and_sub_command_is_documented() -> None:
    code = sources()
    documented = set(re.findall(r"`(?:[\w …]+ )?(-{0,2}[a-z][a-z-]*)", documentation()))
    assert sorted(set(FLAG.findall(code)) - documented) == []
    assert sorted(set(SUB_COMMAND.findall(code)) - documented) == []


def test_every_route_is_documented() -> None:
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    rows = re.findall(
        r"^\| `([A-Z, ]+) (/\S*)`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    documented = {(method, path) for methods, path in rows for method in methods.split(", ")}
    assert sorted(described - documented) == []
    assert sorted(documented - described) == []


def test_every_room_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = "\n".join(row.split("|")[1] for row in text.splitlines() if row.startswith("| `"))
    named = {name.strip("/") for name in re.findall(r"`([\w/]+)`", rows)}
    rooms = {path.stem for package in (RUNTIME, APP) for path in package.iterdir() if is_room(path)}
    assert sorted(rooms - named) == []


def test_the_product_speaks_of_itself_alone() -> None:
    for path in text_files():
        if path != Path(__file__):
            found = PRIVATE.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found}"
