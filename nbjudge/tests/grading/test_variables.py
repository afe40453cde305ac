"""Answers that are variables: read from the student's names, and compared with the solution's value."""

import io
import sys

import nbformat
import numpy as np
import pandas as pd
import pytest
from judged_answers import as_text
from marked_cells import code
from old_course import CONFIG, write_without_ids
from rich.console import Console

import nbjudge
from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.grading import check_in_kernel
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_groups
from nbjudge.judge.verdict import Finding
from nbjudge.probe import respond
from nbjudge.try_checks.command import try_all
from nbjudge.try_checks.visible import visible_tests
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.help import NO_MORE_HINTS
from nbjudge.tutor.material import Material, TutoredAssignment
from nbjudge.tutor.messages import CallReply, CallRequest, CheckRequest, HelpRequest
from nbjudge.tutor.tutor import VARIABLE_DIFFERS, Tutor

GIVEN = "import numpy as np\nimport pandas as pd\nrng = np.random.default_rng(5)\nheights = [1.5, 1.75, 2.0]"
CHECKS = """
import numpy as np

from nbjudge.authoring import Variable

mean_height = Variable("mean_height", points=2, cell="test_mean_height")


@mean_height.mistake("This is in metres: the statement wants centimetres.")
def in_metres(heights):
    return sum(heights) / len(heights)


@mean_height.mistake("One height too few is counted.")
def one_too_few(mean_height, heights):
    return mean_height * len(heights) / (len(heights) - 1)


@mean_height.accepted_alternative
def by_numpy(heights):
    heights.append(heights.pop())  # a copy of the notebook's
    return 100 * np.mean(heights)
"""


def course(folder, variables, checks=CHECKS, given=GIVEN):
    """A course of one notebook; `variables` maps each name to the code that is its solution."""
    cells = [code(given)]
    for name, answer in variables.items():
        cells.append(
            code(f"{name} = None\n### BEGIN SOLUTION\n{answer}\n### END SOLUTION", name, solution=True)
        )
        test = f"assert {name} is not None"
        cells.append(code(test, f"test_{name}", grade=True, locked=True, points=2))
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    write_without_ids(notebook, folder / "source" / "ps1" / "people.ipynb")
    (folder / "nbgrader_config.py").write_text(CONFIG)
    (folder / "checks").mkdir()
    others = (f'{n} = Variable("{n}", points=2, cell="test_{n}")' for n in variables if n not in checks)
    (folder / "checks" / "people.py").write_text("\n".join([checks, *others]))
    return Course(folder)


MEAN = {"mean_height": "mean_height = 100 * sum(heights) / 3"}


def judged(assignment, name, names):
    """The judgement of a student who has these names."""
    exercise = assignment.exercises[name]
    groups = draw_groups(exercise, assignment.reference_answer(name), 0)
    return judge_groups(exercise, groups, as_text(names), 0)


