"""Turning whatever ends a run into a `RUN_FAILED` payload a person can act on.

A payload names the provider and the model, says whether trying again may help, and never contains a key.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic_ai import exceptions as ai

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.harness.host.text import clip, valid_text
from holaboss_runtime.harness.host.tools.base import ToolError
from holaboss_runtime.redaction import redact, worth_hiding

_LONGEST_REASON = 600
_RETRYABLE_STATUS = frozenset({408, 429})


class Failure(NamedTuple):
    """`sentence` may use {provider} and {model}; `quote` adds what the provider said."""

    type: str
    sentence: str
    retryable: bool = False
    quote: bool = False


class RunTimeoutError(Exception):
    """The run as a whole took longer than it may."""


class AnswerCutOffError(Exception):
    """The stream ended politely, but the answer in it did not."""


class ToolLoopError(Exception):
    """The model makes the same call again and again, and goes on after it was told."""


class DeniedTooOftenError(Exception):
    """The model goes on with calls that are refused."""


class AnswerTooLargeError(Exception):
    """An answer of the model that nobody could carry any further."""


# The first class that matches decides, so a subclass stands before its parent.
_BY_CLASS: list[tuple[type[BaseException], Failure]] = [
    (
        RunTimeoutError,
        Failure(
            "run_timeout",
            "The run with {model} reached its time limit and was stopped. Send “continue” to go on.",
        ),
    ),
    (
        AnswerCutOffError,
        Failure(
            "connection_failed", "The answer of {model} broke off before {provider} ended it.", retryable=True
        ),
    ),
    (
        ToolLoopError,
        Failure(
            "tool_loop",
            "{model} made the same call again and again with the same result, and was stopped. Say what it should do"
            " differently.",
        ),
    ),
    (
        DeniedTooOftenError,
        Failure(
            "permission_denied_repeatedly",
            "{model} kept making calls that are not allowed here, and was stopped. Allow what it needs, or ask for"
            " something else.",
        ),
    ),
    (
        AnswerTooLargeError,
        Failure(
            "answer_too_large", "The answer of {model} was too large to be taken, and the run was stopped."
        ),
    ),
    (
        ToolError,
        Failure(
            "workspace_missing",
            "The folder of this workspace cannot be found. Put it back or pick another one.",
        ),
    ),
    (
        ai.ModelAuthenticationError,
        Failure(
            "authentication",
            "{provider} did not accept the API key for {model}. Check it in Model Providers.",
            quote=True,
        ),
    ),
    (
        ai.ModelNotFoundError,
        Failure(
            "model_not_found", "{provider} has no model called {model} here. Pick another model.", quote=True
        ),
    ),
    (
        ai.ModelContextWindowExceededError,
        Failure(
            "context_too_long", "The conversation is too long for {model} at {provider}. Start a new session."
        ),
    ),
    (
        ai.ModelQuotaExceededError,
        Failure("quota_exceeded", "The account at {provider} has no credit left for {model}.", quote=True),
    ),
    (
        ai.ModelRateLimitError,
        Failure(
            "rate_limited",
            "{provider} is limiting requests to {model} right now.",
            retryable=True,
            quote=True,
        ),
    ),
    (
        ai.ModelTimeoutError,
        Failure("timeout", "{provider} stopped answering while {model} was working.", retryable=True),
    ),
    (
        ai.ModelRequestTimeout,
        Failure("timeout", "{provider} stopped answering while {model} was working.", retryable=True),
    ),
    (
        ai.ModelConnectionError,
        Failure(
            "connection_failed",
            "The connection to {provider} for {model} failed or broke off. Check that it is running and its address.",
            retryable=True,
        ),
    ),
    (
        ai.ModelUnavailableError,
        Failure(
            "provider_unavailable", "{provider} cannot serve {model} right now.", retryable=True, quote=True
        ),
    ),
    (
        ai.ModelServerError,
        Failure(
            "provider_error", "{provider} had an error of its own with {model}.", retryable=True, quote=True
        ),
    ),
    (
        ai.ModelRequestRejectedError,
        Failure("request_rejected", "{provider} refused the request to {model}.", quote=True),
    ),
    (
        ai.ModelAPIError,
        Failure("provider_error", "{provider} reported an error with {model}.", quote=True),
    ),
    (
        ai.UsageLimitExceeded,
        Failure(
            "request_limit", "The run asked {model} more often than a run may. Send “continue” to go on."
        ),
    ),
    (
        ai.ContentFilterError,
        Failure(
            "content_filtered", "{provider} withheld the answer of {model} because of its content rules."
        ),
    ),
    (
        ai.OutputTokenLimitExceeded,
        Failure(
            "output_limit", "{model} reached the longest answer {provider} allows. Ask for less at a time."
        ),
    ),
    (
        ai.UnexpectedModelBehavior,
        Failure("bad_response", "{provider} sent no usable answer from {model}.", quote=True),
    ),
]
_INTERNAL = Failure(
    "internal_error", "Something went wrong inside Holaboss while {model} was working.", quote=True
)
_GARBAGE = Failure("bad_response", "{provider} sent an answer from {model} that cannot be read.")


def failure_payload(error: BaseException, package: RunPackage) -> dict[str, Any]:
    """The RUN_FAILED payload: `type, message, provider_id, model_id, retryable`; where known also
    `status_code` and `retry_after_s`."""
    status = getattr(error, "status_code", None)
    failure = _failure_of(error)
    retryable = failure.retryable if status is None else status in _RETRYABLE_STATUS or status >= 500
    if failure.type in ("quota_exceeded", "context_too_long"):
        retryable = False
    message = failure.sentence.format(provider=package.provider_name, model=package.model_id)
    if failure.quote and (reason := _reason(error)):
        message = f"{message} It said: {reason}"
    payload: dict[str, Any] = {
        "type": failure.type,
        "message": redact(valid_text(message), _secrets(package)),
        "provider_id": package.provider_id,
        "model_id": package.model_id,
        "retryable": retryable,
    }
    if status is not None:
        payload["status_code"] = status
    if (wait := getattr(error, "retry_after", None)) is not None:
        payload["retry_after_s"] = wait
    return payload


def _secrets(package: RunPackage) -> list[str]:
    client = package.model_client
    return worth_hiding([client.api_key, *client.default_headers.values()])


def _failure_of(error: BaseException) -> Failure:
    if isinstance(error, ValueError) or isinstance(error.__cause__, ValueError):
        return _GARBAGE  # undecodable JSON and UTF-8 are ValueErrors
    for kind, failure in _BY_CLASS:
        if isinstance(error, kind):
            return failure
    return _INTERNAL


def _reason(error: BaseException) -> str:
    """What the provider said, as one line."""
    text = _message_in(getattr(error, "body", None)) or getattr(error, "message", None) or str(error)
    return clip(" ".join(str(text).split()), _LONGEST_REASON)


def _message_in(body: Any) -> str | None:  # noqa: ANN401 - whatever the provider sent
    """The `message` of an error body, which providers nest under `error` or not."""
    if not isinstance(body, dict):
        return None
    inner: Any = body.get("error", body)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found: Any = inner.get("message") if isinstance(inner, dict) else inner  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return found if isinstance(found, str) else None
