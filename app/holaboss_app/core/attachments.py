"""The files of a message in the desktop's words: limits, sizes, and whether a model can look at pictures.

What an attachment is stands in the wire contract. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from holaboss_app.core.reducer import ToolSegment
from holaboss_client.attachments import MessageAttachment
from holaboss_client.config import ModelFacts, ProviderCatalogue

MAX_FILE_BYTES: Final = 50 << 20
"""What the runtime keeps of one file; it says the same."""
MAX_PICTURE_BYTES: Final = 10 << 20
"""What a model can be shown of one picture."""
MOST_FILES: Final = 50
MOST_OUTPUTS: Final = 12
PATHS_MIME: Final = "application/x-holaboss-workspace-paths"
"""What the file tree hands over when rows are dragged: paths in the workspace, one a line, folders end with `/`."""
STAGED: Final = ".holaboss/input-attachments/"
"""Where the runtime keeps the files that were sent ahead of a message."""
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAKERS = ("write_report", "image_generate", "download_url")


def is_staged(file: MessageAttachment) -> bool:
    """True for a copy that was sent ahead of its message, false for what is in the workspace."""
    return file.workspace_path.startswith(STAGED)


def is_picture(name: str) -> bool:
    """Whether a model may be able to look at it, by its name."""
    return name.lower().endswith(_PICTURES)


def in_workspace(path: str) -> MessageAttachment:
    """A file or folder of the workspace itself, as `PATHS_MIME` names it."""
    plain = path.rstrip("/")
    kind = "folder" if path.endswith("/") else "image" if is_picture(plain) else "file"
    return MessageAttachment(workspace_path=plain, name=plain.rpartition("/")[2], kind=kind)


def readable_size(size: int) -> str:
    """`1.5 MB`; binary units, as file managers on Linux show them."""
    if size < 1024:
        return f"{size} bytes"
    if size < 1024 * 1024:
        return f"{size / 1024:.0f} KB"
    amount, unit = (size / 1024 / 1024, "MB") if size < 1024 * 1024 * 1024 else (size / 1024**3, "GB")
    return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"


def is_blind(catalogue: ProviderCatalogue | None, model: str | None) -> bool:
    """True when `provider/model` is known not to take pictures. The default (no model) is the runtime's to judge: a
    workspace may have its own."""
    facts = _facts(catalogue, model) if model else None
    return facts is not None and not facts.takes_images


def _facts(catalogue: ProviderCatalogue | None, model: str) -> ModelFacts | None:
    provider_id, _, name = model.partition("/")
    providers = catalogue.providers if catalogue is not None else []
    found = next((provider for provider in providers if provider.id == provider_id), None)
    return found.model_facts.get(name) if found is not None else None


def outputs_of(tools: Iterable[ToolSegment]) -> list[MessageAttachment]:
    """What a turn made to be kept: reports, pictures, downloads; each once, in the order they were made."""
    made: dict[str, MessageAttachment] = {}
    for tool in tools:
        if tool.name in _MAKERS and tool.state == "done" and (output := _output(tool)) is not None:
            made[output.workspace_path] = output
    return list(made.values())[:MOST_OUTPUTS]


def file_of(tool: ToolSegment) -> str:
    """The one file of the workspace that a finished call wrote, or an empty string."""
    if tool.state != "done" or len(tool.changed_paths) != 1:
        return ""
    return tool.changed_paths[0]


def _output(tool: ToolSegment) -> MessageAttachment | None:
    nested = tool.details.get("output")
    told = cast("Mapping[str, Any]", nested) if isinstance(nested, dict) else tool.details
    path = told.get("file_path") or told.get("path")
    if not isinstance(path, str) or not path:
        return None
    size = told.get("size_bytes")
    return MessageAttachment(
        workspace_path=path,
        name=str(told.get("title") or path.rpartition("/")[2]),
        kind="image" if is_picture(path) else "file",
        size=size if isinstance(size, int) else 0,
    )
