"""An instructor's decisions survive a write that fails."""

import errno
from pathlib import Path

import pytest

from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.overrides.decisions import Decision, read_decisions, write_decisions

DECISION = Decision("double", "2:0a", "ada", 1.5, "rounding", "2026-11-26", {"zeros": True})


def test_decisions_stay_where_new_ones_cannot_be_written(tmp_path, monkeypatch):
    folders = CourseFolders(tmp_path)
    write_decisions(folders, "ps1", [DECISION])

    def full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(CourseError, match="No space left on device.*nothing was changed"):
        write_decisions(folders, "ps1", [DECISION, DECISION])
    assert read_decisions(folders, "ps1") == [DECISION]
    assert [file.name for file in (tmp_path / "regrades").iterdir()] == ["ps1.json"]