SOLUTIONS = MEAN | {
    "counts": "counts = {'a': 3, 'b': [1, 2]}",
    "scaled": "scaled = np.array([1.0, np.nan, 4.0])",
    "table": "table = pd.DataFrame({'height': heights})",
    "names": "names = ['Ann', 'Bea']",
}
ANSWERS = {
    "right": ("mean_height", 175.0, None, ""),
    "a NumPy number": ("mean_height", np.float64(175.0000001), None, ""),
    "a number": ("mean_height", 171.2, "value", "`mean_height`, is, 171.2, 175"),
    "a mistake": ("mean_height", 1.75, "in_metres", ""),
    "a mistake made of the right value": ("mean_height", 262.5, "one_too_few", ""),
    "a placeholder": ("mean_height", None, "not_given", "None"),
    "an ellipsis": ("mean_height", ..., "not_given", "`...`"),
    "another type": ("mean_height", "175", "type", "a string, a Python float"),
    "a function": ("mean_height", len, "type", "a function or method that was not called"),
    "too long": ("mean_height", [0.0] * 10**6, "type", "a Python float"),
    "a right dict": ("counts", {"a": np.int64(3), "b": (1, 2)}, None, ""),
    "an entry": ("counts", {"a": 4, "b": [1, 2]}, "value", "entry 'a' of `counts`"),
    "an entry less": ("counts", {"b": [1, 2]}, "keys", "lacks 'a'"),
    "an entry more": ("counts", {"a": 3, "b": [1, 2], "c": 1}, "keys", "has 'c' too many"),
    "an entry of an entry": ("counts", {"a": 3, "b": [1, 3]}, "value", "entry 1 of entry 'b' of `counts`"),
    "a right array with a gap": ("scaled", np.array([1.0, np.nan, 4.0]), None, ""),
    "an array": ("scaled", np.array([1.0, np.nan, 5.0]), "positions", "[2], 5, 4"),
    "a shape": ("scaled", np.zeros((3, 1)), "shape", "(3, 1), (3,)"),
    "a right table": ("table", pd.DataFrame({"height": [1.5, 1.75, 2.0]}), None, ""),
    "a table": ("table", pd.DataFrame({"hight": [1.5, 1.75, 2.0]}), "table", "lacks ['height']"),
    "a list": ("names", ["Ann", "Bob"], "value", "entry 1 of `names`, is, 'Bob', 'Bea'"),
    "a short list": ("names", ["Ann"], "type", "a list of 1, a list of 2"),
    "another name": ("mean", 175.0, "not_defined", ""),
}


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return course(tmp_path_factory.mktemp("variables"), SOLUTIONS).assignments["people"]


@pytest.mark.parametrize(("name", "value", "kind", "facts"), ANSWERS.values(), ids=ANSWERS)
def test_a_variable_is_judged(assignment, monkeypatch, name, value, kind, facts):
    """`kind` is that of the first finding, or its mistake; None where the value is right.

    Names that are given back to a function that is called are not given back to a variable.
    """
    monkeypatch.setattr(sys, "nbjudge_names", ({name: "of a given cell"}, {}), raising=False)
    exercise = name if name in SOLUTIONS else "mean_height"
    verdict = judged(assignment, exercise, {name: value}).verdict
    assert verdict.points == (2 if kind is None else 0)
    first = next(iter(verdict.findings), Finding("", kind=None))
    assert kind in (first.kind, first.mistake)
    assert facts in ", ".join(first.facts)


UNSEEDED = "import random\nheights = [random.random() for _ in range(3)]"
RIGHT_MISTAKE = CHECKS.replace("sum(heights) /", "100 * sum(heights) /")
TRIED = {
    "sound": ({}, 0, "Right answers get full marks, and each mistake is named."),
    "drawn without a seed": ({"given": UNSEEDED}, 1, "what it draws must be drawn from a seed."),
    "a mistake that is right": (
        {"checks": RIGHT_MISTAKE},
        1,
        "in_metres of `mean_height` loses no point on seed 0: with the notebook's data it gives the right",
    ),
}


@pytest.mark.parametrize(("change", "status", "says"), TRIED.values(), ids=TRIED)
def test_checks_of_a_variable_are_tried(tmp_path, change, status, says):
    shown, tried = io.StringIO(), course(tmp_path, MEAN, **change)
    assert try_all(tried, "*", "", 1, Console(file=shown, width=400)) == status
    assert says in shown.getvalue()
    if not change:
        (tests,) = visible_tests(tried.assignments["people"])
        assert tests.missed == ["in_metres", "one_too_few"] and not tests.refused


BROKEN = {
    "an unknown name": (CHECKS.replace("mean_height, heights", "mean_height, hights"), "defines `hights`"),
    "all names": (CHECKS.replace("(heights)", "(**names)"), r"`in_metres` .* takes `\*` or `\*\*`"),
}


@pytest.mark.parametrize(("checks", "says"), BROKEN.values(), ids=BROKEN)
def test_checks_that_cannot_be_used_are_refused(tmp_path, checks, says):
    with pytest.raises(CourseError, match=says):
        course(tmp_path, MEAN, checks=checks).assignments["people"].reference_answer("mean_height")


def test_a_value_is_the_one_at_its_own_graded_cell(tmp_path):
    """All cells run, so that draws come in order, which a function's reference leaves out."""
    variables = {
        "first": "first = rng.normal()",
        "second": "second = rng.normal()",
        "total": "total = [1]",
        "larger": "total.append(2)\nlarger = total",
    }
    found = course(tmp_path, variables).assignments["people"]
    drawn = np.random.default_rng(5).normal(size=2)
    assert [found.reference_answer(name)() for name in variables] == [*drawn, [1], [1, 2]]


