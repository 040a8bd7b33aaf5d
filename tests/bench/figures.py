"""A measured figure beside its floor and its budget, and the table they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEADER = ("what", "floor", "ours", "ratio", "budget", "verdict")


@dataclass(frozen=True, slots=True)
class Figure:
    """`ours` and `floor` in `unit`; smaller is better. Of the budgets `limit` (absolute) and `times_floor` (relative)
    each may be absent."""

    name: str
    ours: float
    unit: str
    floor: float | None = None
    floor_name: str = ""
    limit: float | None = None
    times_floor: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.floor else None

    @property
    def within(self) -> bool | None:
        """None when there is no budget."""
        verdicts: list[bool] = []
        if self.limit is not None:
            verdicts.append(self.ours <= self.limit)
        if self.times_floor is not None and self.ratio is not None:
            verdicts.append(self.ratio <= self.times_floor)
        return all(verdicts) if verdicts else None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "within": self.within}

    def cells(self) -> tuple[str, ...]:
        budgets = [f"≤ {_number(self.limit)} {self.unit}"] if self.limit is not None else []
        budgets += [f"≤ {_number(self.times_floor)} × floor"] if self.times_floor is not None else []
        floor = f"{_number(self.floor)} {self.unit} ({self.floor_name})" if self.floor is not None else "–"
        verdict = {True: "ok", False: "**over**", None: "–"}[self.within]
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else "–"
        return (
            self.name,
            floor,
            f"{_number(self.ours)} {self.unit}",
            ratio,
            ", ".join(budgets) or "–",
            verdict,
        )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(figures: Sequence[Figure]) -> str:
    """Markdown."""
    rows = [HEADER, tuple("---" for _ in HEADER), *(figure.cells() for figure in figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_into(page: Path, text: str) -> None:
    """Replace what stands between the two markers of `page`. Raises `ValueError` when they are missing."""
    head, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no {BEGIN} … {END}")
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", "utf-8")


def middle(values: Sequence[float]) -> float:
    return float(median(values))
