"""A new lesson and a new exercise are begun with one command each, and run as they are.

This course hands over a form of its own, which its own tests of a lesson's form are content with.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from course_copies import ROOT
from nbgrader.api import Gradebook
from tiny_course import FOLDER, make_course, succeed

from nbjudge import CourseError
from nbjudge.course import PlainCell, open_course, read_folders
from nbjudge.skeletons.notebooks import _kind_of, new_assignment, new_exercise, with_import

pytestmark = pytest.mark.integration

LESSON, NAME, LAYER = "02_more", "doubled", "TwoParts"
FRESH, STEM = "15_fresh_lesson", "fresh_lesson"
PACKAGE = "attention_lab/lesson_15"
# What they ask of a lesson is its form, or comes with a skeleton; what only an author can give is asked
# elsewhere: a line in the contract, words for pictures, docs/judge.md.
TESTS_OF_FORM = ("notebooks", "lesson_form", "lesson_pictures", "visible_tests")
TESTS_OF_CHECKS = ("no_point_without_work", "judge_is_right")
NOT_OF_THE_COURSE = (".*", "build", "demo", "submitted", "autograded", "feedback", "_site", "gradebook.db*")


def typed(root: Path, *words: str) -> str:
    program = Path(sys.executable).with_name("nbjudge")
    run = subprocess.run([program, *words], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course to which a lesson with three exercises was added by nothing but the commands."""
    root = tmp_path_factory.mktemp("course") / "tiny"
    make_course(root)
    assert f"Next: nbjudge new-exercise {LESSON} NAME" in typed(root, "new-lesson", LESSON)
    output = typed(root, "new-exercise", LESSON, NAME)
    assert f"generate_solution --force {LESSON}, then nbjudge try {NAME}" in output
    typed(root, "new-exercise", "more", "twice")
    typed(root, "new-exercise", "more", LAYER)
    succeed(root, "generate_assignment", LESSON)
    succeed(root, "generate_solution", LESSON)
    return root


def notebook(root: Path, folder: str) -> nbformat.NotebookNode:
    return nbformat.read(root / folder / LESSON / "more.ipynb", as_version=4)


def test_exercises_come_before_the_last_section(root):
    """The exercises are in their order before the last section."""
    cells = [cell.id for cell in notebook(root, "source").cells]
    texts = [(f"{name}-text", name, f"test_{name}") for name in (NAME, "twice", LAYER)]
    assert cells == ["title", "setup", *texts[0], *texts[1], *texts[2], "closing"]
    headings = [cell.source.splitlines()[0] for cell in notebook(root, "source").cells if "-text" in cell.id]
    names = enumerate((NAME, "twice", LAYER), 1)
    assert headings == [f"## Exercise 2.{place} · `{name}`" for place, name in names]


def test_its_checks_are_sound(root):
    output = typed(root, "try", "more")
    assert "Right answers get full marks, and each mistake is named." in output
    lesson = open_course(root).assignments["more"]
    assert lesson.problems == [] and set(lesson.exercises) == {NAME, "twice", LAYER}


def test_the_solution_gets_all_points(root):
    """Students get no solution and the solution gets all points."""
    released = nbformat.writes(notebook(root, "release"))
    assert "2 * x" not in released and "unflatten" not in released
    submitted = root / "submitted" / "ada" / LESSON
    submitted.mkdir(parents=True)
    nbformat.write(notebook(root, "solutions"), submitted / "more.ipynb")
    succeed(root, "autograde", LESSON)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        grades = gradebook.find_submission_notebook("more", LESSON, "ada").grades
        points = {f"test_{NAME}": 2, "test_twice": 2, f"test_{LAYER}": 5}
        assert {grade.name: grade.auto_score for grade in grades} == points


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        *((name, "is no name") for name in ("09-grouped", "9 lives", "_09", "09_", "../09_x", "09_Größe")),
        (LESSON, "is there already"),
        ("03_tiny", "is there already"),
    ],
)
def test_a_lesson_that_cannot_be_is_refused(root, folder, sentence):
    with pytest.raises(CourseError, match=sentence):
        new_assignment(read_folders(root), folder)
    assert not (root / "source" / "03_tiny").exists()


@pytest.mark.parametrize(
    ("lesson", "name", "sentence"),
    [
        ("more", "two things", "'two things' is no name for a function"),
        ("more", "class", "'class' is no name for a function"),
        ("more", "two_parts", "two_parts.py is there already: move it away, or choose another name."),
        ("more", "double", f"{FOLDER} has an exercise 'double' already"),
    ],
)
def test_an_exercise_that_cannot_be_is_refused(root, lesson, name, sentence):
    """An exercise that cannot be is refused and nothing is written."""

    def times():
        files = (path for path in root.rglob("*") if path.suffix in (".py", ".ipynb"))
        return {path: path.stat().st_mtime_ns for path in files}

    before = times()
    with pytest.raises(CourseError) as caught:
        new_exercise(open_course(root).assignments[lesson], name)
    assert sentence in str(caught.value)
    assert before == times()


