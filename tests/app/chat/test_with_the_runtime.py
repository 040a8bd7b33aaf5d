"""The chat over a runtime server of its own and a model on loopback: what the runtime in memory must not get wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from holaboss_app.core.reducer import Status
from holaboss_app.panes.chat.turn_widget import TurnWidget
from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutProvider
from holaboss_client.workspaces import CreateWorkspace
from tests.app.chat.stage import Chat
from tests.support.scripted_provider import Answer, ScriptedProvider, pause_after, say
from tests.support.server import RuntimeProcess

KEY = "sk-of-this-test"
PROVIDER = "mine"


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(key=KEY) as running:
        yield running


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[RuntimeProcess]:
    with RuntimeProcess(tmp_path / "root", keys={PROVIDER: KEY}) as running:
        yield running


async def until(condition: Callable[[], object], what: str) -> None:
    for _ in range(1_500):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"it never happened: {what}")


async def follow(client: RuntimeClient, chat: Chat) -> None:
    """The change feed, as the shell hands it on."""
    async with aclosing(client.changes()) as changes:
        async for event in changes:
            if event is not None:
                chat.presenter.on_change(event)


class Talk:
    """A conversation in a new workspace; `async with` attaches and lets go again."""

    def __init__(self, chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider) -> None:
        self._chat, self._client, self._provider = chat, runtime.client(), provider

    async def __aenter__(self) -> Talk:
        client, presenter = self._client, self._chat.presenter
        body = PutProvider(
            name="My models",
            kind="openai_compatible",
            base_url=f"{self._provider.url}/v1",
            models=["scripted"],
        )
        presenter.set_catalogue(await client.put_provider(PROVIDER, body))
        workspace = await client.create_workspace(CreateWorkspace(name="one"))
        self._feed = asyncio.create_task(follow(client, self._chat))
        presenter.attach(client)
        await presenter.show_workspace(workspace)
        self._chat.pane.composer.picker.set_model(f"{PROVIDER}/scripted")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._feed.cancel()
        await asyncio.wait({self._feed})
        await self._chat.presenter.close()
        await self._client.aclose()

    def write(self, text: str) -> None:
        self._chat.pane.composer.text = text
        self._chat.pane.composer.field.submitted.emit()


def test_what_waits_behind_a_stopped_answer_can_be_let_go_on(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider
) -> None:
    held = pause_after(2, say("A long answer that somebody stops."))
    assert held.gate is not None
    gate = held.gate
    provider.enqueue(held, say("The second answer."))

    async def stop_and_resume() -> None:
        async with Talk(chat, runtime, provider) as talk:
            talk.write("First")
            await gate.wait_async()
            await until(lambda: chat.presenter._sending.busy, "the first answer has begun")
            talk.write("Second")
            await until(lambda: chat.waiting == ["Second"], "the second message waits")
            chat.pane.composer.stop_requested.emit()
            await until(lambda: chat.banner("held"), "the offer to go on")
            assert chat.turns[0][2] is Status.PAUSED
            assert chat.waiting == ["Second"]
            assert not chat.pane.composer._busy
            chat.pane.banners.acted.emit("held")
            await until(lambda: chat.turns[-1][1:] == ("The second answer.", Status.COMPLETED), "an answer")
            assert not chat.banner("held")
            assert chat.waiting == []
        gate.release()

    chat.qloop.run(stop_and_resume(), timeout_s=60)


def test_another_attempt_is_announced_with_its_reason(
    chat: Chat, runtime: RuntimeProcess, provider: ScriptedProvider
) -> None:
    provider.enqueue(Answer(status=503, message="Overloaded, come back later."), say("Now I can."))
    said: list[str] = []

    def take_note() -> None:
        widgets = chat.pane.transcript.viewport().findChildren(TurnWidget)
        said.extend(widget._activity.accessibleName() for widget in widgets if widget.isVisible())

    chat.pane.transcript.flushed.connect(take_note)

    async def try_again() -> None:
        async with Talk(chat, runtime, provider) as talk:
            talk.write("Hello")
            await until(lambda: chat.turns and chat.turns[-1][2] is Status.COMPLETED, "an answer")
            assert chat.turns[-1][1] == "Now I can."

    chat.qloop.run(try_again(), timeout_s=60)
    (waiting,) = {text for text in said if text.startswith("Trying again")}
    assert "in 2 s" in waiting or "in 3 s" in waiting
    assert "attempt 2 of 4" in waiting
    assert waiting.endswith("Overloaded, come back later.")
