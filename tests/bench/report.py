"""A figure, and how all of them are printed and kept."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path("bench-results.json")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure against its bar; `is_met` says whether it keeps it."""

    name: str
    measured: str
    bar: str
    is_met: bool
    values: dict[str, float]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def show(figures: Sequence[Figure]) -> int:
    """Print the table, write the JSON, and return an exit code: 1 where a bar was missed."""
    width = max(len(figure.name) for figure in figures)
    wide = max(len(figure.measured) for figure in figures)
    for figure in figures:
        mark = "ok" if figure.is_met else "MISSED"
        print(f"{figure.name:<{width}}  {figure.measured:<{wide}}  bar: {figure.bar}  {mark}")
    RESULTS.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    print(f"written to {RESULTS}")
    return 0 if all(figure.is_met for figure in figures) else 1
