"""What may be edited, and that saving changes nothing but what was changed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from holaboss_app.panes.files import document as d
from holaboss_app.panes.files.editor import FileEditor
from holaboss_client.workspaces import FileContent, FileEntry


def content(text: str, **changes: object) -> FileContent:
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    values = {"path": "a.md", "content": text, "encoding": "utf-8", "size": len(raw), "sha256": digest}
    return FileContent.model_validate(values | changes)


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_an_editable_document_encodes_to_the_bytes_it_came_from(text: str) -> None:
    document = d.opened(content(text))
    assert isinstance(document, d.Document)
    if not document.read_only_reason:
        assert document.encode(document.text) == text.encode()
        assert document.saved_as(document.text) == document


@pytest.mark.parametrize(
    "text", ["plain\n", "win\r\ndows\r\n", "fixed\u00a0space", "tab\tand\fform", "no newline", ""]
)
def test_the_editor_gives_back_what_it_was_given(qapp: QApplication, text: str) -> None:
    document = d.opened(content(text))
    assert isinstance(document, d.Document)
    editor = FileEditor(document)
    assert not editor.area.isReadOnly()
    assert document.encode(editor.text) == text.encode()
    editor.deleteLater()


@pytest.mark.parametrize(
    "text", ["mixed\r\nends\n", "old\rmac", "para\u2029graph", "line\u2028sep", "\ufeffmark"]
)
def test_what_an_editor_would_change_is_read_only(text: str) -> None:
    document = d.opened(content(text))
    assert isinstance(document, d.Document)
    assert "read-only" in document.read_only_reason


def test_binary_and_large_files_are_refused_in_words() -> None:
    assert (
        d.opened(content("aGk=", encoding="base64")) == "This is not a text file, so it cannot be shown here."
    )
    assert d.opened(content("a\0b")) == "This is not a text file, so it cannot be shown here."
    refused = d.opened(content("x", size=5 * 1024 * 1024))
    assert refused == "This file is 5.0 MB. Text up to 2.0 MB can be opened here."


def test_links_and_large_files_are_not_even_fetched() -> None:
    row = FileEntry(name="a", path="a", kind="file", size=3_000_000, modified_at="")
    assert "2.9 MB" in (d.refusal(row) or "")
    assert "link" in (d.refusal(row.model_copy(update={"kind": "link"})) or "")
    assert d.refusal(row.model_copy(update={"kind": "other"})) == "Only files can be opened."
    assert d.refusal(row.model_copy(update={"size": 10})) is None


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 bytes"), (1023, "1023 bytes"), (2048, "2 KB"), (1572864, "1.5 MB")]
)
def test_sizes_are_readable(size: int, words: str) -> None:
    assert d.readable_size(size) == words
