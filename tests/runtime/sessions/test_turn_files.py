"""Files of messages stand in the pages of a transcript and beside what waits."""

from __future__ import annotations

import pytest

from holaboss_client.attachments import MessageAttachment
from tests.runtime.sessions.core import Core
from tests.support.fake_harness import Stage

pytestmark = pytest.mark.anyio


def notes(core: Core, **more: object) -> dict[str, object]:
    (core.folder / "notes.txt").write_text("hello")
    return {"workspace_path": "notes.txt"} | more


async def test_a_turn_and_a_waiting_message_name_their_files(core: Core) -> None:
    given = notes(core, name="notes.txt", kind="file", size=5)
    file = MessageAttachment(workspace_path="notes.txt", name="notes.txt", kind="file", size=5)

    async def queue_another(stage: Stage) -> None:
        if stage.package.instruction == "first":
            core.send("second", attachments=[given])
            (waiting,) = core.sessions.transcript.index("s1").queued
            assert waiting.attachments == [file]
            (live,) = core.sessions.transcript.turns("s1", from_seq=0, limit=10).items
            assert live.attachments == [file]
        stage.say("done")

    core.harness.script = queue_another
    await core.ask("first", attachments=[given, given])
    await core.until(lambda: len(core.sessions.transcript.index("s1").rows) == 2)
    turns = core.sessions.transcript.turns("s1", from_seq=0, limit=10).items
    assert [(turn.text, turn.attachments) for turn in turns] == [("first", [file]), ("second", [file])]


async def test_what_a_client_left_out_is_filled_in(core: Core) -> None:
    await core.ask("look", attachments=[notes(core, size=-1, name=None)])
    (turn,) = core.sessions.transcript.turns("s1", from_seq=0, limit=10).items
    assert turn.attachments == [MessageAttachment(workspace_path="notes.txt", name="notes.txt")]
    await core.ask("nothing attached")
    assert core.sessions.transcript.turns("s1", from_seq=0, limit=10).items[-1].attachments == []
