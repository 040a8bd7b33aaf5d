"""The list of workspaces and the open one, against HTTP."""

from __future__ import annotations

import pytest

from holaboss_app.services.settings_store import SettingsStore
from holaboss_app.shell.workspaces import Workspaces
from holaboss_client.events import ChangeEvent
from holaboss_client.problems import ProblemError, RuntimeUnreachableError
from tests.app.conftest import QLoop
from tests.app.shell.conftest import FakeRuntime, workspace_record


def change(kind: str) -> ChangeEvent:
    return ChangeEvent(id=1, kind=kind, created_at="2026-01-01T00:00:00.000Z")


def test_the_workspace_of_last_time_is_opened_again(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        runtime.workspaces = [workspace_record(1, "b"), workspace_record(2, "A")]
        settings.update(last_workspace="w1")
        workspaces = Workspaces(settings, pytest.fail)
        opened: list[str | None] = []
        workspaces.opened.connect(lambda item: opened.append(item and item.id))
        async with runtime.client() as client:
            await workspaces.attach(client)
            assert [item.name for item in workspaces.items] == ["A", "b"]
            workspaces.open("w2")
            workspaces.open("no such")
            await workspaces.refresh()
        assert opened == ["w1", "w2"]
        assert settings.settings.last_workspace == "w2"
        await workspaces.close()
        await settings.close()

    qloop.run(scenario())


def test_create_rename_delete(qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore) -> None:
    async def scenario() -> None:
        workspaces = Workspaces(settings, pytest.fail)
        async with runtime.client() as client:
            await workspaces.attach(client)
            assert workspaces.current is None
            made = await workspaces.create("Research")
            assert workspaces.current == made
            await workspaces.rename(made.id, "Reading")
            assert workspaces.current.name == "Reading"
            await workspaces.delete(made.id, keep_files=True)
        assert workspaces.items == []
        assert workspaces.current is None
        assert runtime.deleted == [(made.id, "true")]
        await workspaces.close()
        await settings.close()

    qloop.run(scenario())


def test_a_refusal_changes_nothing_and_says_why(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        workspaces = Workspaces(settings, pytest.fail)
        with pytest.raises(RuntimeUnreachableError):
            await workspaces.create("Too early")
        runtime.refuse = "The folder is not empty."
        async with runtime.client() as client:
            await workspaces.attach(client)
            with pytest.raises(ProblemError, match=r"The folder is not empty\."):
                await workspaces.create("Research")
        assert workspaces.items == []
        await workspaces.close()

    qloop.run(scenario())


def test_changes_made_elsewhere_are_followed(
    qloop: QLoop, runtime: FakeRuntime, settings: SettingsStore
) -> None:
    async def scenario() -> None:
        workspaces = Workspaces(settings, pytest.fail)
        async with runtime.client() as client:
            await workspaces.attach(client)
            runtime.workspaces = [workspace_record(1, "new")]
            workspaces.on_change(change("files"))
            assert not workspaces._tasks._tasks
            workspaces.on_change(change("workspace"))
            for task in list(workspaces._tasks._tasks):
                await task
        assert workspaces.current is not None
        assert workspaces.current.name == "new"
        await workspaces.close()
        await settings.close()

    qloop.run(scenario())
