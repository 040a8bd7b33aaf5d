"""What is known of models: how much fits, whether they look at pictures, how they can be asked to think.

Facts by provider and pattern of the model id, the first that fits; a model nobody knows gets careful defaults. What the
settings file says of a model comes before all of it. Pure: nothing here asks a provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, cast

from holaboss_runtime.config.builtin import DEMO_ID, PROXY_ID

CONTEXT_WINDOW = 65_536
MAX_OUTPUT = 8_192
MOST_TOKENS = 100_000_000
MAX_VALUES = 20


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Sizes in tokens. `thinking_values` are what a person may pick: levels, or numbers of tokens to think with.

    `reasons` is None where nobody knows: then it thinks when it is asked to, and is left alone otherwise.
    """

    context_window: int = CONTEXT_WINDOW
    max_output: int = MAX_OUTPUT
    takes_images: bool = True
    reasons: bool | None = None
    thinking_values: tuple[str, ...] = ()
    default_thinking: str | None = None


UNKNOWN = ModelEntry()

_LEVELS = ("low", "medium", "high")
_FOUR = ("minimal", *_LEVELS)
_GPT = ModelEntry(400_000, 128_000, True, True, ("none", *_LEVELS, "xhigh"), "medium")
_CODEX = replace(_GPT, thinking_values=(*_LEVELS, "xhigh"))
_LARGE_GPT = replace(_GPT, context_window=1_050_000)
_CLAUDE = ModelEntry(200_000, 64_000, True, True, _LEVELS, "medium")
_LARGE_CLAUDE = replace(_CLAUDE, context_window=1_000_000, max_output=128_000)
_MAX = (*_LEVELS, "max")
_HAIKU = replace(_CLAUDE, thinking_values=("1024", "2048", "8192", "16384"), default_thinking="8192")
_GEMINI_PRO = ModelEntry(1_048_576, 65_536, True, True, ("-1", "128", "2048", "8192", "32768"), "8192")
_GEMINI_FLASH = replace(_GEMINI_PRO, thinking_values=("0", "-1", "128", "2048", "8192", "24576"))
_PLAIN_TEXT = ModelEntry(takes_images=False, reasons=False)
_MINIMAX = ModelEntry(204_800, takes_images=False, reasons=False)

_FAMILIES: tuple[tuple[str, ModelEntry], ...] = (
    ("gpt-5.4-mini*", _GPT),
    ("gpt-5.4-nano*", _GPT),
    ("gpt-5.4*", _LARGE_GPT),
    ("gpt-5*codex*", _CODEX),
    ("gpt-5*", _GPT),
    ("claude-sonnet-4?6*", _LARGE_CLAUDE),
    ("claude-opus-4?6*", replace(_LARGE_CLAUDE, thinking_values=_MAX)),
    ("claude-opus-*", replace(_CLAUDE, thinking_values=_MAX)),
    ("claude-haiku-*", _HAIKU),
    ("claude-*", _CLAUDE),
    ("gemini-*-pro*", _GEMINI_PRO),
    ("gemini-*", _GEMINI_FLASH),
    ("minimax*", _MINIMAX),
    ("llama*", _PLAIN_TEXT),
    ("qwen3:*", _PLAIN_TEXT),
    ("gpt-oss:*", _PLAIN_TEXT),
)
"""By the id of the maker, in lower case; the more particular one comes first."""

_CARRIED: tuple[tuple[str, ModelEntry], ...] = (
    ("xiaomi/mimo-*", ModelEntry(CONTEXT_WINDOW, MAX_OUTPUT, False, True, _FOUR, "medium")),
    ("z-ai/glm-*", ModelEntry(202_752, MAX_OUTPUT, False, True, _FOUR, "medium")),
    ("qwen/qwen3.6-plus*", ModelEntry(1_000_000, MAX_OUTPUT, True, True, _FOUR, "medium")),
)

_TEXT_ONLY = frozenset({"ollama_direct", "minimax_direct"})


def facts_of(provider_id: str, model: str, stated: Mapping[str, Any] | None = None) -> ModelEntry:
    """What is known of a provider's model; `stated` is what the settings file says of it."""
    return _overridden(_known(provider_id, model.strip().lower()), stated or {})


def _known(provider_id: str, model: str) -> ModelEntry:
    if provider_id == DEMO_ID:
        return replace(UNKNOWN, takes_images=False, reasons=False)
    carried = _first(_CARRIED, model)
    family = _first(_FAMILIES, model if provider_id == PROXY_ID else model.rpartition("/")[2])
    entry = carried or family or UNKNOWN
    if provider_id in _TEXT_ONLY:
        return replace(entry, takes_images=False, reasons=False, thinking_values=(), default_thinking=None)
    if provider_id == "openrouter_direct" and entry.reasons and carried is None:
        return replace(entry, thinking_values=_FOUR, default_thinking="medium")
    return entry


def _first(table: tuple[tuple[str, ModelEntry], ...], model: str) -> ModelEntry | None:
    return next((entry for pattern, entry in table if fnmatchcase(model, pattern)), None)


def _overridden(entry: ModelEntry, stated: Mapping[str, Any]) -> ModelEntry:
    """Values of the wrong type count as absent, as everywhere in that file."""
    changes: dict[str, Any] = {}
    for name in ("context_window", "max_output"):
        size = stated.get(name)
        if isinstance(size, int) and not isinstance(size, bool) and 0 < size <= MOST_TOKENS:
            changes[name] = size
    if isinstance(modalities := stated.get("input_modalities"), list):
        changes["takes_images"] = "image" in cast(list[object], modalities)
    if isinstance(stated.get("reasoning"), bool):
        changes["reasons"] = stated["reasoning"]
    if isinstance(values := stated.get("thinking_values"), list):
        texts = [
            item.strip() for item in cast(list[object], values) if isinstance(item, str) and item.strip()
        ]
        changes["thinking_values"] = tuple(texts[:MAX_VALUES])
    if isinstance(default := stated.get("default_thinking_value"), str) and default.strip():
        changes["default_thinking"] = default.strip()
    if changes.get("thinking_values") and "reasons" not in changes:
        changes["reasons"] = True
    changed = replace(entry, **changes)
    if changed.reasons is False:
        return replace(changed, thinking_values=(), default_thinking=None)
    if changed.default_thinking not in changed.thinking_values:
        return replace(changed, default_thinking=next(iter(changed.thinking_values), None))
    return changed
