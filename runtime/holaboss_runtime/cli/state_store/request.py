"""A request as JSON brought it, read field by field: what is missing or of another kind is named."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from holaboss_runtime.errors import DomainError


class Request:
    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def decode(cls, text: str) -> Request:
        """From base64 of a JSON object. Raises `DomainError` (`invalid`, `request_invalid`)."""
        try:
            value: object = json.loads(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise invalid(f"The request is not JSON in base64 ({error}).") from error
        if not isinstance(value, dict):
            raise invalid("The request must be a JSON object.")
        return cls(cast("dict[str, Any]", value))

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, name: str) -> str:
        """Raises `DomainError` without a text that says something."""
        found = self.optional(name)
        if not found:
            raise invalid(f"The request needs {name!r}, a text.")
        return found

    def optional(self, name: str) -> str | None:
        return cast("str | None", self._of(name, str, "a text"))

    def number(self, name: str, default: int) -> int:
        found = self._of(name, int, "a whole number")
        if isinstance(found, bool):
            raise invalid(f"{name!r} must be a whole number.")
        return default if found is None else cast("int", found)

    def seconds(self, name: str) -> float:
        """A length of time, 0 when it is absent."""
        found = self._of(name, (int, float), "a number of seconds")
        if isinstance(found, bool):
            raise invalid(f"{name!r} must be a number of seconds.")
        return float(cast("float", found or 0))

    def flag(self, name: str, *, default: bool = False) -> bool:
        found = self._of(name, bool, "true or false")
        return default if found is None else bool(found)

    def mapping(self, name: str) -> dict[str, Any]:
        """An object; empty when it is absent."""
        return cast("dict[str, Any]", self._of(name, dict, "an object") or {})

    def texts(self, name: str) -> list[str]:
        found = cast("list[Any]", self._of(name, list, "a list of texts") or [])
        if not all(isinstance(item, str) for item in found):
            raise invalid(f"{name!r} must be a list of texts.")
        return found

    def part(self, name: str) -> Request:
        """An object inside the request, to be read the same way."""
        return Request(self.mapping(name))

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named fields that the request has, as they are."""
        return {name: self._fields[name] for name in names if name in self._fields}

    def stated(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named fields that the request has and that are not null."""
        return {name: value for name, value in self.given(names).items() if value is not None}

    def _of(self, name: str, kind: type | tuple[type, ...], description: str) -> object:
        value = self._fields.get(name)
        if value is not None and not isinstance(value, kind):
            raise invalid(f"{name!r} must be {description}.")
        return value


def invalid(detail: str) -> DomainError:
    return DomainError("invalid", "request_invalid", detail)