def test_what_a_cell_writes_is_not_in_the_course(tmp_path):
    source = tmp_path / "source" / "ps1"
    copy = "from pathlib import Path\nPath('out.txt').write_text(Path('in.txt').read_text())"
    written = {"text": f"{copy}\ntext = Path('out.txt').read_text()"}
    found = course(tmp_path, written).assignments["people"]
    (source / "in.txt").write_text("data")
    assert found.reference_answer("text")() == "data"
    assert sorted(file.name for file in source.iterdir()) == ["in.txt", "people.ipynb"]


@pytest.mark.parametrize("disclosure", [Disclosure.FULL, Disclosure.MEASURED])
def test_the_tutor_does_not_say_the_value(assignment, disclosure):
    material = Material({"ps1": TutoredAssignment(assignment)}, DisclosureSettings(disclosure))
    tutor = Tutor(material, seed=0)

    def told(names, request):
        reply = tutor.reply(request)
        while isinstance(reply, CallRequest):
            text = respond.respond(reply.text.decode(), names).encode()
            reply = tutor.reply(CallReply(folder="ps1", conversation=reply.conversation, text=text))
        return reply

    check = CheckRequest(folder="ps1", exercise="mean_height", code="", program="")
    assert told({"mean_height": 175.0}, check).points == 2
    assert told({}, check).findings[0].sentence.startswith("There is no `mean_height`")
    result = told({"mean_height": 171.2}, check)
    assert [finding.sentence for finding in result.findings] == [VARIABLE_DIFFERS]
    assert "171.2" in result.findings[0].evidence and "175" not in str(result)
    request = HelpRequest(folder="ps1", exercise="mean_height", step="help", given=0, tries=1)
    assert told({"mean_height": 171.2}, request).parts[0].text == NO_MORE_HINTS
    is_named = [finding.mistake for finding in told({"mean_height": 1.75}, check).findings] == ["in_metres"]
    assert is_named == (disclosure == Disclosure.FULL)


def test_check_reads_a_variable_in_its_own_kernel(assignment, monkeypatch):
    monkeypatch.chdir(assignment.source_path.parent)
    for value, points in ((175.0, 2), (1.75, 0)):
        monkeypatch.setitem(vars(sys.modules["__main__"]), "mean_height", value)
        assert check_in_kernel.check_in_kernel("mean_height") == points


SUBMITTED = {
    "right": ("right = 100 * sum(heights) / 3", 2, ""),
    "another_way": ("another_way = np.mean(heights) * 100", 2, ""),
    "mean_height": ("mean_height = np.mean(heights)", 0, "in_metres"),
    "missing": ("mising = 175.0", 0, "not_defined"),
    "placeholder": ("placeholder = None", 0, "not_given"),
    "not_written": ("raise NotImplementedError()", 0, "not_written"),
    "huge": ("huge = np.zeros(10**8)", 0, "type"),
    "unreadable": (
        "class Right:\n    def __eq__(self, other):\n        return True\n    def __float__(self):\n"
        "        return 175.0\nunreadable = Right()",
        0,
        "type",
    ),
}


@pytest.mark.integration
def test_variables_are_graded_in_the_sandbox(tmp_path):
    root = tmp_path / "course"
    course(root, {name: f"{name} = 100 * sum(heights) / 3" for name in SUBMITTED})
    notebook = nbformat.read(root / "source" / "ps1" / "people.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = SUBMITTED[cell.metadata.nbgrader.grade_id][0]
    write_without_ids(notebook, tmp_path / "people.ipynb")
    verdicts = nbjudge.grade_notebook(tmp_path / "people.ipynb", root).verdicts
    assert {each.exercise: each.points for each in verdicts} == {n: p for n, (_, p, _) in SUBMITTED.items()}
    for verdict in verdicts:
        told = {name for finding in verdict.findings[:1] for name in (finding.mistake, finding.kind)}
        assert SUBMITTED[verdict.exercise][2] in (told or {""})
