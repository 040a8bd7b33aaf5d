"""A snapshot without a secret in it is stored as it is; one with a secret is walked, whatever the secret looks like."""

from __future__ import annotations

from typing import Any

import pytest

from holaboss_runtime.redaction import REDACTED
from holaboss_runtime.runs.snapshot import Redactor


@pytest.mark.parametrize(
    "secret", ["sk-live-4711", 'with"quote-and\\back', "line\nbreak-in-it", "schlüssel-4711"]
)
def test_a_secret_is_taken_out_wherever_it_stands(secret: str) -> None:
    document: dict[str, Any] = {
        "text": f"before {secret} after",
        secret: [{"deep": secret}],
        "number": 7,
        "nothing": None,
    }
    assert Redactor({secret}).document(document) == {
        "text": f"before {REDACTED} after",
        REDACTED: [{"deep": REDACTED}],
        "number": 7,
        "nothing": None,
    }


@pytest.mark.parametrize("secret", ["sk-live-4711", 'with"quote-and\\back', "short"])
def test_a_document_without_it_stays_what_it_is(secret: str) -> None:
    document: dict[str, Any] = {"text": "short and harmless", "list": [1, "two", {"three": None}]}
    assert Redactor({secret}).document(document) == document
