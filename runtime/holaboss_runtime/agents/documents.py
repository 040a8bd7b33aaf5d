"""Reading JSON that a person may have edited: every value is checked, and the first wrong one is named by its path.

Nothing falls back silently: a policy that cannot be read must not become a more generous one. Keys nobody asks for
are ignored here, and kept by whoever rewrites the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from holaboss_runtime.agents.files import read_bounded
from holaboss_runtime.errors import DomainError

MAX_BYTES = 1024 * 1024
MAX_NAMES = 500

Document = dict[str, Any]
Fail = Callable[[str], DomainError]
_Word = TypeVar("_Word", bound=str)


def load_document(path: Path, fail: Fail) -> tuple[Document, bytes]:
    """The object in a file, and its bytes. Raises `FileNotFoundError`, and what `fail` makes of a sentence."""
    try:
        raw = read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise fail(
            f"the file cannot be read ({error.strerror}). Check what is there and its permissions."
        ) from error
    if len(raw) > MAX_BYTES:
        raise fail("the file is larger than 1 MiB. Shorten it.")
    return parse_document(raw, fail), raw


def parse_document(raw: bytes, fail: Fail) -> Document:
    def unique(pairs: list[tuple[str, Any]]) -> Document:
        found = dict(pairs)
        if len(found) < len(pairs):  # the second of two `deny` lists would win without a word
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise fail(f"the key {twice[:80]!r} stands there twice. Keep one of them.")
        return found

    def no_constant(name: str) -> object:
        raise fail(f"{name} is not a number JSON knows. Replace it.")

    try:
        document: object = json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=unique, parse_constant=no_constant
        )
        json.dumps(document, ensure_ascii=False).encode()  # half a character could never be written again
    except json.JSONDecodeError as error:
        raise fail(
            f"line {error.lineno}, column {error.colno}: this is not valid JSON ({error.msg}). Correct it."
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number without end, brackets without end
        raise fail("this is not a JSON document in UTF-8. Correct or remove the file.") from error
    if not isinstance(document, dict):
        raise fail('the file must hold one object. Start it with "{".')
    return cast(Document, document)


class Section:
    """One object of a document. Every reader raises what `fail` makes of a sentence that starts with the field."""

    def __init__(self, values: Document, where: str, fail: Fail) -> None:
        self._values = values
        self._where = where
        self._fail = fail

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def raw(self, key: str) -> object:
        return self._values.get(key)

    def wrong(self, key: str, what: str) -> DomainError:
        return self._fail(f"{self._where}{key} {what}")

    def section(self, key: str) -> Section:
        """An empty one when the key is not there."""
        value: object = self._values.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "must be an object. Write it in braces, or remove it for the default.")
        return Section(cast(Document, value), f"{self._where}{key}.", self._fail)

    def text(self, key: str, default: str, *, longest: int = 200) -> str:
        if key not in self._values:
            return default
        value: object = self._values[key]
        if not isinstance(value, str) or not value.strip() or len(value) > longest or not value.isprintable():
            raise self.wrong(key, f"must be a text of 1 to {longest} characters in one line.")
        return value.strip()

    def choice(self, key: str, words: tuple[_Word, ...], default: _Word) -> _Word:
        if key not in self._values:
            return default
        value: object = self._values[key]
        for word in words:
            if value == word:
                return word
        raise self.wrong(key, f"must be one of {', '.join(words)}.")

    def flag(self, key: str, *, default: bool) -> bool:
        value: object = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "must be true or false.")
        return value

    def whole(self, key: str, default: int, *, low: int, high: int) -> int:
        value: object = self._values.get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"must be a whole number from {low} to {high}.")
        return value

    def names(self, key: str) -> tuple[str, ...] | None:
        """A list of texts without repetitions; None when the key is not there."""
        if key not in self._values:
            return None
        value: object = self._values[key]
        listed = cast(list[object], value) if isinstance(value, list) else None
        if listed is None or len(listed) > MAX_NAMES:
            raise self.wrong(key, f"must be a list of at most {MAX_NAMES} texts.")
        found: dict[str, None] = {}
        for position, name in enumerate(listed):
            if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
                raise self.wrong(f"{key}[{position}]", "must be a text of 1 to 200 characters in one line.")
            found[name.strip()] = None
        return tuple(found)


def encode_document(document: Document) -> bytes:
    """As the files of the tree are written: two spaces, a newline at the end."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
