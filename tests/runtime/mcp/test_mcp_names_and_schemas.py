"""What a model gets to see of servers: names, schemas, results. No server runs here."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import Tool

from holaboss_runtime.harness.contract import McpServerConfig
from holaboss_runtime.harness.host.mcp.names import public_fingerprint, secrets_of, server_part, tool_names
from holaboss_runtime.harness.host.mcp.offers import Offer, sensible
from holaboss_runtime.harness.host.mcp.results import MAX_TEXT, outcome_of
from holaboss_runtime.harness.host.mcp.schemas import (
    MAX_SCHEMA_CHARS,
    clean_description,
    clean_schema,
    readable_tools,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "$ref", "required", "enum", "anyOf", "default", "$defs", "a"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


def test_names_of_tools() -> None:
    assert tool_names("git", ["status", "log"]) == {"status": "mcp__git__status", "log": "mcp__git__log"}


@settings(deadline=None)
@given(st.text(max_size=80), st.lists(st.text(max_size=150), max_size=8))
def test_names_are_short_plain_stable_and_never_the_same(server: str, tools: list[str]) -> None:
    names = tool_names(server, tools)
    assert set(names) == set(tools)
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
    assert tool_names(server, reversed(tools)) == names


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_two_servers_never_share_the_start_of_a_name(one: str, other: str) -> None:
    starts = f"mcp__{server_part(one)}__", f"mcp__{server_part(other)}__"
    assert one == other or not (starts[0].startswith(starts[1]) or starts[1].startswith(starts[0]))


def test_a_name_that_is_taken_gets_a_mark_of_its_own() -> None:
    names = tool_names("s", ["a.b", "a_b", "a/b", "x" * 100, "x" * 101])
    assert names["a_b"] == "mcp__s__a_b"
    assert names["a.b"] != names["a/b"]
    assert names["x" * 100] != names["x" * 101]


@settings(deadline=None)
@given(JSON)
def test_any_schema_becomes_a_bounded_object(schema: Any) -> None:
    cleaned = clean_schema(schema)
    assert cleaned["type"] == "object"
    assert isinstance(cleaned["properties"], dict)
    assert "$ref" not in _keywords(cleaned)
    assert len(json.dumps(cleaned)) <= MAX_SCHEMA_CHARS
    assert clean_schema(cleaned) == cleaned


@settings(deadline=None)
@given(st.lists(JSON, max_size=3))
def test_any_list_of_tools_can_be_read(given_tools: list[Any]) -> None:
    named: list[Any] = [{"name": "x", "inputSchema": each, "annotations": each} for each in given_tools]
    for tool in readable_tools([*given_tools, *named]):
        Tool.model_validate(tool)


def _keywords(schema: dict[str, Any]) -> set[str]:
    """Those of a schema and of everything in it; names of properties are no keywords."""
    unions = [part for union in ("anyOf", "oneOf", "allOf") for part in schema.get(union, [])]
    inner = [*schema.get("properties", {}).values(), *unions]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return set(schema).union(*(_keywords(part) for part in inner))


def test_references_are_put_in_place_and_end_where_they_come_back() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}
    cleaned = clean_schema(
        {"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    )
    first = cleaned["properties"]["first"]
    assert first["properties"] == {"next": {}, "name": {"type": "string"}}


def test_a_schema_that_doubles_with_every_step_stays_small() -> None:
    definitions: dict[str, Any] = {
        f"n{step}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/n{step + 1}"} for side in ("left", "right")},
        }
        for step in range(60)
    }
    schema = {"type": "object", "properties": {"top": {"$ref": "#/$defs/n0"}}, "$defs": definitions}
    assert len(json.dumps(clean_schema(schema))) <= MAX_SCHEMA_CHARS


def test_what_a_provider_needs_is_kept() -> None:
    schema = {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["a", "b"], "description": "How.", "default": "a"},
            "many": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["mode"],
        "additionalProperties": False,
    }
    assert clean_schema(schema) == schema


def test_descriptions_are_bounded_and_printable() -> None:
    assert clean_description("\x1b[31mred\x1b[0m\u202e text ") == "red text"
    assert len(clean_description("x" * 100_000)) < 2_100
    assert clean_description(None) == ""


def test_only_claims_without_contradiction_count() -> None:
    def facts(reads: bool | None, destroys: bool | None) -> tuple[bool | None, bool | None]:
        offer = Offer("x", "", says_read_only=reads, says_destructive=destroys)
        return offer.read_only, offer.destructive

    assert facts(True, None) == (True, False)
    assert facts(True, False) == (True, False)
    assert facts(True, True) == (False, True)
    assert facts(False, False) == (False, False)
    assert facts(False, None) == (False, None)
    assert facts(None, None) == (None, None)
    assert facts(None, True) == (None, True)


def test_lists_of_tools_are_sorted_and_without_seconds() -> None:
    offers = [Offer("b", "1"), Offer("a", "2"), Offer("b", "3"), Offer("", "4"), Offer("x" * 200, "5")]
    assert [(offer.name, offer.description) for offer in sensible(offers)] == [("a", "2"), ("b", "1")]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}, "one\ntwo"),
        ({"content": [], "structuredContent": {"a": 1}}, '{\n "a": 1\n}'),
        ({"content": []}, "(no output)"),
        ({"content": [], "isError": True}, "The tool failed."),
        ({"content": [{"type": "resource", "resource": {"uri": "x:1", "text": "in"}}]}, "[resource x:1]\nin"),
        (
            {"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]},
            "[audio, audio/wav, 3 bytes]",
        ),
        ({"content": [{"type": "hologram"}]}, "[hologram; not shown here]"),
        ({"content": [{"type": "text", "text": "\x1b[2Jclean\x00"}]}, "clean"),
        ({"content": "nonsense"}, "(no output)"),
    ],
)
def test_results_as_text(result: dict[str, Any], text: str) -> None:
    assert outcome_of(result, []).text == text


@settings(deadline=None)
@given(JSON, JSON)
def test_any_result_is_an_outcome(content: Any, structured: Any) -> None:
    outcome = outcome_of({"content": content, "structuredContent": structured}, ["secret-value"])
    assert outcome.text
    json.dumps(outcome.details)


def test_a_huge_result_is_cut_and_its_secrets_are_gone() -> None:
    result = {"content": [{"type": "text", "text": "secret-value" + "x" * (3 * MAX_TEXT)}]}
    outcome = outcome_of(result | {"structuredContent": {"key": "secret-value"}}, ["secret-value"])
    assert len(outcome.text) < MAX_TEXT + 100
    assert outcome.text.startswith("[redacted]xxx")
    assert outcome.details["structured"] == {"key": "[redacted]"}


def test_which_settings_are_secret() -> None:
    config = McpServerConfig(
        type="local",
        command=["run", "--token", "abcdef-123456"],
        environment={
            "KEY": "abcdef-123456",
            "ROOT": "/home/somebody/project",
            "MODE": "production",
            "N": "1",
        },
        headers={"Authorization": "Bearer zyxwvu-987654"},
    )
    assert set(secrets_of(config)) == {"Bearer zyxwvu-987654", "zyxwvu-987654", "abcdef-123456"}
    other = config.model_copy(
        update={
            "environment": config.environment | {"KEY": "other-1234"},
            "command": ["run", "--token", "other-1234"],
        }
    )
    assert public_fingerprint(config) == public_fingerprint(other)
    assert public_fingerprint(config) != public_fingerprint(config.model_copy(update={"command": ["other"]}))
