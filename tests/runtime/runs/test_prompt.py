"""Prompt order, the cache profile, redaction and the retry rule."""

from __future__ import annotations

import pytest

from holaboss_runtime.runs import texts
from holaboss_runtime.runs.prepare import preview
from holaboss_runtime.runs.sections import PromptSection, assemble
from holaboss_runtime.runs.snapshot import Redactor
from holaboss_runtime.sessions.retry import retry_delay


def sections(*, policy: str = "Be kind.", today: str = "2026-01-31", resume: str = "") -> list[PromptSection]:
    return [
        PromptSection("resume_context", "resume_context", "runtime_context", 550, "run", resume),
        PromptSection(
            "session_policy", "system_prompt", "session_policy", 300, "run", texts.session_policy("W", today)
        ),
        PromptSection("workspace_policy", "system_prompt", "workspace_policy", 600, "workspace", policy),
        PromptSection(
            "execution_policy", "system_prompt", "base_runtime", 200, "stable", texts.EXECUTION_POLICY
        ),
        PromptSection("runtime_core", "system_prompt", "base_runtime", 100, "stable", texts.RUNTIME_CORE),
    ]


def test_what_changes_least_comes_first() -> None:
    prompt = assemble(sections(resume="you were interrupted"))
    assert prompt.section_ids == (
        "runtime_core",
        "execution_policy",
        "workspace_policy",
        "session_policy",
        "resume_context",
    )
    assert prompt.context_messages == ["you were interrupted"]
    assert prompt.system_prompt.startswith(texts.RUNTIME_CORE)
    assert "interrupted" not in prompt.system_prompt


def test_the_cacheable_prefix_is_a_prefix_and_survives_what_changes_per_run() -> None:
    one, other = assemble(sections()), assemble(sections(today="2026-02-01", resume="new"))
    first, second = one.cache_profile(), other.cache_profile()
    assert first["cacheable_section_ids"] == ["runtime_core", "execution_policy", "workspace_policy"]
    assert first["cacheable_fingerprint"] == second["cacheable_fingerprint"]
    assert first["volatile_fingerprint"] != second["volatile_fingerprint"]
    cut = one.system_prompt.index("Be kind.") + len("Be kind.")
    assert other.system_prompt[:cut] == one.system_prompt[:cut]
    assert (
        assemble(sections(policy="Be brief.")).cache_profile()["cacheable_fingerprint"]
        != (first["cacheable_fingerprint"])
    )


def test_blank_sections_are_left_out() -> None:
    prompt = assemble(sections(policy=texts.workspace_policy("  \n")))
    assert "workspace_policy" not in prompt.section_ids
    assert prompt.context_messages == []


def test_tools_are_named_from_the_registry_alone() -> None:
    assert "read, bash" in texts.capability_policy(("read", "bash"))
    assert "no tools" in texts.capability_policy(())
    fixed = texts.RUNTIME_CORE + texts.EXECUTION_POLICY
    assert not {"bash", "grep", "web_search", "todo"} & set(fixed.lower().split())


def test_secrets_are_removed_by_value_wherever_they_stand() -> None:
    redactor = Redactor({"sk-12345678", "sk-12345678-long", "short"})
    value = {"url": "x?k=sk-12345678", "list": ["sk-12345678-long", 3, None], "a sk-12345678": "short"}
    assert redactor.value(value) == {
        "url": "x?k=[redacted]",
        "list": ["[redacted]", 3, None],
        "a [redacted]": "short",
    }


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [("  one\n two ", 80, "one two"), ("abcdef", 6, "abcdef"), ("abc defgh", 5, "abc…"), ("", 5, "")],
)
def test_a_preview_is_one_short_line(text: str, limit: int, expected: str) -> None:
    assert preview(text, limit) == expected


def test_retry_delays_grow_and_respect_the_provider() -> None:
    failure = {"retryable": True}
    delays = [retry_delay(failure, attempt=attempt, progressed=False) or 0 for attempt in range(3)]
    assert 1.5 <= delays[0] <= 2.5
    assert 4.5 <= delays[1] <= 7.5
    assert 13.5 <= delays[2] <= 22.5
    assert retry_delay(failure, attempt=3, progressed=False) is None
    assert retry_delay(failure, attempt=0, progressed=True) is None
    assert retry_delay({"retryable": False}, attempt=0, progressed=False) is None
    asked = retry_delay({"retryable": True, "retry_after_s": 30}, attempt=0, progressed=False)
    assert asked is not None
    assert 30 <= asked <= 33
    assert retry_delay({"retryable": True, "retry_after_s": 3600}, attempt=0, progressed=False) is None
