"""The words of the demo model. They show what the transcript can render, and promise nothing."""

from __future__ import annotations

LABEL = "*Scripted demo answer: no model was asked.*"

NO_MODEL = (
    "This is the demo model. It runs on this computer, follows a fixed script and does not understand what "
    "you write. Connect a provider under Settings → Model Providers to talk to a real model."
)

NOTE = """\
# Demo note

The demo model wrote this file through the `write` tool, to show how an agent works in its workspace.
You can edit or delete it.
"""

THINKING = (
    "The request asks me to think. A real model would weigh possibilities here, look at the workspace and "
    "plan its next step. I follow a script, so this text only shows how thinking is streamed and folded away."
)

AFTER_THINKING = (
    "I have thought about it, in the way a script can: the text above was streamed as *thinking*."
)

MARKDOWN = """\
# Everything markdown can do here

Text can be **bold**, *italic*, ~~struck out~~ or `code`; a [link](https://example.com/) shows where it leads.

## Two languages

```python
def greet(name: str) -> str:
    return f"Hello, {name}! Zażółć gęślą jaźń, 你好, 🙂"
```

```sql
SELECT session_id, count(*) AS turns
FROM turn_results
GROUP BY session_id
ORDER BY turns DESC;
```

## A table

| Part | Streams | Survives a restart |
|:-----|:-------:|-------------------:|
| Text | yes | yes |
| Thinking | yes | yes |
| Tool calls | yes | yes |

## Lists

1. First, something ordered
2. then a second step
   - with a detail
   - and another one
3. and the end

> A quotation stands a little apart,
> also over two lines.

---

That was the last element."""

_SUBJECTS = (
    (
        "Workspaces",
        "A workspace is a folder with a plan and a policy. Every tool works inside it and nowhere else.",
    ),
    (
        "Sessions",
        "A session is a durable conversation. Its events are only ever appended, so nothing gets lost.",
    ),
    (
        "Runs",
        "A message is put into the queue, claimed once, and executed by a run that ends in exactly one way.",
    ),
    (
        "Tools",
        "Reading, writing, editing, searching and running commands are tools, and each call is on record.",
    ),
    (
        "Keys",
        "Keys stay in the keychain of this computer. They are in no file, on no command line and in no log.",
    ),
    (
        "Streaming",
        "Words appear as they arrive. A lost connection resumes after the last event that was seen.",
    ),
    (
        "Recovery",
        "When a process dies in the middle of an answer, what was said stays and the next start says so.",
    ),
    ("Memory", "What should last is written down in files that can be read, edited and taken along."),
)
_ROUNDS = 6


def everything() -> str:
    """A long answer: some 1,500 words in sections, with a list and a piece of code in each round."""
    parts = ["# A long answer\n\nIt says the same few things several times; what it shows is length."]
    for round_number in range(1, _ROUNDS + 1):
        parts.append(f"## Round {round_number}")
        parts += [f"### {round_number}.{n} {title}\n\n{text}" for n, (title, text) in enumerate(_SUBJECTS, 1)]
        parts.append("\n".join(f"- {title}: see above" for title, _ in _SUBJECTS))
        parts.append(f"```python\nround_number = {round_number}\nprint(round_number ** 2)\n```")
    return "\n\n".join(parts)
