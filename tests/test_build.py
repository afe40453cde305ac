"""Building a course: one folder and one file make a lesson; what is stale or broken is said in a sentence."""

import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from course_copies import write_course
from nbgrader.api import Gradebook, get_alembic_version
from sqlalchemy import text
from tiny_course import cell_of, source

from attention_lab import cli
from attention_lab.maintain.build import build_lesson, canonical, is_registered, register, stale
from nbjudge import CourseError
from nbjudge.course import Course

pytestmark = pytest.mark.integration

SOURCE = Path("source/01_tiny/tiny.ipynb")
RELEASE = Path("release/01_tiny/tiny.ipynb")
SOLUTION = Path("solutions/01_tiny/tiny.ipynb")
CHECKS = Path("checks/tiny.py")


def lesson_of(root):
    return Course(root).assignments["tiny"]


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A course of one tiny lesson, one folder and one file, as `build` leaves it."""
    root = tmp_path_factory.mktemp("built") / "course"
    write_course(root)
    shutil.rmtree(root / SOLUTION.parent)
    (root / SOURCE.parent / "given.py").write_text("ANSWER = 42\n")
    build_lesson(lesson_of(root))
    return root


@pytest.fixture
def course(built, tmp_path, monkeypatch):
    """A copy of the built course to spoil, and the working folder of the test."""
    root = tmp_path / "course"
    shutil.copytree(built, root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def attention_lab(monkeypatch, capsys):
    """The command: its exit code and what it says, line breaks aside."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["attention-lab", *arguments])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return exit.value.code, re.sub(r"\s+", " ", captured.out + captured.err)

    return run


def test_a_built_course_is_up_to_date(course, attention_lab):
    code, output = attention_lab("build", "--check")
    assert code == 0
    assert "release and solutions are what the sources make" in output
    assert build_lesson(lesson_of(course)) == []
    printed = [o.text for c in nbformat.read(SOLUTION, as_version=4).cells for o in c.get("outputs", [])]
    assert printed == ["shown tensor([2., 2., 2.])\n", "tensor([4., 4., 4.])\n"]
    for folder in (RELEASE.parent, SOLUTION.parent):
        assert (folder / "given.py").read_text() == "ANSWER = 42\n"


def test_a_new_gradebook_is_as_nbgrader_makes_it(course, monkeypatch):
    # nbgrader calls alembic by its name; it is installed beside the interpreter.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (course / "gradebook.db").unlink()
    register(lesson_of(course))
    assert is_registered(lesson_of(course))
    with Gradebook("sqlite:///gradebook.db") as gradebook:
        (version,) = gradebook.db.execute(text("SELECT version_num FROM alembic_version")).all()
    assert version == (get_alembic_version(),)


def test_a_failed_registration_is_explained(course):
    edit(course / SOURCE, '"grade_id": "test_double"', '"grade_id": "double"')
    with pytest.raises(
        CourseError, match="could not enter 01_tiny into the gradebook: Duplicate grade id: double\\."
    ):
        register(lesson_of(course))
    (course / "gradebook.db").write_text("no database")
    with pytest.raises(CourseError, match="gradebook.db cannot be read"):
        register(lesson_of(course))


STALE_RELEASE, STALE_SOLUTION = (f"The {form} of 01_tiny is not what" for form in ("release", "solution"))
SPOILT = {
    "source edited": (SOURCE, "2 * x", "x + x", STALE_SOLUTION),
    "source prose edited": (SOURCE, "A tiny lesson", "A small lesson", STALE_RELEASE),
    "source not canonical": (SOURCE, '"outputs": []', '"outputs":  []', "is not in canonical form"),
    "release edited": (RELEASE, "import torch", "import math", STALE_RELEASE),
    "solution edited": (SOLUTION, "2 * x", "x + x", STALE_SOLUTION),
    "given file edited": (SOURCE.parent / "given.py", "42", "43", STALE_RELEASE),
    "its copy edited": (SOLUTION.parent / "given.py", "42", "43", STALE_SOLUTION),
    "points": (SOURCE, '"points": 2', '"points": 3', "3 points, but the case groups of 'double' add up to 2"),
    "syntax": (CHECKS, "import Exercise", "import import", "does not load: SyntaxError"),
    "exercise": (CHECKS, 'Exercise("double"', 'Exercise("triple"', "has no such exercise"),
}


