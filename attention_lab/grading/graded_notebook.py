"""What a graded notebook says of itself: its verdicts, why it was not run, how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class GradedNotebook:
    """The record that grading left in a notebook of `autograded/`."""

    reason: str = ""  # why nothing could be run
    note: str = ""  # what was unusual about what was handed in
    seconds: float | None = None
    verdicts: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # `Verdict.as_data`, by exercise
    cells: Mapping[str, str] = field(default_factory=dict)  # the id of the graded cell, by exercise

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Points and the most there are, by exercise."""
        return {name: (said["points"], said["max_points"]) for name, said in self.verdicts.items()}


def read_graded(path: Path) -> GradedNotebook:
    """Read a notebook of `autograded/`. Raises OSError or ValueError where it is none."""
    content = json.loads(path.read_bytes())
    about = content.get("metadata", {}).get("attention_lab", {})
    verdicts, cells = {}, {}
    for cell in content["cells"]:
        for output in cell.get("outputs", []):
            said = output.get("metadata", {}).get("attention_lab")
            if said:
                verdicts[said["exercise"]], cells[said["exercise"]] = said, cell.get("id", "")
    return GradedNotebook(
        about.get("reason", ""), about.get("note", ""), about.get("seconds"), verdicts, cells
    )
