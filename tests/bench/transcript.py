"""Measures the transcript view: opening a long conversation, scrolling it, and following a fast answer.

`python -m tests.bench.transcript` prints one JSON object; times are milliseconds. It needs no runtime and
no display.
"""

from __future__ import annotations

import gc
import json
import os
import random
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication

from holaboss_app.core.transcript import Transcript
from holaboss_app.panes.chat.transcript_view import TranscriptView
from holaboss_app.theme import style
from holaboss_client.sessions import Turn
from tests.support.conversations import Events, Writer, index, long_conversation

TURNS = 5_000
"""A turn is a message and its answer: 10,000 messages."""


class Bench:
    def __init__(self, app: QApplication, turns: list[Turn]) -> None:
        self._app = app
        self._turns = turns
        self._index = index(turns)
        self.transcript = Transcript()
        self.view = TranscriptView()
        self.view.resize(1000, 800)
        self.view.bodies_wanted.connect(self._answer)

    def open(self) -> float:
        self.view.show()
        self._app.processEvents()
        started = time.perf_counter()
        self.transcript.take_index(self._index)
        self.view.set_transcript(self.transcript)
        self._app.processEvents()
        return _ms(started)

    def wheel(self, steps: int, pixels: int) -> list[float]:
        return [self._frame(lambda: self.view.scroll_by(pixels)) for _ in range(steps)]

    def jump(self, count: int) -> list[float]:
        bar, chance = self.view.verticalScrollBar(), random.Random(2)
        return [self._frame(lambda: bar.setValue(int(bar.maximum() * chance.random()))) for _ in range(count)]

    def _frame(self, move: object) -> float:
        started = time.perf_counter()
        move()  # type: ignore[operator]
        self._app.processEvents()
        return _ms(started)

    def _answer(self, first: int, last: int) -> None:
        while (page := self.transcript.wanted(first, last)) is not None:
            self.transcript.take_turns(self._turns[page.from_seq - 1 : page.from_seq - 1 + page.limit])
        QTimer.singleShot(0, self.view, self.view.bodies_arrived)


def stream(app: QApplication, turns: list[Turn], per_flush: int = 3) -> dict[str, float]:
    """50 KB in 2,000 deltas, flushed every few: what one flush costs, and whether it grows."""
    bench = Bench(app, turns)
    bench.open()
    writer, events = Writer(3), Events("live")
    pieces = writer.pieces(writer.long_answer(), 2_000)
    bench.transcript.add("live", "Tell me everything")
    bench.view.row_appended()
    bench.transcript.take_turns([])
    costs: list[float] = []
    for event in events.started():
        bench.transcript.apply(event)
    for start in range(0, len(pieces), per_flush):
        for piece in pieces[start : start + per_flush]:
            bench.transcript.apply(events.delta(piece))
        bench.view.turn_changed("live")
        started = time.process_time()
        bench.view.flush()
        app.processEvents()
        costs.append((time.process_time() - started) * 1e3)
    bench.view.deleteLater()
    return {
        "flush_p50": _round(median(costs)),
        "flush_p95": _round(_percentile(costs, 0.95)),
        "flush_max": _round(max(costs)),
        "flush_first_50": _round(median(costs[:50])),
        "flush_last_50": _round(median(costs[-50:])),
    }


def live(app: QApplication, turns: list[Turn], rate: float = 200.0) -> dict[str, float]:
    """The same answer at `rate` deltas a second with the event loop running; a stall is what a click would
    wait."""
    bench = Bench(app, turns)
    bench.open()
    writer, events = Writer(3), Events("live")
    pieces = writer.pieces(writer.long_answer(), 2_000)
    bench.transcript.add("live", "Tell me everything")
    bench.view.row_appended()
    beats: list[float] = []
    began, cpu, last, sent = time.perf_counter(), time.process_time(), time.perf_counter(), 0

    def beat() -> None:
        nonlocal last
        now = time.perf_counter()
        beats.append((now - last) * 1e3)
        last = now

    def deliver() -> None:
        # The runtime merges the deltas of 33 ms into one event.
        nonlocal sent
        due = min(len(pieces), int((time.perf_counter() - began) * rate))
        if due > sent:
            bench.transcript.apply(events.delta("".join(pieces[sent:due])))
            bench.view.turn_changed("live")
            sent = due
        if sent == len(pieces):
            app.quit()

    heart, source = QTimer(), QTimer()
    for timer, interval, slot in ((heart, 4, beat), (source, 33, deliver)):
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.timeout.connect(slot)
        timer.start(interval)
    app.exec()
    heart.stop()
    source.stop()
    used = (time.process_time() - cpu) / (time.perf_counter() - began)
    return {
        "live_cpu_percent": _round(used * 100),
        "stall_p99": _round(_percentile(beats, 0.99)),
        "stall_max": _round(max(beats)),
    }


def measure() -> dict[str, float]:
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    style.apply(app, "light", 1.0)
    turns = long_conversation(TURNS)
    # What an application has paid for long before a conversation is opened: fonts, parser, first widgets.
    warm = Bench(app, turns[:20])
    warm.open()
    app.processEvents()
    gc.collect()
    gc.freeze()
    before = _resident_mb()
    bench = Bench(app, turns)
    figures = {"open": _round(bench.open()), "open_mb": _round(_resident_mb() - before)}
    up, down, jumps = bench.wheel(600, -120), bench.wheel(300, 120), bench.jump(60)
    for name, values in (("wheel_up", up), ("wheel_down", down), ("jump", jumps)):
        figures[f"{name}_p50"] = _round(median(values))
        figures[f"{name}_p95"] = _round(_percentile(values, 0.95))
    figures["mb_after_scrolling"] = _round(_resident_mb() - before)
    figures["live_widgets"] = bench.view.live_widgets
    bench.view.deleteLater()
    return figures | stream(app, turns[:1_000]) | live(app, turns[:1_000])


def _ms(started: float) -> float:
    return (time.perf_counter() - started) * 1e3


def _round(value: float) -> float:
    return round(value, 2)


def _percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2), flush=True)
