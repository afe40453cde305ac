"""The figure of `class.py`: how long each grader takes for the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

LABELS = {
    "stock": "nbgrader autograde",
    "ours": "attention-lab grade",
    "limit": "the cells alone, nothing judged",
    "cluster of 1": "attention-lab grade, 1 Dask worker",
    "cluster of 2": "attention-lab grade, 2 Dask workers",
}
# Told apart without colour: dark, with strokes, light.
LOOKS: dict[str, dict[str, Any]] = {
    "stock": {"facecolor": "#555555"},
    "limit": {"facecolor": "white", "hatch": "////"},
}
OURS: dict[str, Any] = {"facecolor": "#9ecae1"}


def draw(content: dict[str, Any], path: Path) -> None:
    """Draw the results that `class.py` wrote; the same results make the same file."""
    plt.rcParams |= {"svg.hashsalt": "attention-lab", "font.size": 10}
    figure, axes = plt.subplots(figsize=(8, 2.9), layout="constrained")
    graders = content["graders"]
    names = [name for name in LABELS if name in graders]
    for row, name in enumerate(names):
        seconds = graders[name]["seconds"]
        axes.barh(row, seconds, height=0.66, edgecolor="black", **LOOKS.get(name, OURS))
        axes.text(seconds, row, f"  {_duration(seconds)}", va="center")
    axes.set_yticks(range(len(names)), [LABELS[name] for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel("seconds, start included")
    axes.set_title(
        f"A class of {content['students']} hands in lesson {content['lesson']}, "
        f"graded on {content['cores_used']} cores",
        loc="left",
        fontsize=10,
    )
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
