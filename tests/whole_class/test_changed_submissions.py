"""What is graded: what is new or was changed, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_lab.errors import CourseError
from nbjudge.batch.changed_submissions import make_plan
from nbjudge.course.folders import CourseFolders, find_root, read_folders
from nbjudge.submission.folder import read_handed_in

LESSON = "01_tiny"


@pytest.fixture
def folders(tmp_path: Path) -> CourseFolders:
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    (tmp_path / "source" / LESSON / "tiny.ipynb").touch()
    return CourseFolders(tmp_path)


def hand_in(folders: CourseFolders, student: str) -> Path:
    folder = folders.submitted(student, LESSON)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.ipynb").write_text("{}")
    return folder


def grade(folders: CourseFolders, student: str, content: object = None) -> Path:
    folder = folders.autograded(student, LESSON)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tiny.ipynb"
    content = graded(folders, student) if content is None else content
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def graded(folders: CourseFolders, student: str) -> dict[str, object]:
    """A graded notebook that records the digest of what the student has handed in."""
    digest = read_handed_in(folders.submission(student, LESSON), ["tiny.ipynb"]).digest
    return {"cells": [], "metadata": {"nbjudge": {"seed": 1, "digest": digest}}}


def test_what_was_never_graded_is_new_and_what_was_is_left_alone(folders):
    for student in ("ada", "ben"):
        hand_in(folders, student)
    grade(folders, "ada")
    plan = make_plan(folders, LESSON)
    assert (plan.todo, plan.unchanged) == ({"ben": "new"}, 1)


@pytest.mark.parametrize(
    "left",
    [
        '{"cells": [], "metadata"',
        "",
        {"cells": [], "metadata": {"nbjudge": {"status": "unfinished", "version": 2}}},
    ],
    ids=["cut off", "empty", "unfinished"],
)
def test_what_a_run_left_unfinished_is_graded_as_if_it_were_new(folders, left):
    hand_in(folders, "ada")
    grade(folders, "ada", left)
    assert make_plan(folders, LESSON).todo == {"ada": "new"}


@pytest.mark.parametrize("written", ['"unfinished"', '"status": "unfinished"'])
def test_a_student_who_writes_of_unfinished_work_is_graded_once(folders, written):
    hand_in(folders, "ada")
    grade(folders, "ada", graded(folders, "ada") | {"cells": [{"source": written}]})
    assert make_plan(folders, LESSON).todo == {}


@pytest.mark.parametrize("file", ["tiny.ipynb", "timestamp.txt"])
def test_another_content_is_a_change_even_with_an_old_date_and_a_date_alone_is_none(folders, file):
    folder = hand_in(folders, "ada")
    grade(folders, "ada")
    os.utime(folder / "tiny.ipynb")
    assert make_plan(folders, LESSON).todo == {}
    (folder / file).write_text("2030-01-02")
    os.utime(folder / file, (0, 0))
    assert make_plan(folders, LESSON).todo == {"ada": "changed"}


def test_what_another_grader_has_graded_is_graded(folders):
    hand_in(folders, "ada")
    grade(folders, "ada", {"cells": [], "metadata": {}})
    assert make_plan(folders, LESSON).todo == {"ada": "changed"}


def test_everybody_or_those_of_a_pattern_may_be_graded_again(folders):
    for student in ("ada", "abe", "ben"):
        hand_in(folders, student)
        grade(folders, student)
    assert make_plan(folders, "tiny", "a*", force=True).todo == {"abe": "again", "ada": "again"}


def test_names_are_no_patterns(folders):
    for student in ("[ab]*", "a", "b"):
        hand_in(folders, student)
    assert sorted(make_plan(folders, LESSON).todo) == ["[ab]*", "a", "b"]


def test_another_order_of_folders(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        "c.CourseDirectory.directory_structure = '{nbgrader_step}/{assignment_id}/x-{student_id}'\n"
        "c.CourseDirectory.submitted_directory = 'in'\n"
    )
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    (tmp_path / "source" / LESSON / "tiny.ipynb").touch()
    (tmp_path / "in" / LESSON / "x-ada").mkdir(parents=True)
    (tmp_path / "in" / LESSON / "bob").mkdir()
    assert make_plan(read_folders(tmp_path), LESSON).todo == {"ada": "new"}


def test_what_cannot_be_planned_is_said_in_one_sentence(folders):
    with pytest.raises(CourseError, match=r"no assignment '09_none'. There are: 01_tiny\."):
        make_plan(folders, "09_none")
    with pytest.raises(CourseError, match="No student has handed in 01_tiny"):
        make_plan(folders, LESSON)
    hand_in(folders, "ada")
    with pytest.raises(CourseError, match="None of the 1 students .* matches 'b\\*'"):
        make_plan(folders, LESSON, "b*")
    (folders.root / "nbgrader_config.py").write_text("c = get_confg()")
    with pytest.raises(CourseError, match="does not load: NameError"):
        find_root(folders.root)
    with pytest.raises(CourseError, match="not inside a course"):
        find_root(Path("/usr"))


@pytest.mark.integration
def test_where_nothing_is_to_be_done_nothing_slow_is_imported(folders):
    (folders.root / "nbgrader_config.py").write_text("c = get_config()")
    hand_in(folders, "ada")
    grade(folders, "ada")
    code = (
        "import sys\n"
        "from attention_lab.cli import app\n"
        f"app(['grade', '{LESSON}'], standalone_mode=False)\n"
        "assert not {'torch', 'nbgrader', 'nbformat', 'numpy', 'distributed'} & set(sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=folders.root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "all 1 are graded, and unchanged since" in run.stdout
