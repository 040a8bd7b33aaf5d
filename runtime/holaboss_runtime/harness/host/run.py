"""One run: a package in, events out, exactly one terminal event at the end, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pydantic_ai import Agent, AgentRetries, AgentRun, DeferredToolRequests
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import UsageLimits

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import HistoryEntry, PendingCall, RunnerEvent, RunPackage, RunResult
from holaboss_runtime.harness.host.answer_bound import AnswerBound
from holaboss_runtime.harness.host.attachments import Part, render_attachments
from holaboss_runtime.harness.host.commands import CommandRunner
from holaboss_runtime.harness.host.decisions import Resumption
from holaboss_runtime.harness.host.failures import AnswerCutOffError, RunTimeoutError, failure_payload
from holaboss_runtime.harness.host.gate import ToolGate
from holaboss_runtime.harness.host.history import close_open_calls, open_calls, read_history, write_history
from holaboss_runtime.harness.host.models import ModelClients
from holaboss_runtime.harness.host.narrator import Narrator
from holaboss_runtime.harness.host.run_tools import RunTools
from holaboss_runtime.harness.host.sandbox import LocalSandbox, Watch
from holaboss_runtime.harness.host.skills import RunSkills, SkilledSandbox
from holaboss_runtime.harness.host.tools.question import take_up_tasks
from holaboss_runtime.harness.host.toolset import Toolset
from holaboss_runtime.harness.host.web.native import native_capabilities, with_native_settings

Output = str | DeferredToolRequests

# How often a model may get the form of a call wrong (failed commands do not count), or say nothing at all.
MISTAKES = 10
RETRIES: AgentRetries = {"tools": MISTAKES, "output": 2}
# A run that was given neither words nor anything to take up still has to end its turn with words of somebody.
GO_ON = "Continue."
AGENT: Agent[object, Output] = Agent(
    output_type=[str, DeferredToolRequests], retries=RETRIES, name="holaboss"
)
"""Of all runs: what is different about a run is given to it when it begins."""


class HostRun:
    """`send` takes an event without waiting; `drain` waits while the runtime is behind. `watch` is entered around what
    may change files."""

    def __init__(
        self,
        package: RunPackage,
        clients: ModelClients,
        commands: CommandRunner,
        tools: Toolset,
        send: Callable[[RunnerEvent], None],
        drain: Callable[[], Awaitable[None]],
        watch: Watch | None = None,
    ) -> None:
        self._package = package
        self._clients = clients
        self._commands = commands
        self._tools = tools
        self._skills = RunSkills(package, tools, lambda payload: self._narrator.tell_skill(payload))
        self._sandbox = SkilledSandbox(LocalSandbox(commands, tools, watch), self._skills)
        self._remembered = read_history(package.history)
        self._resumption = Resumption(open_calls(self._remembered), package.decisions, tools)
        approvals = self._resumption.approvals
        self._bound = AnswerBound()
        self._gate = ToolGate(self._sandbox, package.permissions, approvals)
        approved = {approval.call_id: approval.tool_args for approval in approvals}
        self._narrator = Narrator(send, tools, self._gate.asked, approved)
        self._drain = drain
        self._agent_run: AgentRun[object, Output] | None = None

    async def run(self) -> RunnerEvent:
        """Returns the terminal event. Cancelling the task ends the run as paused."""
        try:
            await self._within_limit()
        except asyncio.CancelledError:
            return self._completed("paused")
        except Exception as error:  # noqa: BLE001 - the boundary: no failure of a run may reach another one
            return self._failed(error)
        return self._completed("waiting_user" if self._narrator.pending else "success")

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
        package, resumption = self._package, self._resumption
        self._sandbox.provision(package)
        await self._skills.load()
        self._skills.open_approved(approval.tool_name for approval in resumption.approvals)
        await take_up_tasks(package)
        attached = await render_attachments(package, self._commands)
        async with (
            self._clients.model(package) as (model, settings),
            AGENT.iter(
                self._prompt(attached),
                model=model,
                instructions=package.system_prompt or None,
                toolsets=[RunTools(package, self._tools, self._gate, mistakes=MISTAKES)],
                capabilities=native_capabilities(package),
                message_history=self._remembered if resumption else close_open_calls(self._remembered),
                deferred_tool_results=resumption.results() if resumption else None,
                model_settings=with_native_settings(package, settings),
                usage_limits=UsageLimits(request_limit=package.limits.request_limit),
            ) as agent_run,
        ):
            self._agent_run = agent_run
            await self._follow(agent_run)

    def _prompt(self, attached: Sequence[Part]) -> str | Sequence[Part] | None:
        """What the person says in this run, after the results of resumed calls when there are any."""
        quoted = self._skills.quoted
        before = [text for text in self._package.context_messages if text]
        after = [text for text in (*quoted.sections, quoted.instruction) if text]
        said: list[Part] = [*before, *attached, *after]
        if said:
            return said if before or attached or quoted.sections else after[0]
        return None if self._resumption else GO_ON

    async def _follow(self, agent_run: AgentRun[object, Output]) -> None:
        async for node in agent_run:
            if Agent.is_model_request_node(node):
                self._narrator.begin_response()
                self._bound.begin_response()
                async with node.stream(agent_run.ctx) as events:
                    async for event in events:
                        self._bound.hear(event)
                        self._narrator.hear(event)
                        await self._drain()
            elif Agent.is_call_tools_node(node):
                _check_complete(node.model_response)
                self._gate.admit(node.model_response)
                async with node.stream(agent_run.ctx) as events:
                    async for event in events:
                        self._narrator.hear(event)
                        await self._drain()

    def _completed(self, status: str) -> RunnerEvent:
        self._narrator.close()
        payload = {"status": status, "usage": self._usage()}
        pending = self._narrator.pending if status == "waiting_user" else []
        return RunnerEvent(event_type=RunEvent.RUN_COMPLETED, payload=payload, result=self._result(pending))

    def _failed(self, error: Exception) -> RunnerEvent:
        self._narrator.close()
        payload = failure_payload(error, self._package)
        return RunnerEvent(event_type=RunEvent.RUN_FAILED, payload=payload, result=self._result([]))

    def _result(self, pending: list[PendingCall]) -> RunResult:
        return RunResult(
            assistant_text=self._narrator.assistant_text,
            history=self._history(pending),
            usage=self._usage(),
            tool_calls=self._narrator.tool_calls,
            changed_paths=self._narrator.changed_paths,
            pending=pending,
            outputs=self._narrator.outputs,
            denials=self._gate.denials,
            containment=self._narrator.containment,
        )

    def _history(self, pending: list[PendingCall]) -> HistoryEntry | None:
        if self._agent_run is None:
            return None
        waiting = {call.call_id for call in pending}
        return write_history(self._agent_run.new_messages(), waiting=waiting, resumed=self._resumption.calls)

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
