"""Pictures: read by the model, and drawn for it by a provider that is a real server on this machine."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.harness.contract import ImageClient, ModelFacts, WireProtocol
from holaboss_runtime.harness.host.pictures import media_type_of
from holaboss_runtime.harness.host.sandbox import LocalSandbox
from holaboss_runtime.harness.host.tools.image_generate import IMAGE_GENERATE, about
from holaboss_runtime.harness.host.web.drawing import Size, size_of
from holaboss_runtime.harness.host.web.errors import WebError
from tests.runtime.harness.asking import PROTOCOLS, ending, history, told
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.runtime.harness.single_tool import sandbox_with
from tests.support.http_server import HttpServer, Request, Wire
from tests.support.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.anyio

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
ENCODED = base64.b64encode(PNG).decode()
KEY = "image-key-91c2"


class Painter:
    """Answers with `payload`, keeps what it was asked."""

    def __init__(self, payload: Any, status: int = 200) -> None:
        self.payload = payload
        self.status = status
        self.requests: list[Request] = []

    async def handle(self, request: Request, wire: Wire) -> None:
        self.requests.append(request)
        wire.send_json(self.status, self.payload)


OPENAI = {"created": 1, "data": [{"b64_json": ENCODED}]}
OPENROUTER = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "Here.",
                "images": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}}],
            }
        }
    ]
}
GEMINI = {
    "candidates": [
        {
            "content": {
                "parts": [{"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": ENCODED}}]
            }
        }
    ]
}
KINDS: dict[str, Any] = {"openai_images": OPENAI, "openrouter_chat": OPENROUTER, "gemini": GEMINI}


def hand(workspace: Path, kind: Any, url: str, **fields: Any) -> LocalSandbox:
    client = ImageClient(provider_id="p", model_id="painter-1", kind=kind, base_url=url, api_key=KEY)
    return sandbox_with(workspace, IMAGE_GENERATE, image_generation=client, **fields)


async def drawn(workspace: Path, kind: str, painter: Painter, **arguments: Any) -> Any:
    with HttpServer(painter.handle) as server:
        sandbox = hand(workspace, kind, f"{server.url}/v1")
        return await sandbox.execute("image_generate", {"prompt": "A red fox", **arguments})


@pytest.mark.parametrize("kind", KINDS)
async def test_a_picture_is_drawn_kept_and_remembered(workspace: Path, kind: str) -> None:
    painter = Painter(KINDS[kind])
    outcome = await drawn(workspace, kind, painter, size="16:9")
    assert not outcome.error, outcome.text
    assert outcome.changed_paths == ("outputs/images/a-red-fox.png",)
    assert (workspace / "outputs/images/a-red-fox.png").read_bytes() == PNG
    (output,) = outcome.outputs
    assert (output.output_type, output.file_path) == ("image", "outputs/images/a-red-fox.png")
    assert output.metadata["mime_type"] == "image/png"
    assert outcome.details["output_id"] == output.output_id
    (request,) = painter.requests
    body = request.body
    if kind == "openai_images":
        assert request.path == "/v1/images/generations"
        assert body == {"model": "painter-1", "prompt": "A red fox", "n": 1, "size": "1536x1024"}
    elif kind == "openrouter_chat":
        assert request.path == "/v1/chat/completions"
        assert body["modalities"] == ["image", "text"]
        assert body["image_config"] == {"aspect_ratio": "16:9", "image_size": "1K"}
    else:
        assert request.path == "/v1/models/painter-1:generateContent"
        assert request.headers["x-goog-api-key"] == KEY
        assert body["generationConfig"]["imageConfig"] == {"aspectRatio": "16:9", "imageSize": "1K"}
    if kind != "gemini":
        assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_no_picture_overwrites_another(workspace: Path) -> None:
    for _ in range(3):
        await drawn(workspace, "openai_images", Painter(OPENAI), filename="../../fox.png")
    names = sorted(path.name for path in (workspace / "outputs/images").iterdir())
    assert names == ["fox-2.png", "fox-3.png", "fox.png"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("payload", "status", "said"),
    [
        ({}, 200, "made no picture"),
        ({"data": [], "choices": [], "candidates": []}, 200, "made no picture"),
        ({"data": 3, "choices": [3], "candidates": [{"content": 3}]}, 200, "made no picture"),
        ({"error": {"message": "That is not allowed."}}, 400, "That is not allowed"),
        ({}, 401, "does not accept the key"),
        ([], 200, "not an answer"),
    ],
)
async def test_what_is_no_picture_is_a_sentence(
    workspace: Path, kind: str, payload: Any, status: int, said: str
) -> None:
    outcome = await drawn(workspace, kind, Painter(payload, status))
    assert outcome.error
    assert said in outcome.text
    assert KEY not in outcome.text
    assert not (workspace / "outputs").exists()


@pytest.mark.parametrize("data", ["no base64!", base64.b64encode(b"<html>").decode(), "A" * 30_000_000])
async def test_what_pretends_to_be_a_picture_is_refused(workspace: Path, data: str) -> None:
    outcome = await drawn(workspace, "openai_images", Painter({"data": [{"b64_json": data}]}))
    assert outcome.error
    assert not (workspace / "outputs").exists()


async def test_what_a_model_said_instead_is_passed_on(workspace: Path) -> None:
    refusal = {"choices": [{"message": {"content": "I will not draw that."}}]}
    outcome = await drawn(workspace, "openrouter_chat", Painter(refusal))
    assert "I will not draw that." in outcome.text


async def test_where_nothing_may_be_written_nothing_is_asked(workspace: Path) -> None:
    (workspace / "outputs").symlink_to(workspace.parent)
    painter = Painter(OPENAI)
    assert (await drawn(workspace, "openai_images", painter)).error
    assert painter.requests == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, Size()),
        ("auto", Size()),
        ("1024x1024", Size("1024x1024", "1:1", "1K")),
        ("1536 x 1024", Size("1536x1024", "3:2", "1K")),
        ("3840x2160", Size("3840x2160", "16:9", "4K")),
        ("9:16", Size("", "9:16", "1K")),
        ("16:9 4K", Size("", "16:9", "4K")),
        ("2k", Size("", "1:1", "2K")),
        ("1000:1", Size("", "1:1", "1K")),
    ],
)
def test_sizes(text: str | None, size: Size) -> None:
    assert text == "1000:1" or size_of(text) == size


@pytest.mark.parametrize("text", ["huge", "0:0", "x", "10x"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(WebError, match="not a size"):
        size_of(text)


def test_the_gate_knows_where_pictures_go() -> None:
    assert about({"prompt": "x"}).writes == ("outputs/images/",)


# Reading


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_pictures_are_known_by_what_they_are(content: bytes, kind: str | None) -> None:
    assert media_type_of(content) == kind


async def test_a_picture_is_read_only_by_a_model_that_can_see(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(PNG)
    seen = await local_sandbox(workspace).execute("read", {"path": "a.txt"})
    assert [(one.content, one.media_type) for one in seen.pictures] == [(PNG, "image/png")]
    blind = local_sandbox(workspace, model_facts=ModelFacts(takes_images=False))
    outcome = await blind.execute("read", {"path": "a.txt"})
    assert outcome.error
    assert "cannot look at pictures" in outcome.text
    (workspace / "big.png").write_bytes(PNG + b"\0" * (10 * 1024 * 1024))
    assert (await local_sandbox(workspace).execute("read", {"path": "big.png"})).error


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_picture_reaches_the_model_once(
    provider: ScriptedProvider,
    listener: Listener,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    (workspace / "dot.png").write_bytes(PNG)
    provider.enqueue(call("read", path="dot.png"), say("A dot."), say("Still a dot."))
    events = await listener.run(package(protocol=protocol))
    status, result = ending(events)
    assert status == "success"
    assert ENCODED in json.dumps(provider.requests[1].body)
    (shown,) = told(events, "completed")
    assert "dot.png is a picture (png, " in shown["result"]["content"][0]["text"]
    assert ENCODED not in json.dumps([event.payload for event in events])
    assert result.history is not None
    assert ENCODED not in json.dumps(result.history.payload)
    again = await listener.run(package(protocol=protocol, history=history(result)))
    assert ending(again)[0] == "success"
    assert ENCODED not in json.dumps(provider.requests[2].body)
    assert "A picture was shown here" in json.dumps(provider.requests[2].body)