@pytest.mark.parametrize(("path", "old", "new", "message"), SPOILT.values(), ids=SPOILT)
def test_check_names_what_is_stale_or_broken(course, attention_lab, path, old, new, message):
    edit(course / path, old, new)
    before = {file: file.read_bytes() for file in course.rglob("*.ipynb")}
    code, sentences = attention_lab("build", "--check")
    assert code == 1
    assert message in sentences
    assert path == CHECKS or old == '"points": 2' or "Run `make build`" in sentences
    assert before == {file: file.read_bytes() for file in course.rglob("*.ipynb")}


def test_a_solution_with_an_error_is_made_again(course):
    notebook = nbformat.read(SOLUTION, as_version=4)
    error = nbformat.v4.new_output("error", ename="NameError", evalue="no double", traceback=[])
    cell_of(notebook, "test_double").outputs = [error]
    nbformat.write(notebook, SOLUTION)
    (problem,) = stale(lesson_of(course))
    assert "cell 'test_double' stops with NameError: no double" in problem
    assert build_lesson(lesson_of(course)) == ["made and ran the solution"]
    assert build_lesson(lesson_of(course)) == []


def test_only_a_changed_lesson_is_built_again(course, attention_lab):
    edit(course / SOURCE, "A tiny lesson", "A small lesson")
    code, output = attention_lab("build", "tiny")
    assert code == 0
    assert "made the release, made and ran the solution" in output
    assert "A small lesson" in RELEASE.read_text() and "A small lesson" in SOLUTION.read_text()
    assert attention_lab("build", "01_tiny") == (0, "01_tiny: up to date ")


def test_a_changed_model_answer_is_built(course, attention_lab):
    (course / "gradebook.db").unlink()  # a clone has none
    edit(course / SOURCE, "2 * x", "x + x")
    code, output = attention_lab("build", "tiny")
    assert code == 0
    assert "01_tiny: made and ran the solution" in output
    assert "x + x" in SOLUTION.read_text()


def test_a_killed_build_leaves_the_old_solution(course):
    before = SOLUTION.read_bytes()
    # The parent of the kernel is nbgrader.
    edit(course / SOURCE, "import torch", "import os; os.kill(os.getppid(), 9)")
    with pytest.raises(CourseError, match="`nbgrader generate_solution 01_tiny` failed"):
        build_lesson(lesson_of(course))
    assert SOLUTION.read_bytes() == before
    assert not list(course.glob(".building-*"))


def test_a_file_that_is_no_longer_given_is_removed(course):
    (course / SOURCE.parent / "given.py").unlink()
    build_lesson(lesson_of(course))
    assert [path.name for folder in (RELEASE.parent, SOLUTION.parent) for path in folder.iterdir()] == [
        RELEASE.name,
        SOLUTION.name,
    ]


def test_a_solution_that_does_not_run_is_refused(course, attention_lab):
    edit(course / SOURCE, "2 * x", "y * x")
    code, output = attention_lab("build")
    assert code == 1
    assert "The solution of 01_tiny does not run: cell 'test_double' stops with NameError" in output


def test_an_unknown_lesson_is_told(course, tmp_path, monkeypatch, attention_lab):
    code, output = attention_lab("build", "02_huge")
    assert code == 1 and "There is no assignment '02_huge'. There are: 01_tiny." in output
    monkeypatch.chdir(tmp_path)
    code, output = attention_lab("build")
    assert code == 1
    assert "is not inside a course" in output and "Run this from the course's own folder" in output


def test_the_canonical_form_is_its_own_canonical_form():
    messy = source()
    messy.metadata.widgets = {"state": {"secret": "a captured output"}}
    messy.metadata.kernelspec = {"name": "my-env", "display_name": "My env", "language": "python"}
    for cell in messy.cells:
        cell.id = f"other-{cell.id}"
        cell.metadata |= {"collapsed": True, "editable": False, "tags": ["kept"]}
    test = next(cell for cell in messy.cells if cell.id == "other-test_double")
    test.outputs = [nbformat.v4.new_output("stream", text="a captured output")]
    test.metadata.nbgrader.checksum = "stale"
    text = canonical(messy)
    assert canonical(nbformat.reads(text, as_version=4)) == text
    assert "captured" not in text and "My env" not in text and "stale" not in text
    cells = nbformat.reads(text, as_version=4).cells
    assert [cell.id for cell in cells][:5] == ["other-title", "setup", "double", "test_double", "other-shown"]
    assert all(cell.metadata.tags == ["kept"] for cell in cells)
