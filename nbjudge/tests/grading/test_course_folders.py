"""Every part of the grader finds a course's folders where nbgrader's configuration puts them."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbgrader.coursedir import CourseDirectory

from nbjudge.batch.worker_process import pack_assignment, unpacked_assignment
from nbjudge.course.configuration import read_config
from nbjudge.course.course import find_course, open_course
from nbjudge.course.folders import CourseFolders, folders_of, read_folders

SETTINGS = {
    "source_directory": "authors",
    "release_directory": "handed-out",
    "solution_directory": "answers",
    "submitted_directory": "in",
    "autograded_directory": "out",
    "feedback_directory": "pages",
    "directory_structure": "{assignment_id}/{nbgrader_step}/{student_id}",
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """A course with settings of its own, on a machine that has others."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "jupyter").mkdir()
    settings = {"CourseDirectory": {"course_id": "of-the-machine", "source_directory": "nowhere"}}
    (tmp_path / "jupyter" / "nbgrader_config.json").write_text(json.dumps(settings))
    lines = [f"c.CourseDirectory.{name} = {value!r}" for name, value in SETTINGS.items()]
    root = tmp_path / "course"
    root.mkdir()
    (root / "nbgrader_config.py").write_text("\n".join(["c = get_config()", *lines]))
    for folder, code in (("authors", "x = 1"), ("answers", "x = 2")):
        cell = nbformat.v4.new_code_cell(code, metadata={"nbgrader": {"solution": True, "grade_id": "x"}})
        (root / folder / "01").mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), root / folder / "01" / "one.ipynb")
    return root


def test_folders_are_nbgraders(course):
    """Those of its own reader, and without settings its defaults; the machine's count where none is set."""
    assert folders_of(CourseDirectory(root="/course")) == CourseFolders(Path("/course"))
    config = read_config(course)
    assert config.CourseDirectory.course_id == "of-the-machine"
    config.CourseDirectory.root = str(course)
    folders = read_folders(course)
    assert folders == folders_of(CourseDirectory(config=config))
    assert folders.as_settings() == SETTINGS
    assert folders.submitted("ada", "01") == course / "01/in/ada"
    assert folders.autograded("ada", "01") == course / "01/out/ada"
    assert folders.feedback("ada", "01") == course / "01/pages/ada"


def test_solutions_are_where_the_configuration_says(course):
    """Without a solution notebook the source notebook is the solution."""
    (lesson,) = find_course(course / "authors" / "01").assignments.values()
    assert lesson.reference_answer("x") == 2
    assert lesson.release_path == course / "handed-out/01/one.ipynb"
    (course / "answers/01/one.ipynb").unlink()
    assert find_course(course).assignments["one"].reference_answer("x") == 1


def test_workers_get_folders_outside_the_course(course, tmp_path):
    (course / "answers").rename(tmp_path / "elsewhere")
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.solution_directory = {str(tmp_path / 'elsewhere')!r}")
    lesson = unpacked_assignment(pack_assignment(open_course(course), "01"), "one")
    assert lesson.reference_answer("x") == 2
    assert not lesson.solution_path.is_relative_to(tmp_path)
