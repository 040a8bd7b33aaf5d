"""Making what a server says about its tools safe to show to a model: bounded, well-formed, without references.

A schema is only a hint for the model; the server checks its arguments itself. So what cannot be understood is left
out, and what remains is always an object schema that every provider takes.
"""

from __future__ import annotations

import json
from typing import Any, cast

from holaboss_runtime.harness.host.mcp.offers import MAX_TOOLS
from holaboss_runtime.harness.host.text import plain_text

MAX_DESCRIPTION = 2_000
MAX_SCHEMA_CHARS = 16_000
_MAX_NESTED_DESCRIPTION = 600
_MAX_DEPTH = 12
_MAX_NODES = 1_500
_MAX_CHOICES = 200
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_UNIONS = ("anyOf", "oneOf", "allOf")
_LONGEST_VALUE = 500

Schema = dict[str, Any]


def clean_description(text: str | None) -> str:
    """One bounded, printable text."""
    given = (text or "").strip()
    cleaned = plain_text(given[: MAX_DESCRIPTION * 2].encode("utf-8", "replace"))
    return cleaned if len(cleaned) <= MAX_DESCRIPTION else f"{cleaned[:MAX_DESCRIPTION]} […]"


def clean_schema(given: Any) -> Schema:  # noqa: ANN401 - whatever a server sent
    """An object schema of at most about `MAX_SCHEMA_CHARS`, with every reference put in place."""
    for descriptions in (_MAX_NESTED_DESCRIPTION, 80, 0):
        schema = _Cleaner(given, descriptions).clean()
        if len(json.dumps(schema)) <= MAX_SCHEMA_CHARS:
            return schema
    names = list(schema.get("properties", {}))[:50]
    return {"type": "object", "properties": {name[:100]: {} for name in names}}


def readable_tools(given: list[Any]) -> list[Schema]:
    """A list of tools as a server sent it, without what is no tool or more than anybody can use, and each in a form the
    protocol's library takes. Takes a while for schemas that are made to: not for the loop."""
    return [
        _readable(cast(Schema, tool))
        for tool in given[:MAX_TOOLS]
        if isinstance(tool, dict) and _is_named(cast(Schema, tool))
    ]


def _is_named(tool: Schema) -> bool:
    return isinstance(tool.get("name"), str)


def _readable(tool: Schema) -> Schema:
    """What a result looks like is left out: nobody here checks it, and it may be as large as the server likes."""
    kept = {key: tool[key] for key in ("name", "title", "description") if isinstance(tool.get(key), str)}
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        given = cast(Schema, hints).items()
        kept["annotations"] = {key: value for key, value in given if isinstance(value, bool)}
    schema = tool.get("inputSchema")
    kept["inputSchema"] = schema if _is_readable(schema) else clean_schema(schema)
    return kept


def _is_readable(schema: Any) -> bool:  # noqa: ANN401
    if not isinstance(schema, dict) or cast(Schema, schema).get("type") != "object":
        return False
    properties, required = (
        cast(Schema, schema).get("properties", {}),
        cast(Schema, schema).get("required", []),
    )
    return (
        isinstance(properties, dict)
        and all(isinstance(part, dict) for part in cast(Schema, properties).values())
        and isinstance(required, list)
        and all(isinstance(name, str) for name in cast(list[Any], required))
    )


class _Cleaner:
    def __init__(self, root: Any, descriptions: int) -> None:  # noqa: ANN401
        self._root = root
        self._descriptions = descriptions
        self._left = _MAX_NODES

    def clean(self) -> Schema:
        node = self._node(self._root, (), 0)
        node["type"] = "object"
        node.setdefault("properties", {})
        for union in _UNIONS:  # several providers refuse a choice at the top
            node.pop(union, None)
        return node

    def _node(self, given: Any, through: tuple[str, ...], depth: int) -> Schema:  # noqa: ANN401
        """`through` are the references that led here: one that leads to itself ends as "anything"."""
        self._left -= 1
        if not isinstance(given, dict) or depth > _MAX_DEPTH or self._left < 0:
            return {}
        node = cast(Schema, given)
        reference = node.get("$ref")
        if isinstance(reference, str):
            return {} if reference in through else self._referenced(node, reference, through, depth)
        return self._facts(node) | self._parts(node, through, depth)

    def _referenced(self, node: Schema, reference: str, through: tuple[str, ...], depth: int) -> Schema:
        found = self._node(self._resolve(reference), (*through, reference), depth + 1)
        return found | self._described(node)

    def _resolve(self, reference: str) -> Any:  # noqa: ANN401
        """Only within the same document: nothing is ever fetched."""
        if not reference.startswith("#"):
            return None
        place: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            place = cast(Schema, place).get(name) if isinstance(place, dict) else None
        return place

    def _facts(self, node: Schema) -> Schema:
        kept: Schema = {}
        if (kind := _type_of(node.get("type"))) is not None:
            kept["type"] = kind
        for key in (*_NUMBERS, *_COUNTS):
            value = node.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18:
                kept[key] = value
        if isinstance(form := node.get("format"), str) and len(form) <= 40:
            kept["format"] = form
        choices = node.get("enum")
        if isinstance(choices, list):
            kept["enum"] = [c for c in cast(list[Any], choices)[:_MAX_CHOICES] if _small(c)]
        kept |= {key: node[key] for key in ("const", "default") if key in node and _small(node[key])}
        return kept | self._described(node)

    def _described(self, node: Schema) -> Schema:
        text = node.get("description")
        if not isinstance(text, str) or not self._descriptions:
            return {}
        return {"description": plain_text(text[: self._descriptions].encode("utf-8", "replace"))}

    def _parts(self, node: Schema, through: tuple[str, ...], depth: int) -> Schema:
        parts: Schema = {}
        properties = node.get("properties")
        if isinstance(properties, dict):
            shown = list(cast(Schema, properties).items())[:_MAX_CHOICES]
            parts["properties"] = {
                name: self._node(part, through, depth + 1) for name, part in shown if len(name) <= 200
            }
            required = node.get("required")
            if isinstance(required, list):
                parts["required"] = [
                    name
                    for name in cast(list[Any], required)
                    if isinstance(name, str) and name in parts["properties"]
                ]
        if isinstance(items := node.get("items"), dict):
            parts["items"] = self._node(items, through, depth + 1)
        elif node.get("type") == "array":
            parts["items"] = {}
        extra = node.get("additionalProperties")
        if isinstance(extra, bool):
            parts["additionalProperties"] = extra
        elif isinstance(extra, dict):
            parts["additionalProperties"] = self._node(extra, through, depth + 1)
        for union in _UNIONS:
            if isinstance(choices := node.get(union), list) and choices:
                parts[union] = [
                    self._node(part, through, depth + 1) for part in cast(list[Any], choices)[:30]
                ]
        return parts


def _type_of(given: Any) -> str | list[str] | None:  # noqa: ANN401
    if isinstance(given, str):
        return given if given in _TYPES else None
    if isinstance(given, list):
        kinds = [kind for kind in cast(list[Any], given) if isinstance(kind, str) and kind in _TYPES]
        return kinds or None
    return None


def _small(value: Any) -> bool:  # noqa: ANN401
    try:
        return len(json.dumps(value)) <= _LONGEST_VALUE
    except (ValueError, RecursionError):
        return False
