"""The page that holds a lesson's code: right by the judge's own questions, shown once it is right."""

from pathlib import Path

import pytest
import torch

from nbjudge.calls import read_reply
from nbjudge.course.course import open_course
from nbjudge.course.loading import importing_from
from nbjudge.errors import CourseError
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import TutoredAssignment, material_of
from nbjudge.tutor.messages import OnePageRequest
from nbjudge.tutor.tutor import Tutor

COURSE = open_course(Path(__file__).parents[2])
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name}-{exercise.name}")
    for lesson in COURSE.assignments.values()
    for exercise in lesson.exercises.values()
]
LESSONS = [lesson for lesson in COURSE.assignments.values() if lesson.exercises]


def page_of(lesson) -> dict:
    """What the page of a lesson defines."""
    names: dict = {"__name__": f"one_page_of_{lesson.name}"}
    with importing_from(lesson.source_path.parent):
        exec(compile(TutoredAssignment(lesson).one_page, f"{lesson.name}, one page", "exec"), names)
    return names


def points(exercise, lesson, answer):
    def call_answer(_name, calls, _watched_calls):
        return read_reply(respond.answer_calls(answer, calls, {}), len(calls))

    verdict = judge_exercise(exercise, lesson.reference_answer(exercise.name), call_answer, seed=0)
    return verdict.points, verdict.findings


@pytest.mark.lesson
@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_what_is_on_the_page_is_right(lesson, exercise):
    torch.set_num_threads(1)
    earned, findings = points(exercise, lesson, page_of(lesson)[exercise.name])
    assert earned == exercise.points, findings


def test_the_named_axes_say_the_same():
    lesson = COURSE.assignments["efficient_reshape"]
    exercise = lesson.exercises["EfficientMultiHeadAttention"]
    earned, findings = points(exercise, lesson, page_of(lesson)["NamedAxesAttention"])
    assert earned == exercise.points, findings
    page = page_of(COURSE.assignments["positional_encoding"])
    torch.testing.assert_close(page["named_axes_encoding"](50, 12), page["sinusoidal_encoding"](50, 12))


@pytest.mark.lesson
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_step_on_the_page_says_its_shape(lesson):
    """A line that makes a tensor ends on a comment; a page fits on two screens."""
    page = TutoredAssignment(lesson).one_page
    length = len(page.splitlines())
    assert 20 < length < 160, f"the page has {length} lines, and should have 20 to 160 (two screens)"
    products = [line for line in page.splitlines() if " @ " in line and not line.lstrip().startswith('"')]
    named = page.find("class NamedAxes")
    for line in products:
        assert "# (" in line or page.find(line) > named > 0, f"say its shape behind it: {line}"


@pytest.fixture
def tutor():
    return Tutor(material_of(COURSE), seed=0)


def test_the_page_is_shown_when_all_answers_are_right(tutor):
    right = ["scaled_scores", "sharpen"]
    (part,) = tutor.reply(OnePageRequest(folder="02_scaling", right=right)).parts
    assert part.kind == "text" and "2 of 5 are" in part.text and "`softmax_jacobian`" in part.text
    assert "def " not in part.text
    right += ["score_variance", "scaled_dot_product_attention", "softmax_jacobian"]
    (part,) = tutor.reply(OnePageRequest(folder="02_scaling", right=right)).parts
    assert part.kind == "code" and "def scaled_dot_product_attention(" in part.text
    with pytest.raises(CourseError, match="a folder called '09_none'"):
        tutor.reply(OnePageRequest(folder="09_none", right=right))


def test_no_page_is_shown_where_solutions_are_not_disclosed():
    lesson = COURSE.assignments["scaling"]
    tutor = Tutor(material_of(COURSE, default=Disclosure.MEASURED), seed=0)
    (part,) = tutor.reply(OnePageRequest(folder=lesson.folder, right=list(lesson.exercises))).parts
    assert part.kind == "text" and "it may not" in part.text
