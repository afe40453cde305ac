"""What the judge says of one exercise: points by group, and the sentences that help."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LONGEST_SENTENCE = 2_000  # characters; an answer's own names and messages are in it


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: its sentence, the named mistake behind it, and the student's own numbers.

    `measured` says of a named mistake what can be measured without naming it, for those who would rather
    find out by themselves; it is no part of the record.
    """

    sentence: str
    mistake: str | None = None
    evidence: str = ""
    measured: str = ""

    def __post_init__(self) -> None:
        for name in ("sentence", "evidence", "measured"):
            text: str = getattr(self, name)
            if len(text) > LONGEST_SENTENCE:
                object.__setattr__(self, name, f"{text[:LONGEST_SENTENCE]} …")


@dataclass(frozen=True)
class GroupVerdict:
    name: str
    points: float
    agrees: bool
    note: str = ""  # what it takes for a group to count whose own cases agree


@dataclass(frozen=True)
class Regrade:
    """What an instructor decided in the judge's place, why, and on which day (as 2026-11-23)."""

    points: float
    reason: str
    day: str


@dataclass(frozen=True)
class Verdict:
    """The judgement of one exercise; `seed` brings back the very inputs it was judged on.

    With a `regrade` its points are the instructor's; groups and findings stay the judge's.
    """

    exercise: str
    seed: int
    groups: tuple[GroupVerdict, ...]
    findings: tuple[Finding, ...] = ()
    regrade: Regrade | None = None

    @property
    def points(self) -> float:
        return self.judged_points if self.regrade is None else self.regrade.points

    @property
    def judged_points(self) -> float:
        """What the judge gave, whatever an instructor decided since."""
        return sum(group.points for group in self.groups if group.agrees)

    @property
    def max_points(self) -> float:
        return sum(group.points for group in self.groups)

    @property
    def message(self) -> str:
        """The first sentence a student should read."""
        if self.regrade is not None:
            return f"Your instructor changed this verdict: {self.regrade.reason}"
        if self.findings:
            return self.findings[0].sentence
        return "Right in every case."

    def as_data(self) -> dict[str, Any]:
        """JSON-ready, for the record."""
        data = asdict(self) | {"points": self.points, "max_points": self.max_points}
        for finding in data["findings"]:
            del finding["measured"]
        return data
