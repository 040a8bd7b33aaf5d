"""A conversation with one of everything, for looking at."""

from __future__ import annotations

from holaboss_client.attachments import MessageAttachment
from holaboss_client.sessions import Turn
from tests.support.conversations import Events, turn

MARKDOWN = '''## What I found

The **exporter** drops rows when a batch is *empty*; see `export_batch()` in `src/export.py`. Three things matter:

1. Empty batches return early, before the header is written.
2. The retry wrapper swallows `ValueError`.
3. Nothing is logged, so [the dashboard](https://example.com) stays green.
   - nested detail with `code`
   - another nested detail

> The rule in AGENTS.md says that failures must be visible.

| File | Lines | Risk |
|------|------:|------|
| `src/export.py` | 214 | high |
| `src/retry.py` | 88 | medium |
| `tests/test_export.py` | 40 | low |

### The change

```python
def export_batch(rows: list[Row], *, path: Path) -> int:
    """Write `rows`; the header is written even when there are none."""
    with path.open("w", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=FIELDS)
        writer.writeheader()  # also for an empty batch, so that the importer can tell it from a missing file
        for number, row in enumerate(rows, start=1):
            writer.writerow(row.as_dict())
    return len(rows)
```

- [x] header for empty batches
- [ ] log the retry

---

That is all. Shall I run the tests?
'''


def conversation() -> list[Turn]:
    """Four turns: thinking, tools and all of Markdown; a stopped one; a failed one; one that runs."""
    return [_explained(), _stopped(), _failed(), _running()]


def exchange() -> list[Turn]:
    """Two turns: a message with files whose answer made some, and a message that is nothing but a file."""
    events = Events("a", 1)
    run = [*events.started("gpt-5", "openai_direct")]
    for number, (tool, path, facts) in enumerate(MADE):
        run += events.tool(number, tool, {"path": path}, "done", changed=[path], details=facts)
    run += [events.delta("The report is written, and the chart is beside it.", 9), events.completed()]
    files = [
        MessageAttachment(workspace_path="sales.xlsx", name="sales.xlsx", kind="file", size=81_920),
        MessageAttachment(
            workspace_path="a/photo.png", name="photo of the whiteboard.png", kind="image", size=2_400_000
        ),
    ]
    asked = turn(1, "Write a report from these two, please.", run).model_copy(update={"attachments": files})
    later = Events("b", 100)
    alone = turn(2, "", [*later.started(), later.delta("A cat."), later.completed()])
    return [asked, alone.model_copy(update={"attachments": files[1:]})]


MADE = [
    (
        "write_report",
        "outputs/reports/sales.md",
        {
            "output": {
                "title": "Sales by region",
                "file_path": "outputs/reports/sales.md",
                "size_bytes": 4_200,
            }
        },
    ),
    (
        "image_generate",
        "outputs/images/chart.png",
        {"path": "outputs/images/chart.png", "size_bytes": 91_000},
    ),
    ("write", "NOTES.md", {}),
]


def _explained() -> Turn:
    events = Events("a", 1)
    thought = "The user asks about the export. I should look at the code first, then at the tests."
    command = "pytest -q tests/test_export.py --maxfail=1 -k 'not slow and not network' --durations=5"
    run = [*events.started("gpt-5", "openai_direct"), events.delta(thought, 0, thinking=True)]
    run += events.tool(1, "grep", {"pattern": "export_batch"}, "src/export.py:12: def export_batch")
    run += events.tool(2, "read", {"path": "src/export.py"}, "1 import csv\n2 ...")
    run += events.tool(3, "bash", {"command": command}, "1 failed in 0.61s", error=True)
    run += [events.delta(MARKDOWN, 4), events.completed()]
    return turn(1, "Why does the nightly export sometimes come out empty?", run)


def _stopped() -> Turn:
    events = Events("b", 100)
    run = [*events.started()]
    run += events.tool(0, "bash", {"command": "pytest -q"}, "....................\n20 passed in 1.42s")
    run += events.tool(1, "write", {"path": "NOTES.md", "content": "# Export\n"}, "wrote 9 lines")
    run += [
        events.delta("All 20 tests pass, and `NOTES.md` explains the header.", 2),
        events.completed("paused"),
    ]
    text = (
        "Yes, run them. And then write a short note into NOTES.md so that the next person who looks at this at "
        "three in the morning understands at once what the header line is for."
    )
    return turn(2, text, run)


def _failed() -> Turn:
    events = Events("c", 200)
    sentence = "OpenAI refused the key. Check the key of this provider in the model settings."
    return turn(3, "Thanks!", [*events.started(), events.failed("bad_key", sentence)])


def _running() -> Turn:
    events = Events("d", 300)
    run = [*events.started(), events.delta("Looking at the last run", 0, thinking=True)]
    run += events.tool(1, "bash", {"command": "tail -n 20 logs/export.log"}, None)
    return turn(4, "Once more, please", run)
