"""The routes through the typed client: what the desktop does, against a real server."""

# ruff: noqa: ASYNC240 — a test may block its own loop

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holaboss_client.client import RuntimeClient
from holaboss_client.config import PutBackgroundTasks, PutProfile, PutProvider
from holaboss_client.problems import ProblemError
from holaboss_client.workspaces import CreateWorkspace, PatchWorkspace
from holaboss_runtime.cli.openapi import write_openapi
from tests.support.exposure import files_holding
from tests.support.scripted_provider import ScriptedProvider
from tests.support.server import RuntimeProcess

pytestmark = pytest.mark.anyio


async def test_configuration_providers_and_keys(runtime: RuntimeProcess) -> None:
    marker = "sk-marker-9876543210"
    async with runtime.client() as client:
        assert (await client.status()).harness == "native"
        with ScriptedProvider(key=marker, models=("one",)) as provider:
            catalogue = await client.put_provider("mine", PutProvider(base_url=provider.url, models=["one"]))
            assert catalogue.default_model == "mine/one"
            assert (await client.test_provider("mine")).outcome == "bad_key"
            assert (await client.put_secret("mine", marker)).key_state == "keychain"
            assert (await client.test_provider("mine", model="one")).outcome == "ok"
            assert (await client.test_provider("mine", api_key="sk-wrong-9876543210")).outcome == "bad_key"
        await client.put_background_tasks(PutBackgroundTasks(provider="mine", model="one"))
        assert (await client.config()).default_provider == "mine"
        assert (await client.delete_secret("mine")).key_state == "none"
        assert (await client.delete_provider("mine")).default_model is None
        assert isinstance((await client.local_servers()).items, list)
    assert files_holding(runtime.root, marker) == []
    assert marker not in runtime.log


async def test_the_profile_keeps_what_a_person_typed(runtime: RuntimeProcess) -> None:
    async with runtime.client() as client:
        assert (await client.profile()).name is None
        assert (await client.put_profile(PutProfile(name=" Ada "))).name == "Ada"
        kept = await client.put_profile(PutProfile(name="guess", name_source="agent"))
        assert (kept.name, kept.name_source) == ("Ada", "manual")


async def test_workspaces_and_their_files(runtime: RuntimeProcess) -> None:
    async with runtime.client() as client:
        made = await client.create_workspace(CreateWorkspace(name="w"))
        assert (await client.workspace(made.id)).name == "w"
        assert (await client.patch_workspace(made.id, PatchWorkspace(icon="star"))).icon == "star"
        seen = await client.file(made.id, "AGENTS.md")
        written = await client.put_file(made.id, "AGENTS.md", b"Be kind.", expected_sha256=seen.sha256)
        with pytest.raises(ProblemError) as raised:
            await client.put_file(made.id, "AGENTS.md", b"Be bad.", expected_sha256=seen.sha256)
        assert (raised.value.problem.status, raised.value.problem.code) == (409, "file_changed")
        assert (await client.file(made.id, "AGENTS.md")).sha256 == written.sha256
        await client.put_file(made.id, "a b/ü #1?.txt", b"x")
        (entry,) = (await client.folder(made.id, "a b")).entries
        assert (await client.file(made.id, entry.path)).content == "x"
        with pytest.raises(ProblemError) as raised:
            await client.file(made.id, "..%2f..%2fstate/runtime-config.json")
        assert raised.value.problem.status in (400, 404)
        with pytest.raises(ProblemError) as raised:
            await client.file(made.id, "../../state/runtime.db")
        assert raised.value.problem.code in ("path_outside_workspace", "route_not_found")
        await client.delete_workspace(made.id)
        assert not Path(made.workspace_path).exists()


async def test_an_unexpected_error_is_a_problem_that_hides_its_message(tmp_path: Path) -> None:
    with RuntimeProcess(tmp_path / "root") as runtime:
        async with runtime.client() as client:
            made = await client.create_workspace(CreateWorkspace(name="w"))
            (Path(made.workspace_path) / ".holaboss" / "workspace_id").unlink()
            (runtime.root / "state" / "runtime-config.json").mkdir()
            with pytest.raises(ProblemError) as raised:
                await client.put_provider("demo", PutProvider())
            assert raised.value.problem.code == "config_not_writable"
            assert raised.value.problem.status == 503


async def test_a_shutdown_is_answered_and_obeyed(tmp_path: Path) -> None:
    runtime = RuntimeProcess(tmp_path / "root")
    runtime.start()
    async with RuntimeClient(runtime.url, runtime.token) as client:
        changes = client.changes()
        assert await anext(changes) is None
        await client.shutdown()
        kinds = [change.kind async for change in changes if change is not None]
    assert kinds[-1] == "shutdown"
    assert runtime.stop() == 0


def test_the_description_of_the_interface_is_the_one_in_the_repository(tmp_path: Path) -> None:
    written = tmp_path / "openapi.json"
    assert write_openapi(str(written)) == 0
    kept = Path(__file__).parents[3] / "docs" / "openapi.json"
    assert json.loads(written.read_text()) == json.loads(kept.read_text()), (
        "run: holaboss-runtime openapi docs/openapi.json"
    )
    assert write_openapi(str(tmp_path / "no" / "folder.json")) == 1
