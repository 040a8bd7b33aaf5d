"""The files of a message on their way into a run, and what is said before sending."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holaboss_runtime.errors import DomainError
from holaboss_runtime.runs.attachments import MAX_ATTACHMENTS, attachments_of, has_images
from tests.runtime.sessions.core import Core, running_core

pytestmark = pytest.mark.anyio

DATA = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    async with running_core(tmp_path) as core:
        yield core


def payload(*paths: str, **fields: Any) -> dict[str, Any]:
    return {"attachments": [{"workspace_path": path} for path in paths]} | fields


def test_kinds_names_and_repetitions(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "photo.JPG").write_bytes(b"x")
    (tmp_path / "a.txt").write_text("x")
    found = attachments_of(
        [payload("photo.JPG", "folder.png"), payload("a.txt", "photo.JPG", "gone.webp")], tmp_path
    )
    assert [(one.workspace_path, one.kind, one.mime_type) for one in found] == [
        ("photo.JPG", "image", "image/jpeg"),
        ("folder.png", "folder", None),
        ("a.txt", "file", None),
        ("gone.webp", "image", "image/webp"),
    ]


def test_what_leads_out_by_now_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    (folder / ".holaboss" / "input-attachments" / "b").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    paths = ("../x", "/etc/hostname", "link/x", ".holaboss/workspace_id", ".openboa/x", "")
    assert attachments_of([payload(*paths)], folder) == []
    assert len(attachments_of([payload(".holaboss/input-attachments/b/a.txt")], folder)) == 1
    many = payload(*(f"{number}.txt" for number in range(200)))
    assert len(attachments_of([many], folder)) == MAX_ATTACHMENTS


def test_pictures_are_recognised_by_name() -> None:
    assert has_images(payload("a/photo.PNG"))
    assert has_images({"image_urls": [DATA]})
    assert not has_images(payload("a.txt", "b.pdf"))
    assert not has_images({"attachments": [{"workspace_path": "holiday.png", "kind": "folder"}]})


async def test_a_model_that_cannot_see_says_so_before_sending(core: Core) -> None:
    (core.folder / "photo.png").write_bytes(b"x")
    core.models.blind = {"openai/blind"}
    picture = [{"workspace_path": "photo.png"}]
    for fields in ({"attachments": picture}, {"image_urls": [DATA]}):
        with pytest.raises(DomainError) as refused:
            core.send("look", model="openai/blind", **fields)
        assert (refused.value.kind, refused.value.code) == ("unprocessable", "model_takes_no_images")
    assert core.records.sessions.get("s1") is None
    (core.folder / "workspace.yaml").write_text("agents:\n  id: workspace.general\n  model: openai/blind\n")
    with pytest.raises(DomainError):
        core.send("look", attachments=picture)
    await core.terminal(core.send("look", model="openai/other", attachments=picture))
    await core.terminal(core.send("read", attachments=[{"workspace_path": "workspace.yaml"}]))


async def test_pictures_of_the_message_reach_the_executor(core: Core) -> None:
    await core.terminal(core.send("", image_urls=[DATA]))
    package = core.harness.packages[0]
    assert package.image_urls == [DATA]
    snapshot = core.records.snapshots.get(package.input_id)
    assert snapshot is None or DATA not in str(snapshot.payload)


async def test_facts_of_the_model_reach_the_executor(core: Core) -> None:
    await core.terminal(core.send("hello"))
    facts = core.harness.packages[0].model_facts
    assert (facts.context_window, facts.max_output, facts.takes_images) == (65_536, 8_192, True)


@pytest.mark.parametrize("path", [".holaboss/workspace_id", ".holaboss/undo/x", ".openboa/agents"])
async def test_what_is_private_cannot_be_attached(core: Core, path: str) -> None:
    with pytest.raises(DomainError) as refused:
        core.send("look", attachments=[{"workspace_path": path}])
    assert refused.value.code == "path_reserved"
