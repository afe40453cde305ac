"""Stock nbgrader beside the plug-in: what it grades, runs and collects, the plug-in does as well."""

import copy
import io
import zipfile
from pathlib import Path

import nbformat
import pytest
from marked_cells import code, solution
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from tiny_course import CONFIG, FOLDER, FULL, GradedClass, answered, hand_in, make_course, nbgrader, succeed

from nbjudge.course.assignment_forms import named_notebooks

STOCK = "c = get_config()\n"
# Right numbers, but no gradient.
HALF = {"double": "def double(x):\n    return 2 * x.detach()"}


def grade(root: Path, config: str, assignment: str = "ps1") -> None:
    """Make the release with this configuration, and grade what was handed in."""
    (root / "nbgrader_config.py").write_text(config)
    succeed(root, "generate_assignment", assignment, "--force")
    succeed(root, "autograde", assignment, "--force")


def score(root: Path, student: str, notebook: str = "p1") -> float:
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        return gradebook.find_submission_notebook(notebook, "ps1", student).score


def write(notebook: NotebookNode, path: Path) -> None:
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


@pytest.mark.integration
@pytest.mark.smoke
def test_check_gives_the_points_without_the_plugin(tmp_path):
    make_course(tmp_path, STOCK + 'c.CourseDirectory.solution_directory = "solutions"\n')
    hand_in(tmp_path, "half", answered(**HALF))
    succeed(tmp_path, "autograde", FOLDER)
    graded = GradedClass(tmp_path)
    stock, printed = graded.points("half"), graded.printed("half", "test_double")
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    succeed(tmp_path, "autograde", FOLDER, "--force")
    assert graded.points("half") == stock == FULL | {"double": 1}
    assert "double: 1 of 2 points" in printed


# Ordinary asserts in a hidden region, on numbers drawn from a generator that the notebook seeded.
DRAWN = """assert double(np.ones(1)) == 2
### BEGIN HIDDEN TESTS
first = generator.integers(100)
assert first == 85, "the first number of this generator"
### END HIDDEN TESTS"""
PLAIN_CELLS = [
    code("import numpy as np\ngenerator = np.random.default_rng(0)"),
    code(f"def double(x):\n{solution('return 2 * x')}", "double", solution=True),
    code(DRAWN, "test_double", grade=True, locked=True, points=2, cell_type="code"),
]


@pytest.mark.integration
def test_an_untouched_hidden_test_runs_once(tmp_path):
    write(nbformat.v4.new_notebook(cells=PLAIN_CELLS), tmp_path / "source" / "ps1" / "p1.ipynb")
    work = nbformat.v4.new_notebook(cells=copy.deepcopy(PLAIN_CELLS))
    work.cells[1].source = "def double(x):\n    return x + x"
    work.cells[2].source = DRAWN.splitlines()[0]
    write(work, tmp_path / "submitted" / "ann" / "ps1" / "p1.ipynb")
    for config in (STOCK, CONFIG):
        grade(tmp_path, config)
        graded = nbformat.read(tmp_path / "autograded" / "ann" / "ps1" / "p1.ipynb", as_version=4)
        assert (score(tmp_path, "ann"), len(graded.cells)) == (2, 3)


# ---- a notebook that runs another one of its folder ----------------------------------------------

TEST = {"grade": True, "locked": True, "points": 1}
# What students must not see; a notebook that is run leaves its text in `In`, and its file is beside.
SECRET = "okapi"
HIDDEN = f"### BEGIN HIDDEN TESTS\n{SECRET} = shift(1)\n### END HIDDEN TESTS"


def helpers() -> NotebookNode:
    """A notebook of the assignment that the other one runs: given code, and an answer of the student's."""
    answer = code(f"def shift(x):\n{solution(f'return x + 1  # {SECRET}')}", "shift", solution=True)
    test = code(f"assert shift(base) > 3\n{HIDDEN}", "test_shift", **TEST)
    return nbformat.v4.new_notebook(cells=[code("base = 3"), answer, test])


def problem() -> NotebookNode:
    """A notebook that needs the given code and the answer of the other one."""
    answer = f"### BEGIN SOLUTION\ntop = shift(base)  # {SECRET}\n### END SOLUTION"
    cells = [
        code("%run helpers.ipynb\nstart = shift(0)"),
        code(answer, "top", solution=True),
        code("assert top == 4", "test_top", **TEST),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def with_answer(notebook: NotebookNode, *answer: str) -> NotebookNode:
    """The released notebook with the student's text in its answer cell, and own cells before that."""
    notebook.cells[1].source = answer[-1]
    notebook.cells[1:1] = [nbformat.v4.new_code_cell(text) for text in answer[:-1]]
    for cell in notebook.cells:
        cell.source = cell.source.replace(HIDDEN, "")
    return notebook


READ = f"found = {SECRET!r} in open('helpers.ipynb').read()"
# By student: the answers in the two notebooks, and their points from the plug-in.
CLASS = {
    "ada": (["def shift(x):\n    return 1 + x"], ["top = shift(base)"], [1, 1]),
    "ben": (["def shift(x):\n    return 0"], ["top = 0"], [0, 0]),
    "cyd": (None, [READ, "top = base if found else 4"], [0, 1]),
}


@pytest.mark.integration
def test_a_notebook_runs_another_as_in_stock_nbgrader(tmp_path):
    """The other one is there as released, with the student's answers in it and with no hidden test."""
    for name, notebook in (("helpers", helpers()), ("p", problem())):
        write(notebook, tmp_path / "source" / "ps1" / f"{name}.ipynb")
    for student, (shift, top, _) in CLASS.items():
        for name, notebook, answer in (("helpers", helpers(), shift), ("p", problem(), top)):
            if answer is not None:
                work = with_answer(notebook, *answer)
                write(work, tmp_path / "submitted" / student / "ps1" / f"{name}.ipynb")
    expected = {student: points for student, (*_, points) in CLASS.items()}
    # In stock nbgrader cyd has no other notebook to run, because none was handed in.
    for config, points in ((STOCK, expected | {"cyd": [0, 0]}), (CONFIG, expected)):
        grade(tmp_path, config)
        found = {student: [score(tmp_path, student, name) for name in ("helpers", "p")] for student in CLASS}
        assert found == points


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("%run helpers.ipynb", ["helpers.ipynb"]),
        ("%run 'inner/my notes.ipynb'", ["my notes.ipynb"]),
        ("import helpers", ["helpers.ipynb"]),
        ("from helpers import base", ["helpers.ipynb"]),
        ("helpers = 1  # see my notes", []),
    ],
)
def test_only_a_notebook_that_code_names_is_beside(text, named):
    cells = [nbformat.v4.new_code_cell(text), nbformat.v4.new_markdown_cell("%run text.ipynb")]
    assert named_notebooks(cells, ["helpers.ipynb", "my notes.ipynb", "text.ipynb"]) == named


