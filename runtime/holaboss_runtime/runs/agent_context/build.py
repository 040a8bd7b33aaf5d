"""Putting the context of one wake together, within the window of the model."""

from __future__ import annotations

from typing import Any, cast

from holaboss_runtime.runs.agent_context import frame, history, news, texts
from holaboss_runtime.runs.agent_context.budget import TOOL_TOKENS, Budget, clip, shares
from holaboss_runtime.runs.agent_context.model import AgentContext, ContextInputs
from holaboss_runtime.runs.sections import PromptSection, assemble

_JOINT_CHARS = 40
"""For the heading of a file and the blank lines around it."""


def build_context(inputs: ContextInputs) -> AgentContext:
    """The context of one wake. Whatever the inputs, it fits into the window together with tools and reply.

    The system prompt is ordered from what never changes to what may change at every wake. Notes and learnings are
    told when they changed since the executor was told last; earlier events only when it remembers nothing.
    """
    tool_tokens = inputs.tool_schema_tokens
    budget = Budget.of(
        window_tokens=inputs.window_tokens,
        tool_tokens=len(inputs.tools) * TOOL_TOKENS if tool_tokens is None else tool_tokens,
    )
    system = _system(inputs, budget)
    instruction = news.instruction(inputs, budget.instruction)
    if not instruction:
        prompt = assemble(system)
        return AgentContext(
            prompt, "", _latest(inputs), _shown(inputs), budget.total - len(prompt.system_prompt)
        )
    memory, shown = _memory(inputs, budget)
    room = (
        budget.total
        - len(assemble(system).system_prompt)
        - len(instruction)
        - sum(len(section.content) for section in memory)
    )
    earlier, cursor = _earlier(inputs, room)
    prompt = assemble([*system, *memory, *earlier])
    left = room - sum(len(section.content) for section in earlier)
    return AgentContext(prompt, instruction, cursor, shown, max(left, 0))


def _system(inputs: ContextInputs, budget: Budget) -> list[PromptSection]:
    surroundings = texts.environment(
        agent_id=inputs.agent_id,
        provider=inputs.provider,
        model=inputs.model,
        name=inputs.environment,
        posture=inputs.posture,
        tools=inputs.tools,
        resources=inputs.resources,
    )
    fixed = [
        PromptSection("agent_rules", "system_prompt", "base_runtime", 100, "stable", texts.BASE_RULES),
        PromptSection("loop_contract", "system_prompt", "base_runtime", 200, "stable", texts.LOOP_CONTRACT),
        PromptSection(
            "agent_environment",
            "system_prompt",
            "capability_policy",
            400,
            "run",
            clip(surroundings, budget.environment * 3 // 4),
        ),
        PromptSection(
            "skills",
            "system_prompt",
            "capability_policy",
            450,
            "run",
            clip(texts.skills(inputs.skills), budget.environment // 4),
        ),
    ]
    return fixed + _substrate(inputs, budget.system - sum(len(section.content) for section in fixed))


def _substrate(inputs: ContextInputs, room: int) -> list[PromptSection]:
    sections: list[PromptSection] = []
    files = [(name, texts.substrate(name, text)) for name, text in inputs.substrate]
    sizes = shares([len(text) for _, text in files], room - _JOINT_CHARS * len(files))
    for place, ((name, text), size) in enumerate(zip(files, sizes, strict=True)):
        sections.append(
            PromptSection(
                f"substrate:{name}",
                "system_prompt",
                "workspace_policy",
                600 + place,
                "workspace",
                clip(text, size),
            )
        )
    return sections


def _memory(inputs: ContextInputs, budget: Budget) -> tuple[list[PromptSection], dict[str, str]]:
    """The sections in front of the instruction, and the fingerprints of those that need no repetition."""
    lasting = [
        _context("learnings", 520, frame.learnings(inputs, budget.note)),
        _context("agent_notes", 530, frame.notes(inputs, budget.note)),
    ]
    told = _shown(inputs) if inputs.executor_remembers else {}
    new = [section for section in lasting if section.content and told.get(section.id) != section.fingerprint]
    shown = {section.id: section.fingerprint for section in lasting if section.content}
    return [*new, _context("session_wake", 900, frame.wake(inputs, budget.note))], shown


def _earlier(inputs: ContextInputs, room: int) -> tuple[list[PromptSection], str | None]:
    if inputs.executor_remembers:
        return [], _latest(inputs)
    selection = history.select(
        [event for event in inputs.previous if event.seq > inputs.remembered_seq],
        pending=frozenset(event.event_id for event in inputs.pending),
        cursor=_cursor(inputs),
        room=room,
    )
    section = _context("earlier_events", 500, selection.text)
    return ([section] if selection.text else []), selection.cursor or _cursor(inputs)


def _context(section_id: str, priority: int, content: str) -> PromptSection:
    return PromptSection(section_id, "context_message", "runtime_context", priority, "run", content)


def _latest(inputs: ContextInputs) -> str | None:
    """An executor that remembers has covered everything up to now."""
    processed = [event.event_id for event in inputs.previous if event.processed_at is not None]
    return processed[-1] if processed else _cursor(inputs)


def _cursor(inputs: ContextInputs) -> str | None:
    found = _part(inputs, "eventCursor").get("lastContextEventId")
    return found if isinstance(found, str) else None


def _shown(inputs: ContextInputs) -> dict[str, str]:
    return {name: str(value) for name, value in _part(inputs, "shown").items()}


def _part(inputs: ContextInputs, name: str) -> dict[str, Any]:
    """An object of the checkpoint; an imported one may lack it."""
    part = (inputs.checkpoint or {}).get(name)
    return cast(dict[str, Any], part) if isinstance(part, dict) else {}
