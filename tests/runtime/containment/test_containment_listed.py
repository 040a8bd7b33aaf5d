"""A command whose network is limited to a list: what fetches things works for the list and for nothing else."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from holaboss_runtime.containment.bubblewrap import Bubblewrap
from holaboss_runtime.containment.holding import Containment
from holaboss_runtime.containment.probe import probe
from holaboss_runtime.containment.view import View
from holaboss_runtime.harness.host.commands import CommandResult, CommandRunner
from holaboss_runtime.permissions.model import ContainmentDemand
from holaboss_runtime.processes import become_subreaper
from tests.support.processes import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
async def contained() -> Containment:
    become_subreaper()  # as a host is
    found = await probe()
    if not await found.offers("listed"):
        pytest.skip("this machine cannot limit the network of a command")
    return found


def _wheel(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny.py", "answer = 42\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")


def _tarball(path: Path) -> None:
    manifest = json.dumps({"name": "tiny", "version": "1.0.0", "main": "index.js"}).encode()
    with tarfile.open(path, "w:gz") as tar:
        for name, content in (
            ("package/package.json", manifest),
            ("package/index.js", b"module.exports = 42\n"),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def _repository(folder: Path) -> None:
    work = folder / "work"
    commit = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "over there",
    ]
    for arguments in (["init", "-q", str(work)], ["-C", str(work), *commit],
                      ["clone", "-q", "--bare", str(work), str(folder / "tiny.git")],
                      ["-C", str(folder / "tiny.git"), "update-server-info"]):  # fmt: skip
        subprocess.run(["git", *arguments], check=True, capture_output=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """`host:port` of a server of files, as package indexes and repositories can be: a page, pip, npm and git."""
    folder = tmp_path / "site"
    (folder / "simple" / "tiny").mkdir(parents=True)
    (folder / "page").write_text("a page\n")
    _wheel(folder / "simple" / "tiny" / "tiny-1.0-py3-none-any.whl")
    (folder / "simple" / "tiny" / "index.html").write_text('<a href="tiny-1.0-py3-none-any.whl">tiny</a>')
    _tarball(folder / "tiny.tgz")
    _repository(folder)
    arguments = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", str(folder)]
    server = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    port = server.stdout.readline().split("port ")[1].split(" ")[0]
    versions = {
        "1.0.0": {
            "name": "tiny",
            "version": "1.0.0",
            "dist": {"tarball": f"http://127.0.0.1:{port}/tiny.tgz"},
        }
    }
    (folder / "tiny").write_text(
        json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": versions})
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


async def run(contained: Containment, folder: Path, command: str, *hosts: str) -> CommandResult:
    await anyio.Path(folder).mkdir(exist_ok=True)
    runner = CommandRunner(contained, lambda pgid, alive: None)
    demand = ContainmentDemand(required=True, network="listed", hosts=list(hosts or ("example.org",)))
    return await runner.run(View(folder), ["/bin/sh", "-c", command], 100, demand)


TOOLS = {
    "curl": ("curl", "curl -sSf http://%s/page", "a page"),
    "curl, through a tunnel": ("curl", "curl -sSf --proxytunnel http://%s/page", "a page"),
    "git": ("git", "git clone -q http://%s/tiny.git got && git -C got log --format=%%s", "over there"),
    "pip": (
        "/usr/bin/python3",
        "/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --target got "
        "--trusted-host 127.0.0.1 --index-url http://%s/simple tiny && cat got/tiny.py",
        "answer = 42",
    ),
    "npm": (
        "npm",
        "npm install --silent --no-audit --no-fund --registry http://%s tiny && cat node_modules/tiny/index.js",
        "module.exports = 42",
    ),
    "python": (
        "/usr/bin/python3",
        "python3 -c \"import urllib.request as r; print(r.urlopen('http://%s/page').read().decode())\"",
        "a page",
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
async def test_what_fetches_things_reaches_what_is_listed(
    contained: Containment, tmp_path: Path, site: str, tool: str
) -> None:
    program, command, expected = TOOLS[tool]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    result = await run(contained, tmp_path / "folder", command % site, site)
    assert (result.exit_code, result.network) == (0, "listed"), result.output
    assert expected in result.output
    assert result.refused_hosts == ()


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "npm"])
async def test_it_reaches_nothing_else(contained: Containment, tmp_path: Path, site: str, tool: str) -> None:
    program, command, expected = TOOLS[tool]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    hosts = ("example.org",) if tool == "pip" else ("example.org", "127.0.0.1:1")
    proxied = "unset NO_PROXY no_proxy; export PIP_RETRIES=0; " + command % site
    result = await run(contained, tmp_path / "folder", proxied, *hosts)
    assert result.exit_code != 0
    assert expected not in result.output
    assert result.refused_hosts == (site,)


@pytest.mark.parametrize(
    "command",
    [
        "env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy curl -sS -m 2 http://%s/page",
        "curl -sS -m 2 --noproxy '*' http://%s/page",
        "python3 -c \"import socket; h,p='%s'.split(':'); socket.create_connection((h, int(p)))\"",
        "python3 -c \"import socket; socket.create_connection(('localhost', int('%s'.split(':')[1])))\"",
        'python3 -c "import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM);'
        " s.sendto(b'x', ('%s'.split(':')[0], 53)); s.recv(1) if s.settimeout(1) is None else 0\"",
        "curl -sS -m 2 --socks5 127.0.0.1:3128 http://%s/page",
    ],
)
async def test_there_is_no_way_around_the_proxy(
    contained: Containment, tmp_path: Path, site: str, command: str
) -> None:
    result = await run(contained, tmp_path / "folder", command % site, site)
    assert result.exit_code != 0
    assert "a page" not in result.output


async def test_names_are_known_outside_only(contained: Containment, tmp_path: Path) -> None:
    """`localhost` is this machine, outside and inside, and is only reached outside when it is listed."""
    inside = "(python3 -m http.server 8080 >/dev/null 2>&1) & "
    wait = "for i in $(seq 1000); do curl -s -o /dev/null http://localhost:8080/ && break; sleep 0.05; done; "
    result = await run(
        contained, tmp_path / "folder", inside + wait + "curl -s http://localhost:8080/ | head -c 9"
    )
    assert result.output.startswith("<!DOCTYPE"), "a server inside is reached directly"
    assert result.refused_hosts == ()


async def test_a_list_of_nobody_is_no_network(contained: Containment, tmp_path: Path) -> None:
    runner = CommandRunner(contained, lambda pgid, alive: None)
    demand = ContainmentDemand(required=True, network="listed")
    result = await runner.run(View(tmp_path), ["/bin/sh", "-c", "echo $HTTPS_PROXY"], 20, demand)
    assert (result.network, result.output) == ("off", "\n")


async def test_two_commands_do_not_see_each_other(contained: Containment, tmp_path: Path) -> None:
    listening = "touch started; timeout 100 python3 -m http.server 8080 >/dev/null 2>&1"
    runner = CommandRunner(contained, lambda pgid, alive: None)
    demand = ContainmentDemand(required=True, network="listed", hosts=["example.org"])
    folder = tmp_path / "folder"
    folder.mkdir()
    name = runner.background.start("run", View(folder), ["/bin/sh", "-c", listening], demand)
    waiting = "while [ ! -e started ]; do sleep 0.01; done; sleep 0.3; curl -sS -m 2 http://localhost:8080/"
    result = await runner.run(View(folder), ["/bin/sh", "-c", waiting], 20, demand)
    assert result.exit_code != 0
    report = await runner.background.look("run", name, 0)
    assert report is not None
    assert report.running
    await runner.background.end("run")


async def test_a_signal_of_a_closed_pipe_ends_a_command(contained: Containment, tmp_path: Path) -> None:
    """A program between must not leave its own way of handling signals behind."""
    command = "yes 2>&1 | head -n 1; grep SigIgn /proc/self/status"
    result = await run(contained, tmp_path / "folder", command)
    assert result.output.split() == ["y", "SigIgn:", "0000000000000000"]


async def test_cancelling_leaves_nothing(contained: Containment, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, contained, folder, "touch started; sleep 1000 & setsid sleep 1000")
        with anyio.fail_after(PATIENCE_S):
            while not (folder / "started").exists():  # noqa: ASYNC110 - another program makes it
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert [path.name for path in folder.iterdir()] == ["started"], "placeholders are gone as well"


async def test_what_was_not_seen_to_work_is_not_claimed(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert not await Bubblewrap(str(broken), frozenset({"on", "off"})).offers("listed")
    assert not await Bubblewrap("/nowhere/bwrap", frozenset({"on", "off"})).offers("listed")
    assert not await Bubblewrap("/nowhere/bwrap").offers("off")


async def test_a_broken_program_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexec sleep 0\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = await probe()
    assert (found.name, found.active) == ("none", False)
    assert await found.offers("on")
    assert not await found.offers("off")
