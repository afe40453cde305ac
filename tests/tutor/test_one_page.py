"""The answers of a lesson on one page: cut from its notebook, shown once they are right."""

from pathlib import Path

import pytest

from nbjudge.course.course import open_course
from nbjudge.course.loading import importing_from
from nbjudge.errors import CourseError
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import TutoredAssignment, material_of
from nbjudge.tutor.messages import OnePageRequest
from nbjudge.tutor.tutor import Tutor

COURSE = open_course(Path(__file__).parents[2])
LESSONS = [lesson for lesson in COURSE.assignments.values() if lesson.exercises]


@pytest.mark.lesson
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_page_runs_and_says_its_shapes(lesson):
    """The page imports what it needs, and a line with a product ends on a comment."""
    page = TutoredAssignment(lesson).one_page
    names: dict = {"__name__": f"one_page_of_{lesson.name}"}
    with importing_from(lesson.source_path.parent):
        exec(compile(page, f"{lesson.name}, one page", "exec"), names)
    assert set(lesson.exercises) <= set(names)
    products = [line for line in page.splitlines() if " @ " in line and not line.lstrip().startswith("#")]
    unshaped = [line for line in products if "(" not in line.partition("#")[2]]
    assert not unshaped, "say the shape behind a product"


@pytest.fixture
def tutor():
    return Tutor(material_of(COURSE), seed=0)


def test_the_page_is_shown_when_all_answers_are_right(tutor):
    right = ["scaled_scores", "score_variance"]
    (part,) = tutor.reply(OnePageRequest(folder="02_scaling", right=right)).parts
    assert part.kind == "text" and "2 of 4 are" in part.text and "`softmax_jacobian`" in part.text
    assert "def " not in part.text
    right += ["scaled_dot_product_attention", "softmax_jacobian"]
    (part,) = tutor.reply(OnePageRequest(folder="02_scaling", right=right)).parts
    assert part.kind == "code" and "def scaled_dot_product_attention(" in part.text
    with pytest.raises(CourseError, match="a folder called '09_none'"):
        tutor.reply(OnePageRequest(folder="09_none", right=right))


def test_no_page_is_shown_where_solutions_are_not_disclosed():
    lesson = COURSE.assignments["scaling"]
    tutor = Tutor(material_of(COURSE, default=Disclosure.MEASURED), seed=0)
    (part,) = tutor.reply(OnePageRequest(folder=lesson.folder, right=list(lesson.exercises))).parts
    assert part.kind == "text" and "it may not" in part.text
