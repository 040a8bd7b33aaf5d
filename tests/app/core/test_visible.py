"""What is shown of texts of strangers: nothing in them hides or turns round what they say."""

from __future__ import annotations

import json

import pytest

from holaboss_app.core.requests import Request
from holaboss_app.core.visible import for_label, is_visible, spelt_out

HIDDEN = (
    "\r\0\x1b\x7f\x85\xa0\u00ad\u200b\u200e\u202e\u2028\u2029\u2066\u3164\ufe0f\ufeff\ufdd0\U000e0041\ud800"
)


@pytest.mark.parametrize("char", HIDDEN)
def test_what_cannot_be_seen_is_spelt_out(char: str) -> None:
    assert not is_visible(f"a{char}b")
    shown = spelt_out(f"a{char}b")
    assert is_visible(shown)
    assert json.loads(f'"{shown}"') == f"a{char}b"
    assert is_visible(for_label(f"a{char}b"))


def test_ordinary_text_is_left_alone() -> None:
    text = "echo 'größer – 日本 🙂'\n\tעברית"
    assert is_visible(text)
    assert spelt_out(text) == text


def test_long_words_can_be_broken() -> None:
    shown = for_label("a" * 100)
    assert max(map(len, shown.split("\u200b"))) == 40
    assert shown.replace("\u200b", "") == "a" * 100


@pytest.mark.parametrize("char", HIDDEN)
def test_a_command_with_something_hidden_is_shown_spelt_out_and_allowed_as_it_is(char: str) -> None:
    request = Request("a", "confirmation", "bash", {"command": f"ls{char}rm"})
    assert is_visible(request.text)
    assert json.loads(request.text) == {"command": f"ls{char}rm"}
    assert request.edited(request.text) is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mcp__web__post", {"url": "https://example.org", "body": "everything"}),
        ("mcp__shell__run", {"command": "ls", "cwd": "/"}),
        ("download_url", {"url": "https://example.org", "output_path": "contract.docx", "overwrite": True}),
        ("terminal_session_start", {"command": "make", "cwd": "elsewhere"}),
        ("bash", {"command": "ls", "url": "https://example.org"}),
        ("bash", {"command": ["ls"]}),
    ],
)
def test_no_argument_is_left_out(tool: str, arguments: dict[str, object]) -> None:
    request = Request("a", "confirmation", tool, arguments)
    assert json.loads(request.text) == arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("bash", {"command": "ls\nrm", "timeout": 5, "description": "Lists.", "background": True}, "ls\nrm"),
        ("terminal_session_start", {"command": "make", "title": "Build"}, "make"),
        ("download_url", {"url": "https://example.org"}, "https://example.org"),
    ],
)
def test_what_says_everything_is_shown_as_it_is(tool: str, arguments: dict[str, object], text: str) -> None:
    assert Request("a", "confirmation", tool, arguments).text == text
