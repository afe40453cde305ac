"""The scoring rule: which case groups of an exercise earn their points.

Some groups can pass without any work, for example one that only checks that a bad shape raises `ValueError`.
Their points are withheld until a group passes whose expected values must be computed
(`nbjudge.judge.computed_values`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding, GroupVerdict
from nbjudge.values import describe

WITHHELD_UNTIL_ONE = "these points count once at least one group passes whose values must be computed"
WITHHELD_UNTIL_ALL = (
    "the weights it draws are almost zero, so wrong formulas pass as well: "
    "these points count once all groups pass whose values must be computed"
)


def score_groups(results: Sequence[GroupResult]) -> tuple[GroupVerdict, ...]:
    """Decide which groups earn their points.

    Parameters
    ----------
    results
        One result per group, in the order of the exercise.

    Returns
    -------
    tuple of GroupVerdict
        In the same order. A group whose points are withheld did not earn them; its `note` holds the reason
        as a sentence for the student.
    """
    computed = [result for result in results if result.drawn.requires_computation]
    computed = computed or [
        result for result in results if not result.only_raises and not result.group.withhold_points
    ]
    any_passed = any(result.passed for result in computed)
    all_passed = all(result.passed for result in computed)
    scores = []
    for result in results:
        withheld = ""
        if result.passed and result not in computed:
            if not any_passed:
                withheld = WITHHELD_UNTIL_ONE
            elif not all_passed and result.weights_too_small:
                withheld = WITHHELD_UNTIL_ALL
        earned = result.passed and not withheld
        scores.append(GroupVerdict(result.group.name, result.group.points, earned, withheld))
    return tuple(scores)


def withheld_findings(scores: Sequence[GroupVerdict]) -> list[Finding]:
    """Say which groups pass and have their points withheld, and why."""
    findings = []
    for reason in (WITHHELD_UNTIL_ONE, WITHHELD_UNTIL_ALL):
        names = [f"“{score.name}”" for score in scores if score.note == reason]
        if names:
            findings.append(Finding(f"Right so far: {describe.listed(names)}; {reason}."))
    return findings
