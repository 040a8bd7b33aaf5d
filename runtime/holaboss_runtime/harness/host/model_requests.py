"""What need not be worked out again for every request to a model: the shape of messages, and the schemas of tools.

A conversation is sent whole each time. The SDKs look through every part of it for fields to rename, although the agent
loop hands it to them in the form of the wire; and the agent loop adapts every tool to the model's dialect of JSON
Schema, although tools rarely change. Both grow with a conversation, and leaving them out changes no byte of a request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

Create = Callable[..., Awaitable[Any]]
Adapt = Callable[[ModelRequestParameters], ModelRequestParameters]
_Key = tuple[object, bool | None, bytes]

KEPT_SCHEMAS = 2_000
_LONG = ("messages", "input", "tools")


def sent_as_given(create: Create) -> Create:
    """The `create` of an SDK, with the long parameters where it sends what it is given: in `extra_body`."""

    async def call(*, extra_body: dict[str, Any] | None = None, **parameters: Any) -> Any:  # noqa: ANN401 - the SDK's
        long = {name: parameters[name] for name in _LONG if isinstance(parameters.get(name), list)}
        short: dict[str, Any] = {name: [] if name in long else value for name, value in parameters.items()}
        return await create(**short, extra_body=long | (extra_body or {}))

    return call


class AdaptedSchemas:
    """The schemas of tools in the dialects of models, as far as they were needed lately."""

    def __init__(self) -> None:
        self._adapted: OrderedDict[_Key, tuple[dict[str, Any], bool | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._adapted)

    def adapt(
        self, parameters: ModelRequestParameters, dialect: object, adapt: Adapt
    ) -> ModelRequestParameters:
        """What `adapt` makes of the parameters, which is asked about tools it was not asked about before."""
        tools = parameters.function_tools
        keys = [(dialect, tool.strict, to_json(tool.parameters_json_schema)) for tool in tools]
        new = {key: tool for key, tool in zip(keys, tools, strict=True) if key not in self._adapted}
        adapted = adapt(replace(parameters, function_tools=list(new.values())))
        for key, tool in zip(new, adapted.function_tools, strict=True):
            self._adapted[key] = (tool.parameters_json_schema, tool.strict)
        known = [self._known(tool, key) for key, tool in zip(keys, tools, strict=True)]
        while len(self._adapted) > KEPT_SCHEMAS:
            self._adapted.popitem(last=False)
        return replace(adapted, function_tools=known)

    def _known(self, tool: ToolDefinition, key: _Key) -> ToolDefinition:
        self._adapted.move_to_end(key)
        schema, strict = self._adapted[key]
        if schema == tool.parameters_json_schema and strict == tool.strict:
            return tool
        return replace(tool, parameters_json_schema=schema, strict=strict)


class AdaptsOnce(Model):
    """Mixed into a model: adapts the schema of a tool once per host instead of once per request."""

    schemas: AdaptedSchemas

    def customize_request_parameters(
        self, model_request_parameters: ModelRequestParameters
    ) -> ModelRequestParameters:
        dialect = self.profile.get("json_schema_transformer")
        return self.schemas.adapt(model_request_parameters, dialect, super().customize_request_parameters)
