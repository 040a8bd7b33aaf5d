"""Every operation of the description, asked with values that fit it and values that do not, against a real server.

Whatever comes, the server answers, in time, with a status and a body that the description knows, and never with an
error of its own. Half of the ids are real ones, so that the answers are not all "there is no such thing".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from holaboss_runtime.api.app import build_routes
from holaboss_runtime.api.description import describe
from tests.runtime.api.conftest import Reply
from tests.support.server import RuntimeProcess

EXAMPLES = 10
LIMIT_S = 30
WORKSPACE, SESSION, AGENT = "fuzz", "fuzz-session", "fuzz-agent"
KNOWN = {
    "workspace_id": WORKSPACE,
    "session_id": SESSION,
    "agent_id": AGENT,
    "environment_id": "local",
    "provider_id": "demo",
}
NOT_HERE = {
    "POST /api/v1/lifecycle/shutdown": "ends the server",
    "GET /api/v1/events": "has no end",
    "GET /api/v1/agent-sessions/{session_id}/outputs/stream": "has no end",
    "POST /api/v1/runtime/providers/{provider_id}/test": "asks any address",
    "GET /api/v1/runtime/local-servers": "asks other programs on this machine",
}
DESCRIPTION: dict[str, Any] = describe(build_routes())
SCHEMA = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = {
    f"{method.upper()} {path}": (path, method)
    for path, methods in DESCRIPTION["paths"].items()
    for method in methods
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    allow_header_conformance,
    negative_data_rejection,
    ignored_auth,
]


@pytest.fixture(scope="module")
def server(runtime: RuntimeProcess) -> RuntimeProcess:
    return runtime


@pytest.fixture(autouse=True)
def something_to_find(send: Callable[..., Reply]) -> None:
    """A workspace, a session and an agent; whoever deleted them has them back."""
    for path, body in (
        ("/api/v1/workspaces", {"name": "w", "workspace_id": WORKSPACE}),
        ("/api/v1/agents", {"agent_id": AGENT}),
        ("/api/v1/agent-sessions", {"workspace_id": WORKSPACE, "session_id": SESSION}),
    ):
        reply = send("POST", path, None, json.dumps(body).encode())
        assert reply.status in (200, 404, 409), reply.body


@pytest.mark.parametrize("label", sorted(OPERATIONS.keys() - NOT_HERE.keys()))
def test_an_operation_answers_as_described(label: str, server: RuntimeProcess) -> None:
    path, method = OPERATIONS[label]
    operation = SCHEMA[path][method]

    cases = operation.as_strategy()
    if operation.body:  # unknown names in a query are nobody's mistake
        cases |= operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @given(case=cases, known=st.booleans())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Case, known: bool) -> None:
        if known:
            _name_what_is_there(case)
        _tame(case)
        case.call_and_validate(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.token}"},
            checks=CHECKS,
            timeout=LIMIT_S,
        )

    ask()


def test_nothing_went_wrong_inside(server: RuntimeProcess, send: Callable[..., Reply]) -> None:
    """The last one of the module: the log is that of all of them."""
    assert send("GET", "/healthz").status == 200
    assert '"level": "error"' not in server.log


def _name_what_is_there(case: Case) -> None:
    for given_values in (case.path_parameters, case.query, case.body):
        if isinstance(given_values, dict):
            given_values.update({name: value for name, value in KNOWN.items() if name in given_values})


def _tame(case: Case) -> None:
    """Nothing is started or written outside of the folder of this test."""
    if not isinstance(case.body, dict):
        return
    if "workspace_path" in case.body:
        case.body["workspace_path"] = None
    if isinstance(case.body.get("command"), str):
        case.body["command"] = "true"
    case.body.pop("url", None)
    case.body.pop("path", None)
