"""Search: the index follows every change, a query is never a syntax error, and pages miss nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.search import MARK_BEGIN, MARK_END, Search


class Library:
    def __init__(self, path: Path) -> None:
        self.database = Database.open(path)
        self.search = Search(self.database).search
        self._count = 0

    def say(self, text: str, *, session: str = "s", workspace: str = "w", at: str | None = None) -> str:
        self._count += 1
        name = f"i{self._count}"
        self.database.execute(
            "INSERT INTO session_messages (id, workspace_id, session_id, input_id, role, text, created_at)"
            " VALUES (?, ?, ?, ?, 'user', ?, ?)",
            (name, workspace, session, name, text, at or utc_now()),
        )
        return name

    def use(self, result: Any, *, phase: str = "completed", event: str = "tool_call", at: str = "") -> str:
        self._count += 1
        name = f"i{self._count}"
        self.database.execute(
            "INSERT INTO session_output_events (workspace_id, session_id, input_id, sequence, event_type, payload,"
            " created_at) VALUES ('w', 's', ?, 1, ?, ?, ?)",
            (name, event, encode({"phase": phase, "result": result, "delta": "whale"}), at or utc_now()),
        )
        return name

    def found(self, query: str, **fields: Any) -> list[str]:
        return [hit.input_id for hit in self.search("w", query, **fields)]

    def consistent(self) -> None:
        """Raises unless the indexes say exactly what the tables do."""
        for index in ("message_search", "tool_output_search"):
            self.database.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "runtime.db")
    yield opened
    opened.consistent()
    opened.database.close()


def text(*parts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in parts]}


def test_what_was_said_and_what_tools_returned_is_found(library: Library) -> None:
    said = library.say("Where is the Élephant today?")
    told = library.use(text("The elephant", "is in the zoo"))
    plain = library.use("an elephant on one line")
    [message, *_] = library.search("w", "elephant where")
    assert message.snippet == f"{MARK_BEGIN}Where{MARK_END} is the {MARK_BEGIN}Élephant{MARK_END} today?"
    assert (message.kind, message.input_id, message.session_id, message.role) == (
        "message",
        said,
        "s",
        "user",
    )
    assert message.rank < 0
    assert set(library.found("elephant")) == {said, told, plain}
    assert library.found("zoo") == [told]
    assert [hit.kind for hit in library.search("w", "zoo")] == ["tool_output"]
    assert set(library.found("eleph")) == {plain, told, said}
    assert library.found("eleph ") == []
    assert library.found("elephant tiger") == []


def test_deltas_arguments_and_tools_that_only_began_are_not_searched(library: Library) -> None:
    library.use(text("whale"), phase="started")
    library.use(None, event="output_delta")
    library.use(None)
    assert library.found("whale") == []
    assert library.found("phase") == []


def test_the_index_follows_every_change(library: Library) -> None:
    said, told = library.say("first words"), library.use(text("first result"))
    change = library.database.execute
    change("UPDATE session_messages SET text = 'second words' WHERE id = ?", (said,))
    change(
        "UPDATE session_output_events SET payload = ? WHERE input_id = ?",
        (encode({"phase": "completed", "result": text("second result")}), told),
    )
    library.consistent()
    assert library.found("first") == []
    assert set(library.found("second")) == {said, told}
    change("UPDATE session_output_events SET event_type = 'other' WHERE input_id = ?", (told,))
    assert library.found("result") == []
    change("UPDATE session_output_events SET event_type = 'tool_call' WHERE input_id = ?", (told,))
    assert library.found("result") == [told]
    change("DELETE FROM session_messages")
    change("DELETE FROM session_output_events")
    library.consistent()
    assert library.found("second") == []


def test_a_workspace_and_a_session_see_their_own(library: Library) -> None:
    library.say("secret", workspace="v")
    one, two = library.say("secret", session="one"), library.say("secret", session="two")
    assert library.found("secret") == [two, one]
    assert library.found("secret", session_id="one") == [one]


def test_pages_are_newest_first_and_miss_nothing(library: Library) -> None:
    same = "2026-01-01T00:00:00.000Z"
    expected = {
        library.say("page", at=same) if number % 3 else library.use(text("page"), at=same)
        for number in range(10)
    }
    got: list[str] = []
    before = None
    while hits := library.search("w", "page", limit=3, before=before):
        got += [hit.input_id for hit in hits]
        before = hits[-1].cursor
    assert len(got) == len(expected)
    assert set(got) == expected
    assert library.found("page", limit=0) == []
    old, new = library.say("order", at="2026-01-01"), library.use(text("order"), at="2026-01-02")
    assert library.found("order") == [new, old]


@pytest.mark.parametrize("cursor", ["", "1", "1.2.3", "a.b", "-1.5", "1.²", "9" * 30 + ".1"])
def test_a_cursor_that_is_none_is_refused(library: Library, cursor: str) -> None:
    with pytest.raises(DomainError) as raised:
        library.search("w", "x", before=cursor)
    assert raised.value.code == "cursor_invalid"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        "foo-bar",
        "a AND",
        "NEAR(",
        "text:x",
        "*",
        "^x",
        "a OR b NOT",
        "()",
        "\0",
        "\ud800",
        "%_",
        "x " * 500,
    ],
)
def test_a_query_is_never_a_syntax_error(library: Library, query: str) -> None:
    library.say("nothing of it")
    assert library.found(query) == []


def test_punctuation_inside_a_word_is_matched_as_it_stands(library: Library) -> None:
    said = library.say("look at foo-bar.txt and AND")
    assert library.found("foo-bar.txt") == library.found('"AND" look') == [said]
    library.say("bar then foo")
    assert library.found("foo-bar") == [said]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
def test_no_text_is_a_syntax_error(library: Library, query: str) -> None:
    library.search("w", query)
