"""How much the tutor may reveal: the course's choice per assignment and from a date on."""

from datetime import date

import pytest

from nbjudge.course.course import Course
from nbjudge.errors import SettingsError
from nbjudge.judge.scoring import Judgement
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.material import material_of
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
def test_the_last_disclosure_that_has_begun_is_in_force(options, disclosure):
    assert settings_of(options).on("ps1", TODAY) == disclosure


def test_the_default_is_used_where_the_course_sets_nothing():
    assert settings_of({}, Disclosure.MEASURED).on("ps1", TODAY) == Disclosure.MEASURED
    assert settings_of({"level": "full"}, Disclosure.MEASURED).on("ps1", TODAY) == Disclosure.FULL


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


@pytest.mark.parametrize(
    ("finding", "disclosure", "sentence", "mistake"),
    [
        (
            Finding("Over the rows.", "rows", measured="It differs at [0, 1]."),
            "full",
            "It differs at [0, 1].",
            "rows",
        ),
        (
            Finding("Over the rows.", "rows", measured="It differs at [0, 1]."),
            "measured",
            "It differs at [0, 1].",
            "",
        ),
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
