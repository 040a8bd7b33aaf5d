"""`write_report`: a document worth keeping, as a file of its own and as an output of the turn."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from pydantic import Field

from holaboss_client.base import new_id, utc_now
from holaboss_runtime.harness.contract import NewOutput
from holaboss_runtime.harness.host.tools.base import HostTool, ToolError, ToolInput, Workspace
from holaboss_runtime.harness.host.tools.outcome import ToolOutcome
from holaboss_runtime.permissions.model import CallFacts
from holaboss_runtime.workspace.reports import (
    MAX_REPORT_BYTES,
    REPORTS_FOLDER,
    report_stem,
    write_new_report,
)

MIME_TYPE = "text/markdown"
_HEADING = re.compile(r"^#{1,3}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


class WriteReportInput(ToolInput):
    content: str = Field(description="The whole report, in Markdown")
    title: str = Field(default="", max_length=300, description="How the person finds it again")
    filename: str = Field(default="", max_length=300, description="Wanted name of the file")
    summary: str = Field(default="", max_length=1000, description="One or two sentences about what it says")


async def write_report(workspace: Workspace, request: WriteReportInput) -> ToolOutcome:
    return await asyncio.to_thread(_write_report, workspace, request)


def _write_report(workspace: Workspace, request: WriteReportInput) -> ToolOutcome:
    if not request.content.strip():
        raise ToolError("A report needs content.")
    size = len(request.content.encode("utf-8", "replace"))
    if size > MAX_REPORT_BYTES:
        raise ToolError(f"A report has at most {MAX_REPORT_BYTES // 1024 // 1024} MiB. Split it.")
    title = _title(request)
    folder = workspace.locate(REPORTS_FOLDER, for_writing=True)
    path = write_new_report(folder.path, _stem(request), request.content)
    shown = folder.name_of(path)
    facts: dict[str, Any] = {"mime_type": MIME_TYPE, "size_bytes": size, "summary": request.summary}
    output = NewOutput(
        output_id=new_id(),
        output_type="document",
        title=title,
        file_path=shown,
        metadata={"artifact_type": "report"} | facts,
    )
    told = {
        "output_id": output.output_id,
        "artifact_id": output.output_id,
        "title": title,
        "file_path": shown,
        "created_at": utc_now(),
    }
    text = f"Wrote the report “{title}” to {shown} ({size:,} bytes)."
    return ToolOutcome(text, changed_paths=(shown,), details={"output": told | facts}, outputs=(output,))


def _title(request: WriteReportInput) -> str:
    """The given one, else the first heading, else the name of the file."""
    heading = _HEADING.search(request.content[:20_000])
    wish = request.title or (heading[1] if heading else "") or report_stem(request.filename)
    return " ".join(wish.split())[:300] or "Report"


def _stem(request: WriteReportInput) -> str:
    return report_stem(request.filename, _title(request))


def _about(arguments: dict[str, Any]) -> CallFacts:
    """The name is the wanted one; where it is taken the file gets a number behind it."""
    stem = _stem(WriteReportInput.model_validate(arguments))
    return CallFacts("write_report", writes=(f"{REPORTS_FOLDER}/{stem}.md",))


WRITE_REPORT = HostTool(
    "write_report",
    f"Write a report into {REPORTS_FOLDER}/, where the person finds it among what you made. It never replaces a file.",
    WriteReportInput,
    write_report,
    alone=True,
    about=_about,
)
