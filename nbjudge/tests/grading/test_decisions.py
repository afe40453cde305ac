"""An instructor's decisions survive a write that fails."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.grading.regrades import Decision, decision_for, read_decisions, write_decisions
from nbjudge.judge.verdict import GroupVerdict, Verdict

DECISION = Decision("double", "2:0a", "ada", 1.5, "rounding", "2026-11-26", {"zeros": True})


def test_work_that_could_not_be_run_is_no_ones_else():
    """Two empty hand-ins are not one answer: a decision about one is for its student only."""
    decided = replace(DECISION, answer="")
    verdict = Verdict("double", 0, (GroupVerdict("zeros", 2, True),))
    assert decision_for([decided], "", "ada", verdict) is decided
    assert decision_for([decided], "", "eve", verdict) is None
    assert decision_for([DECISION], DECISION.answer, "eve", verdict) is DECISION


def test_a_decision_is_for_equal_verdicts():
    """For its own student it holds whatever the verdict is."""

    def verdict(*agrees: bool) -> Verdict:
        groups = (GroupVerdict(f"group {number}", 1, each) for number, each in enumerate(agrees))
        return Verdict("double", 0, tuple(groups))

    decided = Decision("double", "a", "ada", 2, "reason", "day", {"group 0": True, "group 1": False})
    for student, outcome, holds in (
        ("bob", verdict(True, False), True),
        ("bob", verdict(True, False, True), True),  # a group that is new since
        ("bob", verdict(True, True), False),
        ("bob", verdict(False, False), False),
        ("ada", verdict(False, False), True),
    ):
        assert (decision_for([decided], "a", student, outcome) is decided) == holds
        assert decision_for([decided], "b", student, outcome) is None


def test_decisions_stay_where_the_disk_is_full(tmp_path, monkeypatch):
    folders = CourseFolders(tmp_path)
    write_decisions(folders, "ps1", [DECISION])

    def full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(CourseError, match="No space left on device.*nothing was changed"):
        write_decisions(folders, "ps1", [DECISION, DECISION])
    assert read_decisions(folders, "ps1") == [DECISION]
    assert [file.name for file in (tmp_path / "regrades").iterdir()] == ["ps1.json"]
