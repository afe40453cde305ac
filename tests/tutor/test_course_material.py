"""What the tutor has of the course: answers on one page, smallest cases, model answers in words."""

import json
import re

import pytest
import torch
from lesson_cells import COURSE, every_lesson

from nbjudge import CourseError
from nbjudge.calls import caller_of
from nbjudge.course.loading import importing_from
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_groups
from nbjudge.tutor import smallest as smallest_module
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.help import markdown_part, show_case
from nbjudge.tutor.learner.result import WrittenAnswer
from nbjudge.tutor.material import TutoredAssignment, material_of
from nbjudge.tutor.messages import Help, OnePageRequest, Part
from nbjudge.tutor.smallest import smallest_difference
from nbjudge.tutor.tutor import Tutor
from nbjudge.values.kinds import kind_of


@pytest.mark.lesson
@every_lesson
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


def test_undisclosed_solutions_have_no_page():
    lesson = COURSE.assignments["scaling"]
    tutor = Tutor(material_of(COURSE, default=Disclosure.MEASURED), seed=0)
    (part,) = tutor.reply(OnePageRequest(folder=lesson.folder, right=list(lesson.exercises))).parts
    assert part.kind == "text" and "it may not" in part.text


# ---- the smallest case: small, answered by the reference, and wrong in the learner's ----


@pytest.fixture(autouse=True)
def as_long_as_it_takes(monkeypatch):
    """What is found must not depend on how busy the machine is."""
    monkeypatch.setattr(smallest_module, "MOST_SECONDS", 60)


def smallest(name, mistake):
    lesson, exercise = COURSE.exercise(name)
    (answer,) = (each.answer for each in exercise.mistakes if each.name == mistake)
    reference = lesson.reference_answer(name)
    groups = draw_groups(exercise, reference, 7)
    # As a tutor keeps them.
    runs = judge_groups(exercise, groups, caller_of(answer), 7).without_answers().results
    assert all(each.value is None for run in runs for each in run.answers)
    return smallest_difference(exercise, reference, runs, caller_of(answer))


@pytest.mark.parametrize(
    ("name", "mistake", "shape"),
    [
        ("softmax", "over_the_first_dimension", (2, 1)),
        ("softmax", "sum_without_its_dimension", (2, 1)),
        ("split_heads", "view_without_transpose", (1, 2, 2)),
        ("split_heads", "interleaved", (1, 1, 4)),
    ],
)
def test_it_can_be_followed_by_hand(name, mistake, shape):
    found = smallest(name, mistake)
    given = found.case.args[0]
    assert given.shape == shape
    assert torch.equal(given, given.round()) and given.abs().max() <= 3


def test_a_layer_is_small_and_so_are_its_weights():
    found = smallest("MultiHeadAttention", "MaskReachesOneHead")
    assert found.case.build.args == (2, 2)  # one head could not show it
    state = found.case.build.state
    assert {tuple(each.shape) for name, each in state.items() if "heads" in name} == {(1, 2)}
    assert all(torch.equal(each, each.round()) for each in state.values())


def test_what_only_large_numbers_show_keeps_them():
    found = smallest("softmax", "nothing_subtracted")
    assert found.case.args[0].numel() == 1 and found.case.args[0].abs().max() > 80
    assert found.answer.value.isnan().all()


@pytest.mark.parametrize(("name", "least"), [("softmax", 0.9), ("masked_softmax", 0.85), ("causal_mask", 1)])
def test_most_mistakes_have_one(name, least):
    """What only gradients or large numbers show has none that is small."""
    _, exercise = COURSE.exercise(name)
    found = [smallest(name, mistake.name) for mistake in exercise.mistakes]
    assert sum(each is not None for each in found) / len(found) >= least
    for each in filter(None, found):
        sizes = [size for arg in each.case.args if kind_of(arg) is not None for size in arg.shape]
        assert max(sizes, default=0) <= 4


@pytest.mark.parametrize(
    ("name", "mistake"), [("rotate", "halves_for_pairs"), ("rotate_halves", "pairs_for_halves")]
)
def test_linked_sizes_shrink_together(name, mistake):
    found = smallest(name, mistake)
    vectors, angles = found.case.args
    assert vectors.shape[-1] == 2 * angles.shape[-1]


def test_a_number_is_shown_with_its_type():
    lesson, exercise = COURSE.exercise("cache_bytes")
    found = smallest("cache_bytes", "a_float")
    (part,) = show_case(exercise, lesson.reference_answer("cache_bytes"), found)
    assert re.search(r"# yours\n(\d+)  # a Python float\n\n# right\n\1  # an int$", part.text)


# ---- a question in words: its model answer comes after one's own ----

QUESTION = "why_the_root"
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.mark.parametrize(
    ("saved", "shown"),
    [
        (None, "write your own answer into its cell first"),
        ("YOUR ANSWER HERE", "write your own answer into its cell first"),
        ("The variances of the products add up, and the spread grows as the root of the width.", "Because."),
    ],
)
def test_first_ones_own_words(tmp_path, saved, shown):
    cell = {"cell_type": "markdown", "metadata": {"nbgrader": {"grade_id": QUESTION}}, "source": [saved]}
    if saved is not None:
        (tmp_path / "scaling.ipynb").write_text(json.dumps({"cells": [cell]}))

    def converse(request):
        return Help(parts=[Part("markdown", "Because.", "A model answer")]), []

    assert shown in repr(WrittenAnswer(QUESTION, tmp_path, converse))


def test_the_course_shows_nothing_in_tex():
    """Each model answer has questions to ask one's own text; hints are shown without TeX, too."""
    written, texts = {}, []
    for lesson in material_of(COURSE).assignments.values():
        for name in lesson.names:
            texts += [text for _, text in lesson.hints(name)]
            if (question := lesson.written(name)) is not None:
                written[name] = question
                texts += [question.model_answer, question.scheme]
    assert set(written) == {
        *("why_the_root", "second_head", "order", "serving", "why_turn", "two_numbers", "fewer_keys")
    }
    for question in written.values():
        assert len(question.model_answer.split()) > 50 and "?**" in question.scheme
    assert len(texts) > 100 and any("$" in text for text in texts)
    shown = [CODE.sub("", markdown_part(text, "").text) for text in texts]
    assert not [text for text in shown if re.search(r"\$|\\[a-zA-Z]", text)]
