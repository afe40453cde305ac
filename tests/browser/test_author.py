"""An author edits a source notebook in JupyterLab and builds: release and solution follow, gaps are named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from lesson_page import LessonPage
from nbformat import NotebookNode
from school import Teacher, make_school
from tiny_course import FOLDER, NAME, cell_of

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.browser]

BETTER = '''def double(x):
    """Every number of `x` twice."""
    ### BEGIN SOLUTION
    return x + x  # platypus
    ### END SOLUTION'''
NEW_EXERCISE = """assert biggest(torch.tensor([1.0, 3.0])) == 3, 'three is more than one'
### BEGIN HIDDEN TESTS
from nbjudge import check
check("smallest")
### END HIDDEN TESTS"""


def build(course: Path) -> tuple[int, str]:
    """What `make build` runs, in the author's course: its exit code and what it says."""
    command = [sys.executable, "-c", "from attention_lab.cli import main; main()", "build"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        command, cwd=course, capture_output=True, text=True, env=os.environ | {"PATH": path}, timeout=240
    )
    return run.returncode, " ".join((run.stdout + run.stderr).split())


def read(course: Path, form: str) -> NotebookNode:
    return nbformat.read(course / form / FOLDER / f"{NAME}.ipynb", as_version=4)


def test_an_edited_source_is_built_and_an_exercise_without_checks_is_named(tmp_path, page, picture):
    make_school(tmp_path)
    course = tmp_path / "course"
    with Teacher(tmp_path) as author:
        author.wait_until_jupyterlab_answers()
        lesson = LessonPage(page, author, f"source/{FOLDER}/{NAME}.ipynb")
        lesson.write("double", BETTER)
        lesson.write("end", "That was all, dear reader.")
        lesson.run_all()  # hidden regions as well: the author sees the points, and saves outputs
        assert "double: 2 of 2" in lesson.cell("test_double").inner_text()
        lesson.save()
        picture(page, "author-edited")

        code, output = build(course)
        assert code == 0, output
        assert "made the release, made and ran the solution" in output
        source, release, solution = (read(course, form) for form in ("source", "release", "solutions"))
        assert not [cell for cell in source.cells if cell.get("outputs")]
        assert "twice." in cell_of(release, "double").source
        assert "platypus" not in nbformat.writes(release) and "NotImplementedError" in nbformat.writes(
            release
        )
        assert "platypus" in cell_of(solution, "double").source
        assert "tensor([2., 2., 2.])" in str(cell_of(solution, "shown").outputs)
        for notebook in (release, solution):
            assert cell_of(notebook, "end").source == "That was all, dear reader."

        page.reload()  # the build changed the file
        lesson = LessonPage(page, author, f"source/{FOLDER}/{NAME}.ipynb")
        lesson.write("test_biggest", NEW_EXERCISE)
        lesson.save()
        code, output = build(course)
    assert code == 1
    assert "'test_biggest'" in output and "calls check('smallest')" in output
    assert f"checks/{NAME} has no such exercise" in output and "Traceback" not in output