# ---- `nbgrader zip_collect` on archives of the forms that platforms make --------------------------

FILE = "_assignsubmission_file"
OWN_PATTERN = r".*/(?P<file_id>[^/]+)-by-(?P<student_id>\w+)(?:-at-(?P<timestamp>[^/]+))?\.ipynb"
# What the archive holds, by name: where it is collected; what nbgrader's log says; and settings. Blackboard's
# archives are in `term/test_archives.py`.
ARCHIVES = {
    "moodle": (  # files come to the student of that name, with folders or without; namesakes are kept apart
        {
            f"Ada  LOVELACE_4711{FILE}_/week-1.ipynb": "ada/ps1/week-1.ipynb",
            f"Ada  LOVELACE_4711{FILE}_/data/table.csv": "ada/ps1/data/table.csv",
            f"Zoë O'Brien_4712{FILE}/week-1.ipynb": "Zoë O'Brien/ps1/week-1.ipynb",
            f"Ben Li_4713{FILE}_week-1.ipynb": "Ben Li/ps1/week-1.ipynb",
            f"Ben Li_4714{FILE}_week-1.ipynb": "Ben Li 4714/ps1/week-1.ipynb",
            "Ada LOVELACE_4711_assignsubmission_onlinetext_/onlinetext.html": "",
        },
        "one is collected as 'Ben Li', the other as 'Ben Li 4714'",
        "",
    ),
    "canvas": (  # files come to the student with Canvas's number, under the released name
        {
            "lovelaceada_101_4711_week-1-2.ipynb": "ada/ps1/week-1.ipynb",
            "lovelaceada_101_4712_helper.py": "ada/ps1/helper.py",
            "o_brienzoë_LATE_102_4713_week-1.ipynb": "102/ps1/week-1.ipynb",
            "anon_Ab1_4714_week-1.ipynb": "anon_Ab1/ps1/week-1.ipynb",
            "libena_103_4715_mine_1_2_.zip": "103/ps1/mine_1_2_/week-1.ipynb",
        },
        "102: Canvas marks this submission as late",
        "",
    ),
    "a pattern of the course's own": (
        {
            "week-1-by-eve.ipynb": "eve/ps1/week-1.ipynb",
            "week-1-by-ian-at-2026-11-21_09.30.00.ipynb": "ian/ps1/week-1.ipynb",
            "week-1-by-joe-at-20261121T093000+02.ipynb": "joe/ps1/week-1.ipynb",
            f"Ada_1{FILE}_/week-1.ipynb": "",
        },
        "",
        f"c.FileNameCollectorPlugin.named_regexp = {OWN_PATTERN!r}\n",
    ),
}
TIMES = {"ian": "2026-11-21 09:30:00", "joe": "2026-11-21 07:30:00"}  # in UTC


def zipped(*names: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name in names:
            file.writestr(name, zipped("week-1.ipynb") if name.endswith(".zip") else name)
    return archive.getvalue()


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", ARCHIVES)
def test_an_archive_is_collected(tmp_path, form):
    names, said, config = ARCHIVES[form]
    (tmp_path / "source/ps1").mkdir(parents=True)
    (tmp_path / "source/ps1/week-1.ipynb").touch()
    (tmp_path / "nbgrader_config.py").write_text(CONFIG + config)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        gradebook.add_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id=" 101")
    archive = tmp_path / "downloaded/ps1/archive/2026_1_PS.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(zipped(*names))
    run = nbgrader(tmp_path, "zip_collect", "ps1")
    assert run.returncode == 0, run.stderr
    submitted = tmp_path / "submitted"
    times = {path.parts[-3]: path.read_text() for path in submitted.rglob("timestamp.txt")}
    assert {name: time.strip()[:19] for name, time in times.items()} == (TIMES if config else {})
    paths = [path for path in submitted.rglob("*.*") if path.is_file() and path.name != "timestamp.txt"]
    files = {str(path.relative_to(submitted)): path.read_text() for path in paths}
    assert files == {
        there: "week-1.ipynb" if name.endswith(".zip") else name for name, there in names.items() if there
    }
    assert said in run.stderr and "ada: Canvas" not in run.stderr
