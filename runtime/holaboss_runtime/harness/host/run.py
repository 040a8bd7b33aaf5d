"""One run: a package in, events out, exactly one terminal event at the end, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import Agent, AgentRetries, AgentRun, Tool, ToolReturn
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import UsageLimits

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import HistoryEntry, RunnerEvent, RunPackage, RunResult
from holaboss_runtime.harness.host.failures import AnswerCutOffError, RunTimeoutError, failure_payload
from holaboss_runtime.harness.host.history import read_history, write_history
from holaboss_runtime.harness.host.models import ModelClients
from holaboss_runtime.harness.host.narrator import Narrator
from holaboss_runtime.harness.host.sandbox import Sandbox
from holaboss_runtime.harness.host.tools import TOOLS

# How often a model may get the form of a call wrong (failed commands do not count), or say nothing at all.
RETRIES: AgentRetries = {"tools": 10, "output": 2}


class HostRun:
    """`send` takes an event without waiting; `drain` waits while the runtime is behind."""

    def __init__(
        self,
        package: RunPackage,
        clients: ModelClients,
        sandbox: Sandbox,
        send: Callable[[RunnerEvent], None],
        drain: Callable[[], Awaitable[None]],
    ) -> None:
        self._package = package
        self._clients = clients
        self._sandbox = sandbox
        self._narrator = Narrator(send)
        self._drain = drain
        self._agent_run: AgentRun[object, str] | None = None

    async def run(self) -> RunnerEvent:
        """Returns the terminal event. Cancelling the task ends the run as paused."""
        try:
            await self._within_limit()
        except asyncio.CancelledError:
            return self._completed("paused")
        except Exception as error:  # noqa: BLE001 - the boundary: no failure of a run may reach another one
            return self._failed(error)
        return self._completed("success")

    async def _within_limit(self) -> None:
        limit = asyncio.timeout(self._package.limits.timeout_s)
        try:
            async with limit:
                await self._converse()
        except TimeoutError as error:
            if limit.expired():
                raise RunTimeoutError from error
            raise

    async def _converse(self) -> None:
        package = self._package
        self._sandbox.provision(package.workspace_dir)
        async with self._clients.model(package) as (model, settings):
            agent: Agent[object, str] = Agent(
                model,
                instructions=package.system_prompt or None,
                tools=[self._tool(name) for name in package.tools if name in TOOLS],
                retries=RETRIES,
                name="holaboss",
            )
            async with agent.iter(
                [*package.context_messages, package.instruction]
                if package.context_messages
                else package.instruction,
                message_history=read_history(package.history),
                model_settings=settings,
                usage_limits=UsageLimits(request_limit=package.limits.request_limit),
            ) as agent_run:
                self._agent_run = agent_run
                await self._follow(agent_run)

    async def _follow(self, agent_run: AgentRun[object, str]) -> None:
        async for node in agent_run:
            if Agent.is_model_request_node(node):
                self._narrator.begin_response()
                async with node.stream(agent_run.ctx) as events:
                    async for event in events:
                        self._narrator.hear(event)
                        await self._drain()
            elif Agent.is_call_tools_node(node):
                _check_complete(node.model_response)
                async with node.stream(agent_run.ctx) as events:
                    async for event in events:
                        self._narrator.hear(event)
                        await self._drain()

    def _tool(self, name: str) -> Tool[object]:
        tool = TOOLS[name]

        async def call(**arguments: Any) -> ToolReturn[str]:  # noqa: ANN401 - checked by the sandbox
            outcome = await self._sandbox.execute(name, arguments)
            return ToolReturn(return_value=outcome.text, metadata=outcome)

        registered = Tool[object].from_schema(
            call, name, tool.description, tool.schema, sequential=tool.alone
        )
        registered.strict = False  # few servers know strict schemas, and the sandbox checks arguments itself
        return registered

    def _completed(self, status: str) -> RunnerEvent:
        self._narrator.close()
        payload = {"status": status, "usage": self._usage()}
        return RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload=payload, result=self._result())

    def _failed(self, error: Exception) -> RunnerEvent:
        self._narrator.close()
        payload = failure_payload(error, self._package)
        return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=self._result())

    def _result(self) -> RunResult:
        return RunResult(
            assistant_text=self._narrator.assistant_text,
            history=self._history(),
            usage=self._usage(),
            tool_calls=self._narrator.tool_calls,
            changed_paths=self._narrator.changed_paths,
        )

    def _history(self) -> HistoryEntry | None:
        return write_history(self._agent_run.new_messages()) if self._agent_run else None

    def _usage(self) -> dict[str, int]:
        if self._agent_run is None:
            return {}
        usage = self._agent_run.usage
        return {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_input_tokens": usage.cache_read_tokens,
            "total_tokens": usage.total_tokens,
            "requests": usage.requests,
        }


def _check_complete(response: ModelResponse) -> None:
    """Every dialect says why an answer ended. One that does not was cut off, and must not pass for a whole one.

    The library assumes a reason where a server gave none; what the server said is in the details.
    """
    said = "finish_reason" in (response.provider_details or {})
    if not said and response.finish_reason in (None, "stop", "tool_call"):
        raise AnswerCutOffError
