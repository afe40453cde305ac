"""What every benchmark does with its figures: the machine and the date beside them, medians, a JSON file."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import psutil
import torch
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).with_name("results")
FILE_WIDTH = 120  # characters
IDLE = 0.5  # a core's work, by all that runs before a benchmark does


def console() -> Console:
    """Wide enough for the tables where it is a file that they are printed to."""
    return Console(width=None if sys.stdout.isatty() else FILE_WIDTH)


def spread(values: Sequence[float]) -> str:
    """The median, and the quartiles around it in brackets."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return "{1:.2f} ({0:.2f} to {2:.2f})".format(*quartiles)


def surroundings(console: Console) -> dict[str, Any]:
    """The date, the machine, and how busy it is; says so where it is too busy to measure anything.

    What is measured keeps compiled modules, as on a user's machine, also where this variable says otherwise.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    busy = os.getloadavg()[0]
    if busy > IDLE:
        console.print(f"[bold]This machine is busy (load {busy:.1f}): the figures below mean little.[/]")
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "load_at_the_start": round(busy, 2),
    }


def write(path: Path, content: dict[str, Any], console: Console) -> None:
    """Write figures with four digits behind the point."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rounded = json.loads(json.dumps(content), parse_float=lambda number: round(float(number), 4))
    path.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    console.print(f"Written to {path}.", soft_wrap=True)


def show(console: Console, rows: Sequence[Mapping[str, Any]], title: str = "") -> None:
    """Print rows that all have the same figures as a table."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def read(path: Path) -> dict[str, Any]:
    """Read what `write` wrote. Raises SystemExit where there is nothing of that kind."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} holds no results ({error}): run the benchmark first.") from error
    return content


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