@pytest.mark.parametrize(
    ("name", "source", "kind"),
    [
        ("PWM_cod", "", "function"),
        ("BFS", "", "function"),
        ("TwoParts", "", "layer"),
        ("Encode", "def Encode(text):\n    pass", "function"),
        ("unit", "class unit(Module):\n    pass", "layer"),
        ("Encode", "def Encoder(text):\n    pass", "layer"),
    ],
)
def test_what_the_notebook_defines_decides_the_kind(name, source, kind):
    assert _kind_of(name, True, [PlainCell("code", source, {})]) == kind


def test_without_torch_there_is_no_layer(tmp_path):
    course = tmp_path / "plain"
    (course / "source").mkdir(parents=True)
    new_assignment(read_folders(course), "ps1")
    with pytest.raises(CourseError, match="'Doubler' is the name of a class, and there is a skeleton of one"):
        new_exercise(open_course(course).assignments["ps1"], "Doubler")
    assert not (course / "checks").exists()


def run_in(root: Path, *command: str | Path) -> str:
    """What a program of the environment prints in a copy of the course, which is the one it imports."""
    path = os.pathsep.join([str(root / "nbjudge" / "src"), str(root)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    return run.stdout


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A copy of this course to which a lesson was added by nothing but its commands; and what they said."""
    root = tmp_path_factory.mktemp("grown") / "course"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_OF_THE_COURSE))
    program = Path(sys.executable).with_name("attention-lab")
    lines = [("new-lesson", FRESH), ("new-exercise", FRESH, NAME)]
    lines += [("new-exercise", FRESH, "SlidingWindowAttention"), ("build", FRESH)]
    return root, [run_in(root, program, *words) for words in lines]


@pytest.mark.timeout(900)
def test_this_courses_skeletons_have_this_courses_form(grown):
    root, _ = grown
    files = [f"tests/test_{name}.py" for name in (*TESTS_OF_FORM, *TESTS_OF_CHECKS)]
    options = ("-q", "-p", "no:cacheprovider", "-m", "lesson", "-k", f"{STEM} and not enough_mistakes")
    files.append("tests/tutor/test_course_material.py")
    output = run_in(root, sys.executable, "-m", "pytest", *options, *files)
    assert int(re.search(r"(\d+) passed", output).group(1)) > 40, output


def test_skeletons_are_laid_out_as_code_is(grown):
    """This courses skeletons are laid out as its code is."""
    root, (lesson, exercise, layer, _) = grown
    assert f"Next: attention-lab new-exercise {FRESH} NAME" in lesson
    assert f"Next: attention-lab build {FRESH}, then attention-lab try {NAME}" in exercise
    assert "sliding_window_attention.py" in layer and "docs/writing-a-lesson.md" in layer
    paths = (f"checks/{STEM}", f"source/{FRESH}", PACKAGE)
    for command in (["check"], ["format", "--check"]):
        run_in(root, sys.executable, "-m", "ruff", *command, *paths)


def test_visible_tests_are_in_the_lessons_package(grown):
    """And a layer is asked as this course asks layers."""
    root, _ = grown
    folder = root / "source" / FRESH
    checks = (root / "checks" / STEM / "sliding_window_attention.py").read_text()
    for part in ("draw=LayerDraw", "class Right(nn.Module)", "state=state", "refuses=(width, parts)"):
        assert part in checks
    tests = (root / PACKAGE / "visible_tests.py").read_text()
    assert "with_weights(" in tests and "refuses(" in tests
    assert "from attention_lab.examples import example, refuses, with_weights\n" in tests
    assert re.findall("^def (.*)\\(", tests, re.MULTILINE) == [f"test_{NAME}", "test_SlidingWindowAttention"]
    cells = {cell.id: cell for cell in nbformat.read(folder / f"{STEM}.ipynb", as_version=4).cells}
    imported = f"import test_{NAME}, test_SlidingWindowAttention\n"
    assert f"from {PACKAGE.replace('/', '.')}.visible_tests {imported}" in cells["setup"].source
    assert cells[f"test_{NAME}"].source.startswith(f"test_{NAME}({NAME})\n### BEGIN HIDDEN TESTS\n")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch\n\nx = 1", "import torch\nfrom tests import b\n\nx = 1"),
        ("from tests import c, A\n", "from tests import A, b, c\n"),
        ("from tests import (\n    c,\n)\n", "from tests import b, c\n"),
        ("x = 1", "from tests import b\nx = 1"),
        ("from tests import b\n", "from tests import b\n"),
    ],
)
def test_a_name_joins_the_import(code, expected):
    """A long import is written over several lines."""
    assert with_import(code, "tests", ["b"]) == expected
    names = [f"test_{letter * 20}" for letter in "abcdef"]
    code = with_import("import math\n", "given_tests", names)
    assert code == "import math\nfrom given_tests import (\n" + "".join(f"    {n},\n" for n in names) + ")\n"
    assert with_import(code, "given_tests", names[:1]) == code
