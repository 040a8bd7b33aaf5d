"""What an answer may say: the reply to a question against its options, a rule to keep against what was suggested.

Pure: it compares, and refuses by name. Who asked and whether anybody still waits is known elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from holaboss_client.permissions import RuleText
from holaboss_runtime.errors import DomainError

MAX_ANSWER_CHARS = 100_000
SKIPPED: dict[str, Any] = {"options": [], "text": ""}
"""The answer of a person who does not want to answer."""

_WILD = frozenset("*?[")
_SPECIAL = _WILD | {"=", "@"}
_TREE = "/**"


def answer_to(question: dict[str, Any], output: object) -> str | dict[str, Any]:
    """The answer to a question, as a text or as `{"options": [labels], "text": ""}`; neither means skipped.

    `question` is the input of the call that asked. Raises `DomainError` `answer_invalid`.
    """
    if output is None:
        return SKIPPED
    if isinstance(output, str):
        return _bounded(output.strip()) or SKIPPED
    if not isinstance(output, dict):
        raise _invalid("An answer is a text, or an object with `options` and `text`.")
    given = cast("dict[str, Any]", output)
    if unknown := sorted(set(given) - {"options", "text"}):
        raise _invalid(f"An answer has `options` and `text`, not {unknown[0][:80]!r}.")
    text = given.get("text") or ""
    if not isinstance(text, str):
        raise _invalid("The `text` of an answer must be text.")
    return {"options": _chosen(question, given.get("options") or []), "text": _bounded(text.strip())}


def is_suggested(rule: RuleText, suggestions: Sequence[RuleText]) -> bool:
    """Whether a rule allows no more than one of the suggestions does."""
    return any(_covers(suggestion, rule) for suggestion in suggestions)


def _chosen(question: dict[str, Any], given: object) -> list[str]:
    options = cast("list[object]", given) if isinstance(given, list) else None
    if options is None or not all(isinstance(option, str) for option in options):
        raise _invalid("The `options` of an answer are a list of labels.")
    chosen = [str(option) for option in options]
    labels = _labels(question)
    for label in chosen:
        if label not in labels:
            known = ", ".join(repr(known) for known in labels) or "none"
            raise _invalid(f"{label[:80]!r} is not an option of this question. There are: {known}.")
    if len(set(chosen)) != len(chosen):
        raise _invalid("An option can be chosen once.")
    if len(chosen) > 1 and not question.get("allow_multiple"):
        raise _invalid("This question takes one option.")
    return chosen


def _labels(question: dict[str, Any]) -> list[str]:
    listed: object = question.get("options")
    options = cast("list[object]", listed) if isinstance(listed, list) else []
    return [
        str(cast("dict[str, Any]", option).get("label", "")) if isinstance(option, dict) else str(option)
        for option in options
    ]


def _bounded(text: str) -> str:
    if len(text) > MAX_ANSWER_CHARS:
        raise _invalid(f"An answer has at most {MAX_ANSWER_CHARS} characters. Put the rest into a file.")
    return text


def _invalid(detail: str) -> DomainError:
    return DomainError("unprocessable", "answer_invalid", detail)


def _covers(wide: RuleText, narrow: RuleText) -> bool:
    return (
        wide.effect == narrow.effect
        and _within(wide.tool, narrow.tool, _is_one_of)
        and _within(wide.command, narrow.command, _begins)
        and _within(wide.path, narrow.path, _lies_in)
        and _within(wide.host, narrow.host, _belongs_to)
        and _within(wide.server, narrow.server, lambda _wide, _narrow: False)
    )


def _within(wide: str | None, narrow: str | None, inside: Callable[[str, str], bool]) -> bool:
    """What the wider rule leaves open, the other may close; what it says, the other has to say as narrowly."""
    if wide is None or wide == narrow:
        return True
    return narrow is not None and inside(wide, narrow)


def _is_one_of(wide: str, narrow: str) -> bool:
    """A name among those that a name with a star at its end stands for."""
    plain = bool(narrow) and not _SPECIAL & set(narrow)
    return wide.endswith("*") and not _SPECIAL & set(wide[:-1]) and plain and narrow.startswith(wide[:-1])


def _begins(wide: str, narrow: str) -> bool:
    """The same words and more of them. What begins with a sign is no list of words: it is compared as a whole."""
    return wide[:1] not in _SPECIAL and narrow.startswith(f"{wide} ")


def _lies_in(wide: str, narrow: str) -> bool:
    """Something below a folder that is allowed as a whole."""
    folder = wide.removesuffix(_TREE)
    plain = not _WILD & set(folder) and not {"..", "."} & set(narrow.split("/"))
    rest = narrow.removesuffix(_TREE)
    return wide.endswith(_TREE) and plain and not _WILD & set(rest) and narrow.startswith(f"{folder}/")


def _belongs_to(wide: str, narrow: str) -> bool:
    return wide.startswith("*.") and not _WILD & set(narrow) and narrow.endswith(wide[1:])
