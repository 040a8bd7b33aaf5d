"""Searching and downloading, against real servers on this machine."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import SearchClient
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.throwaway import ask_helper
from holaboss_runtime.harness.host.tools.download_url import DOWNLOAD_URL, about, download_tool
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.harness.host.tools.web_search import web_search_tool
from holaboss_runtime.harness.host.web.addresses import AddressError, is_public, resolve
from holaboss_runtime.harness.host.web.errors import WebError
from holaboss_runtime.harness.host.web.fetch import Fetcher
from holaboss_runtime.harness.host.web.names import name_of_download, safe_name
from holaboss_runtime.harness.host.web.results import PREFACE, SearchResult, rendered, results_of
from holaboss_runtime.harness.host.web.search import (
    BraveSearch,
    ExaSearch,
    KeylessSearch,
    Searcher,
    TavilySearch,
    searcher_of,
)
from tests.runtime.harness.asking import policy
from tests.runtime.harness.single_tool import sandbox_with
from tests.support.http_server import HttpServer, Request, Wire

pytestmark = pytest.mark.anyio

KEY = "search-key-7f3a"
Answer = Callable[[Request, Wire], Coroutine[Any, Any, None]]


class Recording:
    """A server that answers everything with `payload` and keeps what it was asked."""

    def __init__(self, payload: Any, status: int = 200) -> None:
        self.payload = payload
        self.status = status
        self.requests: list[Request] = []

    async def handle(self, request: Request, wire: Wire) -> None:
        self.requests.append(request)
        if isinstance(self.payload, bytes):
            wire.send(self.status, self.payload)
        else:
            wire.send_json(self.status, self.payload)


# Searching by key

EXA = {"results": [{"title": "One", "url": "https://one.example/", "text": "First", "score": 0.3}]}
TAVILY = {"results": [{"title": "One", "url": "https://one.example/", "content": "First"}]}
BRAVE = {
    "web": {
        "results": [{"title": "One", "url": "https://one.example/", "description": "<strong>First</strong>"}]
    }
}
MAKERS: dict[str, tuple[Callable[[str, str], Searcher], Any]] = {
    "exa": (ExaSearch, EXA),
    "tavily": (TavilySearch, TAVILY),
    "brave": (BraveSearch, BRAVE),
}


@pytest.mark.parametrize("name", MAKERS)
async def test_a_service_is_asked_in_its_own_words(name: str) -> None:
    make, answer = MAKERS[name]
    recording = Recording(answer)
    with HttpServer(recording.handle) as server:
        found = await make(KEY, server.url).search("spring weather", 3)
    assert found == [SearchResult("One", "https://one.example/", "First")]
    (request,) = recording.requests
    if name == "exa":
        assert (request.method, request.path) == ("POST", "/search")
        assert request.headers["x-api-key"] == KEY
        assert (request.body["query"], request.body["numResults"]) == ("spring weather", 3)
        assert request.body["contents"]["text"]["maxCharacters"] > 0
    elif name == "tavily":
        assert (request.method, request.path) == ("POST", "/search")
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert (request.body["query"], request.body["max_results"]) == ("spring weather", 3)
    else:
        assert (request.method, request.path) == ("GET", "/res/v1/web/search")
        assert request.headers["x-subscription-token"] == KEY
        assert "q=spring" in request.query
        assert "count=3" in request.query


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("status", "payload", "said"),
    [
        (401, {"error": "bad key"}, "does not accept the key"),
        (403, {}, "does not accept the key"),
        (429, {}, "Try again later"),
        (500, {"error": {"message": "broken inside"}}, "broken inside"),
        (302, {}, "refused \\(302\\)"),
        (200, b"<html>", "not an answer"),
        (200, [1, 2], "not an answer"),
    ],
)
async def test_what_goes_wrong_is_a_sentence_without_the_key(
    name: str, status: int, payload: Any, said: str
) -> None:
    with (
        HttpServer(Recording(payload, status).handle) as server,
        pytest.raises(WebError, match=said) as raised,
    ):
        await MAKERS[name][0](KEY, server.url).search("x", 3)
    assert KEY not in str(raised.value)


async def test_an_answer_without_end_is_cut_off() -> None:
    async def flood(request: Request, wire: Wire) -> None:
        wire.begin(200, "application/json")
        for _ in range(24):  # three times what is read: writing on would only fill the memory of this process
            wire.chunk(b" " * 1_000_000)
            await asyncio.sleep(0)

    with HttpServer(flood) as server, pytest.raises(WebError, match="more than 8 MB"):
        await ExaSearch(KEY, server.url).search("x", 1)


async def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with HttpServer(Recording({}).handle) as server:
        url = server.url
    with pytest.raises(WebError, match="cannot be reached"):
        await ExaSearch(KEY, url).search("x", 1)


@pytest.mark.parametrize(
    "junk", [None, "x", 3, {}, [None, 3, "x", {}, {"url": 3}, {"url": "javascript:alert(1)"}]]
)
def test_junk_among_results_is_skipped(junk: Any) -> None:
    assert results_of(junk, title="title", url="url", snippets=("text",)) == []


def test_results_are_one_line_each_without_markup_and_bounded() -> None:
    wild = {
        "title": "A\x1b[31m <b>bold</b>\n\u202etitle " + "x" * 1000,
        "url": "https://a.example/",
        "text": "one\ntwo &amp; three " + "y" * 10_000,
    }
    (found,) = results_of([wild], title="title", url="url", snippets=("text",))
    assert found.title.startswith("A bold title")
    assert found.snippet.startswith("one two & three")
    assert (len(found.title), len(found.snippet)) <= (200, 1200)
    text = rendered([found])
    assert text.startswith(PREFACE)
    assert "1. A bold" in text


async def test_the_tool_numbers_what_was_found_and_shows_it(workspace: Path) -> None:
    class Two:
        async def search(self, query: str, count: int) -> list[SearchResult]:
            assert (query, count) == ("q", 2)
            return [
                SearchResult("One", "https://1.example/", "a"),
                SearchResult("Two", "https://2.example/", ""),
            ]

    sandbox = sandbox_with(
        workspace, web_search_tool(lambda _: Two()), web_search=SearchClient(provider="exa")
    )
    outcome = await sandbox.execute("web_search", {"query": "q", "num_results": 2})
    assert "1. One\n   https://1.example/\n   a\n\n2. Two\n   https://2.example/" in outcome.text
    assert outcome.details["results"][1] == {"title": "Two", "url": "https://2.example/"}
    for wrong in ({"query": ""}, {"query": "x", "num_results": 11}, {"query": "x" * 401}, {}):
        assert (await sandbox.execute("web_search", wrong)).error
    nobody = sandbox_with(workspace, web_search_tool())
    assert "no web search" in (await nobody.execute("web_search", {"query": "q"})).text


def test_each_provider_has_its_searcher() -> None:
    kinds = {
        provider: type(searcher_of(SearchClient(provider=provider, api_key=KEY)))
        for provider in ("exa", "tavily", "brave", "keyless", "native")
    }
    assert list(kinds.values()) == [ExaSearch, TavilySearch, BraveSearch, KeylessSearch, KeylessSearch]


async def test_a_service_whose_key_is_missing_is_not_asked() -> None:
    for provider in ("exa", "tavily", "brave"):
        with pytest.raises(WebError, match="key"):
            await searcher_of(SearchClient(provider=provider)).search("x", 1)


# Searching without a key: the library, in a process of its own


async def test_without_the_internet_a_search_without_a_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WebError, match="public search services"):
        await KeylessSearch().search("anything", 3)


def test_the_shape_of_the_library_is_what_is_read() -> None:
    from ddgs.results import TextResult

    fields = set(vars(TextResult()))
    assert {"title", "href", "body"} <= fields
    listed = [{"title": "One", "href": "https://one.example/", "body": "First"}]
    assert results_of(listed, title="title", url="href", snippets=("body",)) == [
        SearchResult("One", "https://one.example/", "First")
    ]


async def test_a_helper_nobody_knows_is_an_answer_that_did_not_finish() -> None:
    answer = await ask_helper("nobody", {}, 20)  # type: ignore[arg-type]
    assert not answer.finished
    assert answer.said == []


# Which addresses


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "198.18.0.1", "192.0.0.192", "168.63.129.16", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
        "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "::7f00:1",
    ],
)  # fmt: skip
def test_what_is_not_public_is_not_reached(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"])
def test_what_is_public_is(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "2130706433", "0x7f.1", "0"])
async def test_no_way_to_write_this_machine_gets_through(host: str) -> None:
    with pytest.raises(AddressError):
        await resolve(host, 80)


# Downloading


@pytest.fixture
def fetcher() -> Fetcher:
    return Fetcher(loopback=True, max_bytes=100_000)


@contextmanager
def serving(**answers: tuple[int, bytes, dict[str, str]]) -> Iterator[HttpServer]:
    async def handle(request: Request, wire: Wire) -> None:
        status, content, headers = answers.get(request.path.strip("/").partition(".")[0], (404, b"", {}))
        wire.send(status, content, headers)

    with HttpServer(handle) as server:
        yield server


def ok(
    content: bytes, kind: str = "text/plain; charset=utf-8", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    return (
        200,
        content,
        {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()},
    )


def hand(workspace: Path, fetcher: Fetcher, **fields: Any) -> LocalSandbox:
    return sandbox_with(workspace, download_tool(fetcher), **fields)


async def download(sandbox: LocalSandbox, url: str, **arguments: Any) -> ToolOutcome:
    return await sandbox.execute("download_url", {"url": url, **arguments})


def left(workspace: Path) -> list[str]:
    files = (path for path in workspace.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(workspace)) for path in files if ".holaboss" not in path.parts)


async def test_a_file_arrives_where_it_belongs(workspace: Path, fetcher: Fetcher) -> None:
    with serving(paper=ok(b"%PDF", "application/pdf")) as server:
        outcome = await download(hand(workspace, fetcher), f"{server.url}/paper.pdf?x=1")
        assert not outcome.error, outcome.text
        assert outcome.changed_paths == ("Downloads/paper.pdf",)
        assert (workspace / "Downloads/paper.pdf").read_bytes() == b"%PDF"
        assert outcome.details["mime_type"] == "application/pdf"
        assert outcome.details["size_bytes"] == 4
        named = await download(hand(workspace, fetcher), f"{server.url}/paper", output_path="a/b.bin")
        assert named.changed_paths == ("a/b.bin",)
        folder = await download(hand(workspace, fetcher), f"{server.url}/paper", output_path="c/")
        assert folder.changed_paths == ("c/paper.pdf",)


async def test_nothing_is_overwritten_unasked(workspace: Path, fetcher: Fetcher) -> None:
    (workspace / "Downloads").mkdir()
    (workspace / "Downloads/a.txt").write_text("mine")
    with serving(a=ok(b"theirs")) as server:
        outcome = await download(hand(workspace, fetcher), f"{server.url}/a.txt")
        assert outcome.error
        assert "exists" in outcome.text
        assert (workspace / "Downloads/a.txt").read_text() == "mine"
        assert not (await download(hand(workspace, fetcher), f"{server.url}/a.txt", overwrite=True)).error
    assert (workspace / "Downloads/a.txt").read_text() == "theirs"
    assert left(workspace) == ["Downloads/a.txt"]


@pytest.mark.parametrize(
    ("answer", "arguments", "said"),
    [
        ((404, b"", {}), {}, "404"),
        ((200, b"x" * 100_001, {}), {}, "larger than"),
        (ok(b"<html>", "text/html"), {"expected_mime_prefix": "image/"}, "text/html, not image/"),
        (ok(b"x", content_encoding="br"), {}, "compression"),
        ((302, b"", {"location": "/loop"}), {}, "redirects more than"),
        ((302, b"", {"location": "file:///etc/passwd"}), {}, "not a valid address"),
        (ok(b"x"), {"output_path": "../out"}, "outside|not lead"),
        (ok(b"x"), {"output_path": ".holaboss/x"}, "not accessible"),
    ],
)
async def test_what_is_refused_leaves_nothing(
    workspace: Path, fetcher: Fetcher, answer: Any, arguments: dict[str, Any], said: str
) -> None:
    with serving(loop=answer) as server:
        outcome = await download(hand(workspace, fetcher), f"{server.url}/loop", **arguments)
    assert outcome.error
    assert re.search(said, outcome.text), outcome.text
    assert left(workspace) == []


async def test_a_stream_that_grows_or_breaks_leaves_nothing(workspace: Path, fetcher: Fetcher) -> None:
    async def grow(request: Request, wire: Wire) -> None:
        wire.begin(200, "text/plain")
        for _ in range(200):
            wire.chunk(b"x" * 1000)
        if request.path == "/broken":
            wire.reset()

    async def broken(request: Request, wire: Wire) -> None:
        wire.begin(200, "text/plain")
        wire.chunk(b"x" * 1000)
        wire.close()

    with HttpServer(grow) as server:
        assert "larger" in (await download(hand(workspace, fetcher), f"{server.url}/big")).text
    with HttpServer(broken) as server:
        assert "broke off" in (await download(hand(workspace, fetcher), f"{server.url}/broken")).text
    assert left(workspace) == []


async def test_what_takes_too_long_ends(workspace: Path) -> None:
    async def silent(request: Request, wire: Wire) -> None:
        wire.begin(200, "text/plain")
        wire.chunk(b"x")

    slow = Fetcher(loopback=True, timeout_s=0.3)
    with HttpServer(silent) as server:
        outcome = await download(hand(workspace, slow), f"{server.url}/a")
    assert "took longer" in outcome.text
    assert left(workspace) == []


async def test_gzip_is_unpacked_within_the_bound(workspace: Path, fetcher: Fetcher) -> None:
    small, bomb = gzip.compress(b"hello"), gzip.compress(b"\0" * 10_000_000)
    with serving(s=ok(small, content_encoding="gzip"), b=ok(bomb, content_encoding="gzip")) as server:
        assert not (await download(hand(workspace, fetcher), f"{server.url}/s.txt")).error
        assert (await download(hand(workspace, fetcher), f"{server.url}/b.txt")).error
    assert left(workspace) == ["Downloads/s.txt"]
    assert (workspace / "Downloads/s.txt").read_text() == "hello"


async def test_the_tool_as_it_is_reaches_nothing_on_this_machine(workspace: Path) -> None:
    recording = Recording(b"secret")
    with HttpServer(recording.handle) as server:
        for url in (server.url, f"http://localhost:{server.port}/", f"http://[::1]:{server.port}/"):
            outcome = await download(sandbox_with(workspace, DOWNLOAD_URL), url)
            assert outcome.error
            assert "not reached" in outcome.text
    assert recording.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "file:///etc/passwd",
        "a.example",
        "http://",
        "https://me:pw@a.example/",
        "http://a b/",
        "http://[fe80::1%25eth0]/",
        "x" * 4000,
    ],
)
async def test_an_address_that_is_none_is_refused(workspace: Path, url: str) -> None:
    outcome = await download(sandbox_with(workspace, DOWNLOAD_URL), url)
    assert outcome.error
    assert "address" in outcome.text


async def test_a_redirect_to_another_host_needs_its_own_permission(workspace: Path, fetcher: Fetcher) -> None:
    async def handle(request: Request, wire: Wire) -> None:
        if request.path == "/start":
            wire.send(
                302,
                b"",
                {"location": f"http://localhost:{request.headers['host'].rpartition(':')[2]}/end.txt"},
            )
        else:
            wire.send(200, b"arrived", {"content-type": "text/plain"})

    with HttpServer(handle) as server:
        refused = await download(
            hand(workspace, fetcher, permissions=policy("always_ask")), f"{server.url}/start"
        )
        assert "permission of its own" in refused.text
        assert left(workspace) == []
        followed = await download(hand(workspace, fetcher), f"{server.url}/start")
        assert not followed.error, followed.text
    assert left(workspace) == ["Downloads/end.txt"]


async def test_the_host_that_is_asked_for_is_the_one_in_the_address(
    workspace: Path, fetcher: Fetcher
) -> None:
    recording = Recording(b"x")
    with HttpServer(recording.handle) as server:
        await download(hand(workspace, fetcher), f"http://localhost:{server.port}/a.txt")
    (request,) = recording.requests
    assert request.headers["host"] == f"localhost:{server.port}"
    assert "cookie" not in request.headers
    assert "authorization" not in request.headers


def test_the_gate_knows_host_and_place() -> None:
    facts = about({"url": "https://A.example/x?y", "output_path": "docs/x.pdf"})
    assert (facts.hosts, facts.writes) == (("a.example",), ("docs/x.pdf",))
    assert about({"url": "https://a.example/"}).writes == ("Downloads/",)
    assert about({"url": "::::"}).hosts == ()


@pytest.mark.parametrize(
    ("disposition", "url", "media_type", "name"),
    [
        ("", "https://a.example/files/report%20one.pdf", "application/pdf", "report one.pdf"),
        ('attachment; filename="../../etc/passwd"', "https://a.example/", "", "passwd"),
        ("attachment; filename*=UTF-8''na%C3%AFve%2F..%2Fx.txt", "https://a.example/", "", "x.txt"),
        ('attachment; filename=".bashrc"', "https://a.example/", "text/plain", "bashrc.txt"),
        ("", "https://a.example/", "image/png", "download.png"),
        ('attachment; filename="CON"', "https://a.example/", "", "_CON"),
        ('attachment; filename="a\\\\b:c*d?.txt"', "https://a.example/", "", "b_c_d_.txt"),
        ("attachment; filename*=nonsense''%41", "https://a.example/y.txt", "", "y.txt"),
        ('attachment; filename="\u202egnp.exe"', "https://a.example/", "", "gnp.exe"),
    ],
)
def test_names_from_elsewhere_are_made_harmless(
    disposition: str, url: str, media_type: str, name: str
) -> None:
    assert name_of_download(disposition, url, media_type) == name
    assert len(safe_name("x" * 1000 + ".txt")) <= 120
    assert safe_name("x" * 1000 + ".txt").endswith(".txt")
