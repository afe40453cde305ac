"""The verdict on one exercise: the points of each group, and the findings."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import msgspec

LONGEST_SENTENCE = 2_000  # characters; it may hold names and messages of the student's code
FORBIDDEN = "not_allowed"  # as the mistake of a finding: the answer ran a forbidden call
# A number of points, as a record may hold it.
Points = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: a sentence, the named mistake behind it, and the student's own numbers.

    `measured` is the sentence that would be shown if the mistake had no name, for learners who want to find
    the mistake by themselves. `kind` is the cause (`nbjudge.judge.findings.Cause`), and `facts` hold what is
    said of it. `measured` and `facts` are not recorded, and records from before have no `kind`.
    """

    sentence: str
    mistake: str | None = None
    evidence: str = ""
    measured: str = ""
    kind: str = ""
    facts: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for name in ("sentence", "evidence", "measured"):
            text: str = getattr(self, name)
            if len(text) > LONGEST_SENTENCE:
                object.__setattr__(self, name, f"{text[:LONGEST_SENTENCE]} …")

    @property
    def identity(self) -> tuple[str | None, ...]:
        """The cause and what is said of it: findings with the same are shown once."""
        return (self.kind, self.mistake, *self.facts)

    def followed_by(self, *sentences: str) -> Finding:
        """Return the finding with more sentences behind its own; empty ones are left out."""
        further = tuple(filter(None, sentences))
        return replace(self, sentence=" ".join([self.sentence, *further]), facts=(*self.facts, *further))


@dataclass(frozen=True)
class GroupVerdict:
    """The verdict on one case group: whether it earned its points."""

    name: str
    points: Points
    is_earned: bool
    note: str = ""  # why the points are withheld of a group that passes, see `nbjudge.judge.scoring`


@dataclass(frozen=True)
class Regrade:
    """The points that an instructor gave instead of the judge, the reason, and the day ("2026-11-23")."""

    points: Points
    reason: str
    day: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on one exercise; the same `seed` draws the same inputs again.

    With a `regrade` the points are the instructor's; groups and findings stay the judge's.
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
        """The points that the judge gave, without a regrade."""
        return sum(group.points for group in self.groups if group.is_earned)

    @property
    def max_points(self) -> float:
        return sum(group.points for group in self.groups)

    @property
    def message(self) -> str:
        """The sentence that a student reads first."""
        if self.regrade is not None:
            return f"Your instructor changed this verdict: {self.regrade.reason}"
        if self.findings:
            return self.findings[0].sentence
        return "Right in every case."

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as JSON data for the record, with the points for other programs."""
        data = asdict(self) | {"points": self.points, "max_points": self.max_points}
        for finding in data["findings"]:
            del finding["measured"], finding["facts"]
        return data
