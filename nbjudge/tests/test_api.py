"""The public names of nbjudge, what its distribution installs, and what its programs import."""

import doctest
import gc
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest

import nbjudge
import nbjudge.api
from nbjudge import cli
from nbjudge.errors import GRADING_MODULES, CourseError, without_grading
from nbjudge.fast_start import no_collection
from nbjudge.grading import prepare

EXAMPLE = Path(__file__).parents[2] / "examples" / "statistics"
HEAVY = {"nbgrader", "nbconvert", "nbformat", "numpy", "sqlalchemy", "torch"}


@pytest.fixture
def course(tmp_path):
    """A copy of the example course: a grading key is written to it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))


@pytest.fixture
def any_machine(monkeypatch):
    """Nothing is run, so that no sandbox is needed."""
    monkeypatch.setattr(prepare, "sandbox_refusal", lambda: None)


def failures(thing, **names) -> int:
    """The number of examples in a docstring that fail."""
    examples = [
        each for each in doctest.DocTestFinder(recurse=False).find(thing, globs=names) if each.examples
    ]
    assert examples
    return sum(doctest.DocTestRunner().run(example).failed for example in examples)


@pytest.mark.parametrize("name", ["Exercise", "Step", "Variable", "case", "configure"])
def test_public_names_have_sections_and_examples(name):
    """Every public name has words of its own, and no other is there."""
    thing = getattr(nbjudge, name)
    assert "Parameters\n" in thing.__doc__ and failures(thing) == failures(nbjudge) == 0
    assert all(getattr(nbjudge, name).__doc__ for name in nbjudge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'grade_notebok'"):
        _ = nbjudge.grade_notebok


@pytest.mark.integration
def test_a_wrong_answer_is_graded_as_typed_data(course, tmp_path):
    path, solution = tmp_path / "spread.ipynb", course / "source/ps1/spread.ipynb"
    assert failures(nbjudge.api.grade_notebook, solution=solution, course=course) == 0
    notebook = nbformat.read(solution, as_version=4)
    for cell in notebook.cells:
        if "def deviation(" in cell.source:
            cell.source = "def deviation(sample):\n    return ((sample - sample.mean()) ** 2).mean() ** 0.5"
    nbformat.write(notebook, path)
    result = nbjudge.grade_notebook(path, course, student="bob")
    deviation, standardise, relative_spread = result.verdicts
    assert (deviation.exercise, deviation.points, standardise.points) == ("deviation", 0, 4)
    assert deviation.findings[0].mistake == "divided_by_n"
    assert relative_spread.findings[0].mistake == "spread_with_n"  # it is made with the student's deviation
    assert result.points == 4 and result.max_points == 9 and result.assignment == "ps1/spread"


def test_no_notebook_gets_no_points_and_a_reason(course, tmp_path, any_machine):
    path = tmp_path / "spread.ipynb"
    path.write_text("not a notebook")
    result = nbjudge.grade_notebook(path, course)
    assert result.points == 0 and result.max_points == 9 and "spread.ipynb" in result.reason
    with pytest.raises(CourseError, match="cannot be read"):
        nbjudge.grade_notebook(tmp_path / "none.ipynb", course, "ps1")
    with pytest.raises(CourseError, match="There is no assignment 'ps9'"):
        nbjudge.grade_notebook(path, course, "ps9")


@pytest.mark.parametrize("link", ["eve/ps1/spread.ipynb", "eve/ps1", "eve"])
@pytest.mark.parametrize("where", ["submitted", "downloads"])
def test_a_link_is_not_followed(course, any_machine, where, link):
    """As in a class: another's work, or the solution, is no one's submission."""
    path = course / where / link
    path.parent.mkdir(parents=True)
    path.symlink_to(course / link.replace("eve", "source"))
    result = nbjudge.grade_notebook(course / where / "eve/ps1/spread.ipynb", course)
    assert result.points == 0 and "is a link" in result.reason


def test_what_stops_a_class_stops_one_notebook(course, any_machine, monkeypatch):
    notebook = course / "source/ps1/spread.ipynb"
    with monkeypatch.context() as shown:
        shown.setattr(prepare, "shown_to_students", lambda _modules: [course.parent])
        with pytest.raises(CourseError, match=r"^The course \(.*which student code can read"):
            nbjudge.grade_notebook(notebook, course)
    checks = course / "checks/spread.py"
    checks.write_text(checks.read_text().replace("points=", "points=1 + "))
    with pytest.raises(CourseError, match="make the two agree"):
        nbjudge.grade_notebook(notebook, course)


PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
# What a learner's tutor, an author of checks and the `nbjudge` command import.
WITHOUT_GRADING = (
    "nbjudge.cli",
    "nbjudge.authoring",
    "nbjudge.course.course",
    "nbjudge.try_checks.command",
    "nbjudge.tutor.service",
    "nbjudge.tutor.tutor",
)


def names(requirements: list[str]) -> set[str]:
    """The names of the distributions, in lower case."""
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in requirements}


def test_the_group_grading_lists_its_modules():
    """And the base installs no nbgrader."""
    base = {"jupyter-core", "msgspec", "pylatexenc", "rich", "traitlets", "typer"}
    assert names(PROJECT["dependencies"]) == base
    grading = names(PROJECT["optional-dependencies"]["grading"])
    provided = {
        module
        for module, distributions in packages_distributions().items()
        if names(distributions) & grading and not module.startswith("_")
    }
    assert provided >= GRADING_MODULES
    assert {name.lower().replace("_", "-") for name in GRADING_MODULES} | {"pyzmq"} >= grading


def test_a_missing_package_is_told_with_its_cure(monkeypatch, capsys):
    def fail() -> None:
        raise ModuleNotFoundError("No module named 'nbgrader'", name="nbgrader.api")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit):
        cli.main()
    output = capsys.readouterr().out
    assert "needs nbgrader, which is not installed" in output and "pip install 'nbjudge[grading]'" in output
    assert without_grading(ModuleNotFoundError(name="torch")) is None
    assert "needs joserfc" in str(without_grading(ModuleNotFoundError(name="joserfc.jwk")))
    assert "pip install 'nbjudge[lti]'" in str(without_grading(ModuleNotFoundError(name="requests")))
    assert "runs on Linux only" in str(without_grading(ModuleNotFoundError(name="fcntl")))


@pytest.mark.integration
def test_the_tutor_loads_without_grading():
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(GRADING_MODULES)}))\n"  # importing one is an ImportError
        f"for name in {WITHOUT_GRADING}: importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What takes more than a second of CPU time is not needed to grade a notebook or to answer a check.
SLOW = {"rfc3987_syntax.syntax_helpers", "nbgrader", "sqlalchemy", "nbconvert"}
VALIDATE = "nbformat, nbformat.v4 as v4; nbformat.validate(v4.new_notebook(cells=[v4.new_code_cell('1')]))"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("nbjudge", HEAVY),
        *((f"nbjudge.{name}", SLOW) for name in ("batch.worker_process", "tutor.service", "cli")),
        (f"nbjudge.batch, {VALIDATE}", {"rfc3987_syntax.syntax_helpers"}),
    ],
)
def test_slow_modules_are_not_imported(imported, absent):
    program = f"import sys, {imported}\nprint({absent!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_garbage_is_collected_again_after_the_start():
    frozen = gc.get_freeze_count()
    try:
        with pytest.raises(ZeroDivisionError), no_collection():
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
