"""What the tutor reads of a course, how much it may reveal, and parts of help as the learner reads them."""

from datetime import date

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions

from nbjudge.authoring import Exercise, case
from nbjudge.calls import Answer
from nbjudge.course.course import Course
from nbjudge.course.regions import Regions
from nbjudge.errors import SettingsError
from nbjudge.judge.scoring import Judgement
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.help import markdown_part, show_case
from nbjudge.tutor.material import TutoredAssignment, material_of
from nbjudge.tutor.smallest import Difference
from nbjudge.tutor.tutor import IT_DIFFERS, check_result

TODAY = date(2026, 11, 23)
ASSIGNMENTS = ("ps1", "ps2")


def settings_of(options, default=Disclosure.FULL):
    return DisclosureSettings.of(options, ASSIGNMENTS, default)


@pytest.mark.parametrize(
    ("options", "disclosure"),
    [
        ({}, Disclosure.FULL),
        ({"level": "measured"}, Disclosure.MEASURED),
        ({"level": "measured", "levels": {"ps1": "full"}}, Disclosure.FULL),
        ({"level": "measured", "levels": {"ps2": "full"}}, Disclosure.MEASURED),
        ({"levels": {"ps1": [["examples", ""], ["full", "2026-11-23"]]}}, Disclosure.FULL),
        ({"levels": {"ps1": [["examples", ""], ["full", "2026-11-24"]]}}, Disclosure.EXAMPLES),
        ({"levels": {"ps1": [["full", "2026-12-24"]]}}, Disclosure.EXAMPLES),
    ],
)
def test_the_last_disclosure_begun_is_in_force(options, disclosure):
    assert settings_of(options).on("ps1", TODAY) == disclosure
    default = settings_of(options, Disclosure.MEASURED).on("ps1", TODAY)
    assert default == (disclosure if options else Disclosure.MEASURED)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"leval": "measured"}, r"no option c\.Tutor\.leval \(did you mean 'level'\?\)"),
        ({"level": "mesured"}, r'c\.Tutor\.level is \'mesured\', which is not one of "full", "measured"'),
        ({"level": None}, r"c\.Tutor\.level is None"),
        (
            {"levels": {"ps3": "measured"}},
            r"assignment 'ps3', .* \(did you mean 'ps[12]'\?\)\. It has: ps1, ps2",
        ),
        ({"levels": {"ps1": "all"}}, r"c\.Tutor\.levels\['ps1'\] is 'all', which is not one of"),
        ({"levels": {"ps1": [["all", ""]]}}, r"\['ps1'\] is 'all', which is not one of"),
        ({"levels": {"ps1": [["full", "tomorrow"]]}}, r"\['ps1'\] is \[.*Write it like this: c\.Tutor"),
        ({"levels": {"ps1": [["full"]]}}, r"Write it like this: c\.Tutor"),
        ({"levels": {"ps1": 3}}, r"Write it like this: c\.Tutor"),
        ({"levels": "measured"}, r"Write it like this: c\.Tutor"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        settings_of(options)


def test_a_course_refuses_a_misspelt_assignment(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text('c = get_config()\nc.Tutor.levels = {"pss1": "measured"}\n')
    with pytest.raises(SettingsError, match="assignment 'pss1'"):
        material_of(Course(tmp_path))


MEASURED = Finding("Over the rows.", "rows", measured="It differs at [0, 1].")


@pytest.mark.parametrize(
    ("finding", "disclosure", "sentence", "mistake"),
    [
        (MEASURED, "full", "It differs at [0, 1].", "rows"),
        (MEASURED, "measured", "It differs at [0, 1].", ""),
        (Finding("Over the rows.", "rows"), "full", "Over the rows.", "rows"),
        (Finding("Over the rows.", "rows"), "measured", IT_DIFFERS, ""),
        (Finding("It runs torch.softmax.", "not_allowed"), "measured", "It runs torch.softmax.", ""),
        (Finding("It raises an error."), "measured", "It raises an error.", ""),
    ],
)
def test_only_full_disclosure_names_a_mistake(finding, disclosure, sentence, mistake):
    examination = Judgement(Verdict("softmax", 1, (), (finding,)), ())
    (told,) = check_result(examination, Disclosure(disclosure)).findings
    assert (told.sentence, told.mistake) == (sentence, mistake)
    assert told.named is (bool(mistake) and bool(finding.measured))


OWN_DELIMITERS = """
c = get_config()
c.ClearSolutions.begin_solution_delimeter = "<answer>"
c.ClearSolutions.end_solution_delimeter = "</answer>"
c.ClearMarkScheme.begin_mark_scheme_delimeter = "<marks>"
c.ClearMarkScheme.end_mark_scheme_delimeter = "</marks>"
"""


@pytest.mark.parametrize(
    ("config", "solution", "scheme"),
    [
        ("", ("### BEGIN SOLUTION", "### END SOLUTION"), ("### BEGIN MARK SCHEME", "### END MARK SCHEME")),
        (OWN_DELIMITERS, ("# <answer>", "# </answer>"), ("<marks>", "</marks>")),
    ],
)
def test_the_tutor_reads_by_the_configured_delimiters(tmp_path, config, solution, scheme):
    (tmp_path / "nbgrader_config.py").write_text(config)
    source = tmp_path / "source" / "ps1"
    source.mkdir(parents=True)
    code = "\n    ".join(("def double(x):", solution[0], "return 2 * x", solution[1]))
    cells = [
        new_code_cell(code, metadata=answer("double")),
        new_markdown_cell(f"Why?\n\n{scheme[0]}\n1 point for the reason\n{scheme[1]}"),
        new_markdown_cell("Because.", metadata=answer("why")),
    ]
    nbformat.write(new_notebook(cells=cells), source / "ps1.ipynb")
    material = TutoredAssignment(Course(tmp_path).assignments["ps1"])
    assert material.solution("double") == "def double(x):\n    return 2 * x"
    written = material.written("why")
    assert (written.model_answer, written.scheme) == ("Because.", "1 point for the reason")


def test_the_default_delimiters_are_nbgraders():
    regions = Regions()
    solutions, tests, schemes = ClearSolutions(), ClearHiddenTests(), ClearMarkScheme()
    assert regions.solution == (solutions.begin_solution_delimeter, solutions.end_solution_delimeter)
    assert regions.hidden_tests == (tests.begin_test_delimeter, tests.end_test_delimeter)
    assert regions.mark_scheme == (schemes.begin_mark_scheme_delimeter, schemes.end_mark_scheme_delimeter)


def answer(grade_id: str) -> dict[str, dict[str, object]]:
    """The metadata of an answer cell."""
    return {"nbgrader": {"grade_id": grade_id, "solution": True}}


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        (r"divide by $\sqrt{d_k}$, then mask with $-\infty$", "divide by √(d_k), then mask with -∞"),
        (r"$\sum_j w_j M x_j$ with one $M$", "∑_j w_j M x_j with one M"),
        (r"the score is $q \cdot k$", "the score is q · k"),
        ("`x[..., 0::2]` costs nothing", "`x[..., 0::2]` costs nothing"),
    ],
)
def test_formulas_are_unicode(markdown, shown):
    assert markdown_part(markdown, "").text == shown


def test_a_number_as_a_key_is_told_from_its_text():
    counts = Exercise("count", results=("counts",))
    given, right = (Answer("value", value={key: 2, "of all": 5}) for key in ("0", 0))
    (part,) = show_case(counts, len, Difference(case([7, 7]), given, right))
    assert part.text.endswith("# yours\n'0': 2\nof all: 5\n\n# right\n0: 2\nof all: 5")
