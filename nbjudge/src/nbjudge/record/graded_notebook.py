"""What a graded notebook says of itself: its verdicts, why it was not run, how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbjudge.judge.verdict import Verdict
from nbjudge.record.record import read_verdict


@dataclass(frozen=True)
class GradedNotebook:
    """The record that grading left in a notebook of `autograded/`."""

    reason: str = ""  # why nothing could be run
    note: str = ""  # what was unusual about what was handed in
    seconds: float | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by exercise
    cells: Mapping[str, str] = field(default_factory=dict)  # the id of the graded cell, by exercise

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Points and the most there are, by exercise."""
        return {name: (verdict.points, verdict.max_points) for name, verdict in self.verdicts.items()}


def read_graded(path: Path) -> GradedNotebook:
    """Read a notebook of `autograded/`, whoever wrote it. Raises OSError or ValueError where it is none."""
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise ValueError(f"{path} is no notebook: it holds no cells")
    metadata = content.get("metadata")
    about = metadata.get("nbjudge") if isinstance(metadata, dict) else None
    about = about if isinstance(about, dict) else {}
    verdicts, cells = {}, {}
    for cell in content["cells"]:
        verdict = read_verdict(cell)
        if verdict is not None:
            verdicts[verdict.exercise], cells[verdict.exercise] = verdict, str(cell.get("id", ""))
    seconds = about.get("seconds")
    return GradedNotebook(
        str(about.get("reason") or ""),
        str(about.get("note") or ""),
        seconds if isinstance(seconds, float) else None,
        verdicts,
        cells,
    )
