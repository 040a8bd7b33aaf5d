"""The request snapshot: what a run was asked, provable afterwards, with no secret in it.

A snapshot names prompt sections by fingerprint and earlier turns by place. Header values and keys are never part of
it, and any secret that is alive right now is removed from every text, whatever key it stands under.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from holaboss_runtime.harness.contract import RunPackage
from holaboss_runtime.redaction import redact, worth_hiding
from holaboss_runtime.runs import fingerprint
from holaboss_runtime.runs.policy import described
from holaboss_runtime.runs.sections import Prompt
from holaboss_runtime.store.json_text import encode
from holaboss_runtime.store.request_snapshots import RequestSnapshot

SCHEMA_VERSION = 1
KIND = "harness_host_request"


class Redactor:
    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = worth_hiding(secrets)

    def text(self, text: str) -> str:
        return redact(text, self._secrets)

    def document(self, document: dict[str, Any]) -> dict[str, Any]:
        """`document` itself when no secret is in it, which one look at its JSON tells; walking it takes ten times as
        long."""
        written = encode(document)
        if any(not _plain(secret) or secret in written for secret in self._secrets):
            return self.value(document)
        return document

    def value(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            mapping = cast(dict[str, Any], value)
            return {self.text(key): self.value(item) for key, item in mapping.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast(Iterable[Any], value)]
        return value


def take_snapshot(
    package: RunPackage,
    prompt: Prompt,
    *,
    harness: str,
    attachments: list[dict[str, Any]],
    history_seqs: list[int],
    workspace_checksum: str,
    capabilities: dict[str, Any],
    redactor: Redactor,
) -> tuple[RequestSnapshot, dict[str, str]]:
    """The snapshot, and the texts it names by fingerprint: those of the prompt, and the manifest as JSON."""
    manifest = redactor.text(json.dumps(capabilities, ensure_ascii=False, sort_keys=True))
    texts = [redactor.text(section.content) for section in prompt.sections]
    prints = [fingerprint.of_text(text) for text in texts]
    payload: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "snapshot_kind": KIND,
        "workspace_id": package.workspace_id,
        "session_id": package.session_id,
        "input_id": package.input_id,
        "wake_id": package.wake_id,
        "harness_id": harness,
        "raw_instruction": package.instruction,
        "attachments": attachments,
        "runtime_config": {
            "provider_id": package.provider_id,
            "model_id": package.model_id,
            "thinking_value": package.thinking_value,
            "prompt_sections": [
                {"id": s.id, "channel": s.channel, "volatility": s.volatility, "fingerprint": name}
                for s, name in zip(prompt.sections, prints, strict=True)
            ],
            "prompt_cache_profile": prompt.cache_profile(),
            "tools": list(package.tools),
            "workspace_skill_ids": [PurePath(folder).name for folder in package.workspace_skill_dirs],
            "permissions": described(package.permissions),
            "workspace_config_checksum": workspace_checksum,
            "capability_manifest": fingerprint.of_text(manifest),
            "model_client": {
                "protocol": package.model_client.protocol,
                "base_url": _without_credentials(package.model_client.base_url),
                "header_names": sorted(package.model_client.default_headers),
            },
        },
        "history_turns": history_seqs,
        "limits": package.limits.model_dump(),
    }
    clean = redactor.document(payload)
    snapshot = RequestSnapshot(package.input_id, KIND, fingerprint.of_value(clean), clean)
    kept = dict(zip(prints, texts, strict=True))
    return snapshot, kept | {fingerprint.of_text(manifest): manifest}


def _plain(secret: str) -> bool:
    """It stands in JSON as it is, without an escape."""
    return encode(secret) == f'"{secret}"'


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
