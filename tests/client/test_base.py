"""Ids, times, and what the models of the contract accept and hide."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr, ValidationError

from holaboss_client.base import new_id, utc_now
from holaboss_client.config import HandedOverSecret, PatchRuntimeConfig, PutSecret
from holaboss_client.problems import Problem, ProblemError
from holaboss_client.sessions import QueueRequest, Session


def test_ids_are_version_7_and_sort_by_the_time_of_their_making(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.time_ns()
    ids: list[str] = []
    for later_ms in (0, 1, 2, 255, 256, 65_536, 10**9):
        monkeypatch.setattr(time, "time_ns", lambda at=moment + later_ms * 1_000_000: at)
        ids.append(new_id())
    assert ids == sorted(ids)
    assert {uuid.UUID(identifier).version for identifier in ids} == {7}
    assert {uuid.UUID(identifier).variant for identifier in ids} == {uuid.RFC_4122}
    assert int(ids[0].replace("-", "")[:12], 16) == moment // 1_000_000


def test_ids_of_one_moment_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: moment)
    assert len({new_id() for _ in range(1_000)}) == 1_000


def test_times_are_utc_with_milliseconds() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)  # it is cut to whole ones
    text = utc_now()
    after = datetime.now(UTC)
    assert text.endswith("Z")
    assert len(text) == len("2026-01-01T00:00:00.000Z")
    assert before < datetime.fromisoformat(text) <= after


def test_an_older_client_survives_new_fields_and_a_request_with_unknown_ones_is_refused() -> None:
    fields = {"workspace_id": "w", "session_id": "s", "kind": "k", "created_by": "u"}
    times = {"created_at": utc_now(), "updated_at": utc_now()}
    assert Session.model_validate(fields | times | {"invented_later": 1}).session_id == "s"
    with pytest.raises(ValidationError, match="txet"):
        QueueRequest.model_validate({"workspace_id": "w", "txet": "hello"})


@pytest.mark.parametrize(
    "model",
    [
        PutSecret(value=SecretStr("sk-marker")),
        HandedOverSecret(provider_id="p", value="sk-marker"),
        PatchRuntimeConfig(auth_token=SecretStr("sk-marker")),
    ],
)
def test_no_key_shows_in_a_representation(model: object) -> None:
    assert "sk-marker" not in f"{model!r} {model}"


def test_a_problem_keeps_its_context_and_reads_as_a_sentence() -> None:
    problem = Problem.model_validate({"title": "Conflict", "status": 409, "workspace_path": "/x"})
    assert (problem.model_extra or {})["workspace_path"] == "/x"
    assert str(ProblemError(problem)) == "Conflict"
    assert (
        str(ProblemError(problem.model_copy(update={"detail": "Choose another folder."})))
        == "Choose another folder."
    )
