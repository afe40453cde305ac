"""Checks are tried before a class meets them, and what is wrong with them is said to their author."""

import io
import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console
from tiny_course import CHECKS, NAME, make_course

from nbjudge import CourseError, problems_of_checks, try_all
from nbjudge.authoring import Exercise, case
from nbjudge.course import open_course
from nbjudge.try_checks.coverage import RELATIONS, coverage_of, coverage_table, rows_of, write_into

PLAIN = "yield case(draw.normal(draw.sizes(1)[0]))"
QUIET = Console(file=io.StringIO())


SECONDS = itertools.count(1_700_000_000)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_course(tmp_path_factory.mktemp("course") / "tiny")


@pytest.fixture
def checks(course):
    """Exchange some of the checks' text; they are as they were afterwards."""
    file = course.root / "checks" / f"{NAME}.py"

    def write(text: str) -> None:
        file.write_text(text)
        second = next(SECONDS)
        os.utime(file, (second, second))  # Python compiles a file again for another second or size only

    def exchange(old: str, new: str):
        assert old in CHECKS
        write(CHECKS.replace(old, new, 1))
        return open_course(course.root)

    yield exchange
    write(CHECKS)


def problems_of(course) -> list[str]:
    return [
        problem for lesson in course.assignments.values() for problem in problems_of_checks(lesson, QUIET)
    ]


def test_nothing_is_said_of_sound_checks(course):
    assert problems_of(course) == []


MISTAKE = "    return x * 1\n"
CASE = "Case 1 of the group “tapir lists” of `biggest`"
BROKEN = {
    "no argument": (PLAIN, "yield case()", f"{CASE} cannot be answered by the solution itself (TypeError: "),
    "a range": (
        PLAIN,
        "yield case(range(3))",
        f"{CASE} has builtins.range, which is neither",
    ),
    "no refusal": (
        PLAIN,
        "yield case(draw.normal(3), refuses=(3,))",
        f"{CASE} is to be refused, and the solution does not raise a ValueError with the numbers 3",
    ),
    "a text": (PLAIN, "yield case('three')", f"{CASE} cannot be answered by the solution itself"),
    "loses no point": (
        MISTAKE,
        "    return x + x\n",
        "The mistake unchanged of `double` loses no point on seed 0",
    ),
    "taken for another": (
        MISTAKE,
        MISTAKE + '\n\n@double.mistake("No quagga was changed.")\ndef as_it_was(x):\n    return x.clone()\n',
        "The mistake as_it_was of `double` is taken for the mistake unchanged on seed 0",
    ),
    "not right": (
        MISTAKE,
        MISTAKE + "\n\n@double.accepted_alternative\ndef triple(x):\n    return 3 * x\n",
        "The accepted alternative triple of `double` gets 0 of 2 points on seed 0: the group “tapir vectors”",
    ),
    "no such step": (
        'results=("doubled",)',
        'results=("doubled",), not_allowed=("softmacks",)',
        "`double` does not allow 'softmacks', which is no step that can be watched: write a Step",
    ),
}


@pytest.mark.parametrize(("old", "new", "sentence"), BROKEN.values(), ids=BROKEN)
def test_what_the_author_has_to_fix_is_said(checks, old, new, sentence):
    """What the author has to fix is said in one sentence."""
    (problem,) = problems_of(checks(old, new))
    assert problem.startswith(sentence)


def test_the_table_shows_which_group_catches_what(course):
    shown = io.StringIO()
    assert try_all(course, "double", "", 3, Console(file=shown, width=100)) == 0
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert ["solution", "double", "✓", "✓"] in lines
    assert ["mistake", "unchanged", "✗", "✗"] in lines
    assert ["1", "tapir", "vectors,", "1", "point"] in lines


def test_of_one_answer_its_students_words_are_shown(course):
    shown = io.StringIO()
    assert try_all(course, "double", "unchanged", 1, Console(file=shown, width=200)) == 0
    assert "Not one quagga was doubled" in shown.getvalue()
    assert "solution" not in shown.getvalue()


def test_a_problem_ends_the_command_with_1(checks):
    shown = io.StringIO()
    assert try_all(checks(MISTAKE, "    return x + x\n"), "*", "", 2, Console(file=shown, width=200)) == 1
    assert "✗ The mistake unchanged of `double` loses no point" in shown.getvalue()


@pytest.mark.parametrize(
    ("name", "answer", "sentence"),
    [
        (
            "treble",
            "",
            "There is no exercise or assignment 'treble'. The exercises are: double, row_sums, biggest.",
        ),
        ("double", "halved", "The checks of `double` hold no 'halved'. They hold: double, unchanged."),
    ],
)
def test_an_unknown_name_is_told_the_known_ones(course, name, answer, sentence):
    with pytest.raises(CourseError) as caught:
        try_all(course, name, answer, 1, QUIET)
    assert str(caught.value) == sentence


@pytest.mark.integration
@pytest.mark.parametrize("command", ["nbjudge", "attention-lab"])
def test_it_is_typed_in_the_courses_folder(course, command):
    program = Path(sys.executable).with_name(command)
    run = subprocess.run([program, "try", "tiny"], cwd=course.root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Right answers get full marks, and each mistake is named." in run.stdout


# ---- docs/judge.md holds the coverage table of the checks as they are ----

ROOT = Path(__file__).parents[1]


def test_the_page_is_up_to_date(tmp_path):
    """A relation that an exercise no longer covers shows in the page's diff."""
    rows = rows_of(open_course(ROOT).assignments.values(), Console(quiet=True))
    page = tmp_path / "judge.md"
    page.write_text((ROOT / "docs" / "judge.md").read_text())
    write_into(page, coverage_table(rows))
    assert page.read_text() == (ROOT / "docs" / "judge.md").read_text()


@pytest.fixture
def double():
    def double(x):
        if x.ndim == 0:
            raise ValueError
        return 2 * x

    return double


def exercise_with(cases):
    exercise = Exercise("double", results=("twice",))
    exercise.group("numbers", points=1)(cases)
    return exercise


def test_each_relation_is_covered_or_not(double):
    """What is covered what is not and what does not apply."""
    row = coverage_of(exercise_with(lambda draw: [case(draw.normal(3, 4))]), double)
    found = {coverage: {name for name in row if row[name] == coverage} for coverage in row.values()}
    assert found["covered"] == {"values", "unequal sizes", "second call", "arguments unchanged"}
    assert found["not covered"] == {
        "dtypes",
        "leading axes",
        "equal sizes",
        "large values",
        "gradients",
        "refusal",
    }
    assert found["does not apply"] == {"empty rows", "mode", "step not allowed"}


def test_another_case_covers_more(double):
    cases = [((3, 4), "float64"), ((5, 5), "float32")]
    exercise = exercise_with(lambda draw: [case(draw.normal(*shape, dtype=dtype)) for shape, dtype in cases])
    row = coverage_of(exercise, double)
    assert row["dtypes"] == row["equal sizes"] == "covered"
    table = coverage_table([(exercise, row)])
    header, _, line, counts, _, legend = table.splitlines()
    assert Counter(line)["✓"] == 6 and Counter(line)["○"] == 4 and Counter(line)["–"] == 3
    assert counts.startswith("| **covered** | 1 of 1 | 1 of 1 | 0 of 1 |") and "not covered" in legend
    assert header.count("|") == len(RELATIONS) + 2


def test_a_page_without_a_place_is_refused(tmp_path):
    """A page without a place for it is said in a sentence."""
    with pytest.raises(CourseError, match="the table is written between the two"):
        write_into(tmp_path / "none.md", "table")
