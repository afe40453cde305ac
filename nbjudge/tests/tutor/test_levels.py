"""How far the tutor goes is the course's choice, per lesson and from a date on."""

from datetime import date

import pytest

from nbjudge.errors import CourseError
from nbjudge.judge.judge import Judgement
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.tutor.levels import Level, level_of
from nbjudge.tutor.tutor import IT_DIFFERS, _verdict_reply, for_learner

TODAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, Level.FULL),
        ({"level": "measured"}, Level.MEASURED),
        ({"level": "measured", "levels": {"ps1": "full"}}, Level.FULL),
        ({"level": "measured", "levels": {"ps2": "full"}}, Level.MEASURED),
        ({"levels": {"ps1": [["examples", ""], ["full", "2026-11-23"]]}}, Level.FULL),
        ({"levels": {"ps1": [["examples", ""], ["full", "2026-11-24"]]}}, Level.EXAMPLES),
        ({"levels": {"ps1": [["full", "2026-12-24"]]}}, Level.EXAMPLES),
    ],
)
def test_the_last_that_has_begun_counts(settings, level):
    assert level_of(settings, "ps1", TODAY) == level


@pytest.mark.parametrize("chosen", ["all", [["full", "tomorrow"]], [["full"]], 3])
def test_a_wrong_one_says_how_it_is_written(chosen):
    with pytest.raises(CourseError, match=r"ps1 is .*\"full\", \"measured\", \"examples\".*c\.Tutor"):
        level_of({"levels": {"ps1": chosen}}, "ps1", TODAY)


@pytest.mark.parametrize(
    ("finding", "level", "said", "mistake"),
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
def test_a_mistakes_name_and_sentence_are_said_at_full_alone(finding, level, said, mistake):
    examination = Judgement(Verdict("softmax", 1, (), (finding,)), ())
    (told,) = for_learner(_verdict_reply(examination, Level(level)))["findings"]
    assert (told["said"], told["mistake"]) == (said, mistake)
    assert told["named"] is (bool(mistake) and bool(finding.measured))
