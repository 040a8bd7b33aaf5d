"""The files of a message on their way into a run: which ones the harness gets, and what is refused before sending.

A picture for a model that cannot look at pictures is refused when the message is sent, in words, instead of being left
out silently later.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from holaboss_runtime.errors import DomainError
from holaboss_runtime.harness.contract import Attachment
from holaboss_runtime.workspace.attached import IMAGE_TYPES, kind_of, reachable

MAX_ATTACHMENTS = 50


def attachments_of(payloads: Iterable[dict[str, Any]], folder: Path) -> list[Attachment]:
    """Those of all messages of a run, each once, in order. One that leads out by now is left out."""
    found: dict[str, Attachment] = {}
    for payload in payloads:
        for item in _list(payload, "attachments"):
            path = str(item.get("workspace_path") or "")
            if path and path not in found and (attachment := _attachment(item, path, folder)) is not None:
                found[path] = attachment
    return list(found.values())[:MAX_ATTACHMENTS]


def image_urls_of(payloads: Iterable[dict[str, Any]]) -> list[str]:
    """Pictures that came with the messages themselves."""
    return [str(url) for payload in payloads for url in _list(payload, "image_urls")]


def has_images(payload: dict[str, Any]) -> bool:
    """Whether a message brings pictures, as far as names and kinds tell."""
    listed = _list(payload, "attachments")
    named = (Path(str(item.get("workspace_path") or "")) for item in listed if item.get("kind") != "folder")
    return bool(payload.get("image_urls")) or any(kind_of(path) == "image" for path in named)


def refuse_images(model_name: str) -> DomainError:
    return DomainError(
        "unprocessable",
        "model_takes_no_images",
        f"{model_name} cannot look at pictures. Choose a model that can, or send the message without them.",
        model=model_name,
    )


def _list(payload: dict[str, Any], name: str) -> list[Any]:
    found: object = payload.get(name)
    return cast(list[Any], found) if isinstance(found, list) else []


def _attachment(item: dict[str, Any], path: str, folder: Path) -> Attachment | None:
    try:
        place = reachable(folder, path)
    except DomainError:
        return None
    name = str(item.get("name") or place.name)
    if place.is_dir():
        return Attachment(workspace_path=path, name=name, kind="folder")
    media_type = IMAGE_TYPES.get(place.suffix.lower())
    return Attachment(workspace_path=path, name=name, kind=kind_of(place), mime_type=media_type)
