"""Measures our figures beside their floors: `python -m tests.bench [--quick] [--only NAME …] [--write]`.

Prints a table and keeps the numbers as JSON in `out/bench.json`; `--write` also puts the table into
`docs/performance.md`. Exit status 1 means that a bench could not run, not that a budget was missed: the
machine decides too much about that.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import (
    bench_drain,
    bench_harness,
    bench_queue,
    bench_session_core,
    ending,
    idle,
    reading,
    runs,
    startup,
)
from tests.bench.figures import Figure, table, write_into

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
KEPT = ROOT / "out" / "bench.json"

Bench = Callable[[int], Any]
BENCHES: dict[str, tuple[Bench, int, int]] = {
    "window": (startup.window, 7, 2),
    "runtime": (startup.runtime, 7, 2),
    "latency": (runs.latency, 30, 5),
    "throughput": (runs.throughput, 3, 1),
    "tool": (runs.tool_run, 10, 3),
    "many": (runs.many, 9, 3),
    "growth": (runs.growth, 17, 3),
    "harness": (bench_harness.harness, 30, 5),
    "queue": (bench_queue.queue, 9, 3),
    "session-core": (bench_session_core.session_core, 9, 3),
    "drain": (bench_drain.drain, 5, 2),
    "transcript": (reading.transcript, 5, 1),
    "idle-server": (idle.server, 10, 2),
    "idle-desktop": (idle.desktop, 10, 2),
    "ending": (ending.desktop, 5, 1),
    "ending-server": (ending.server, 5, 1),
}
"""Each with its samples in full and with `--quick`."""


def main() -> int:
    options = _options()
    os.chdir(ROOT)
    startup.compile_sources()
    figures: list[Figure] = []
    failed: list[str] = []
    for name in options.only or BENCHES:
        sys.stderr.write(f"{name} …\n")
        try:
            figures += _run(name, quick=options.quick)
        except Exception as error:  # noqa: BLE001 (one bench that cannot run must not cost the figures of the others)
            sys.stderr.write(f"{name} could not run: {error!r}\n")
            failed.append(name)
    text = table(figures)
    print(text)
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps([figure.as_json() for figure in figures], indent=2))
    if options.write:
        write_into(PAGE, text)
    return 1 if failed else 0


def _run(name: str, *, quick: bool) -> list[Figure]:
    measure, full, short = BENCHES[name]
    result = measure(short if quick else full)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measure our figures beside their floors."
    )
    parser.add_argument("--quick", action="store_true", help="few samples: a rough look")
    parser.add_argument("--only", action="append", choices=list(BENCHES), help="this bench; may be repeated")
    parser.add_argument("--write", action="store_true", help="update the table in docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
