"""Prompt sections: named pieces of what a model is told, ordered so that a provider's prefix cache really hits.

What changes least comes first. Everything up to the first section that changes per run is the cacheable prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from holaboss_runtime.runs import fingerprint

Channel = Literal["system_prompt", "context_message", "resume_context", "attachment"]
Volatility = Literal["stable", "workspace", "run"]
Precedence = Literal[
    "base_runtime", "session_policy", "capability_policy", "runtime_context", "workspace_policy"
]

_VOLATILITY: tuple[Volatility, ...] = ("stable", "workspace", "run")
_PRECEDENCE: tuple[Precedence, ...] = (
    "base_runtime",
    "session_policy",
    "capability_policy",
    "runtime_context",
    "workspace_policy",
)


@dataclass(frozen=True, slots=True)
class PromptSection:
    """`stable` is the same everywhere, `workspace` changes when the workspace does, `run` may change every time."""

    id: str
    channel: Channel
    precedence: Precedence
    priority: int
    volatility: Volatility
    content: str

    @property
    def fingerprint(self) -> str:
        return fingerprint.of_text(self.content)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Sections in order. Blank ones are gone."""

    sections: tuple[PromptSection, ...]

    @property
    def system_prompt(self) -> str:
        return _join(self._system())

    @property
    def context_messages(self) -> list[str]:
        return [section.content for section in self.sections if section.channel != "system_prompt"]

    @property
    def section_ids(self) -> tuple[str, ...]:
        return tuple(section.id for section in self.sections)

    def cache_profile(self) -> dict[str, Any]:
        """Which sections a provider can keep in its prefix cache, and fingerprints that say whether they moved."""
        cacheable = [section for section in self._system() if section.volatility != "run"]
        volatile = [section for section in self._system() if section.volatility == "run"]
        return {
            "cacheable_section_ids": [section.id for section in cacheable],
            "volatile_section_ids": [section.id for section in volatile],
            "context_message_ids": self._ids("context_message"),
            "resume_context_ids": self._ids("resume_context"),
            "attachment_ids": self._ids("attachment"),
            "cacheable_fingerprint": fingerprint.of_text(_join(cacheable)),
            "volatile_fingerprint": fingerprint.of_text(_join(volatile)),
            "full_system_prompt_fingerprint": fingerprint.of_text(self.system_prompt),
        }

    def _system(self) -> list[PromptSection]:
        return [section for section in self.sections if section.channel == "system_prompt"]

    def _ids(self, channel: Channel) -> list[str]:
        return [section.id for section in self.sections if section.channel == channel]


def assemble(sections: Sequence[PromptSection]) -> Prompt:
    """Order sections: by volatility first, then by precedence, priority and id."""

    def place(section: PromptSection) -> tuple[int, int, int, str]:
        return (
            _VOLATILITY.index(section.volatility),
            _PRECEDENCE.index(section.precedence),
            section.priority,
            section.id,
        )

    return Prompt(tuple(sorted((section for section in sections if section.content.strip()), key=place)))


def _join(sections: Sequence[PromptSection]) -> str:
    return "\n\n".join(section.content.strip() for section in sections)
