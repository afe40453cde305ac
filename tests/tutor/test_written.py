"""A question in words: its model answer comes after one's own, with questions to ask one's own text."""

import json
import re

import pytest

from nbjudge.course.course import find_course
from nbjudge.tutor.help import markdown_part
from nbjudge.tutor.learner.result import WrittenAnswer
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import Help, Part

QUESTION = "why_the_root"
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.fixture
def lesson(tmp_path):
    return tmp_path


def save(lesson, text):
    cell = {"cell_type": "markdown", "metadata": {"nbgrader": {"grade_id": QUESTION}}, "source": [text]}
    (lesson / "scaling.ipynb").write_text(json.dumps({"cells": [cell]}))


def shown_text(lesson):
    def converse(request):
        return Help(parts=[Part("markdown", "Because.", "A model answer")]), []

    return repr(WrittenAnswer(QUESTION, lesson, converse))


def test_first_ones_own_words(lesson):
    assert "write your own answer into its cell first" in shown_text(lesson)
    save(lesson, "YOUR ANSWER HERE")
    assert "write your own answer into its cell first" in shown_text(lesson)
    save(lesson, "The variances of the products add up, and so the spread grows as the root of the width.")
    assert "Because." in shown_text(lesson)


def test_the_course_has_a_model_answer_and_questions_for_each(pytestconfig):
    material = material_of(find_course(pytestconfig.rootpath))
    found = {
        name: question
        for lesson in material.assignments.values()
        for name in lesson.names
        if (question := lesson.written(name)) is not None
    }
    assert set(found) == {"why_the_root", "second_head", "order", "serving", "why_turn", "two_numbers"}
    for question in found.values():
        assert len(question.model_answer.split()) > 50 and "?**" in question.scheme


def test_no_hint_and_no_model_answer_is_shown_with_tex(pytestconfig):
    material = material_of(find_course(pytestconfig.rootpath))
    texts = []
    for lesson in material.assignments.values():
        for name in lesson.names:
            texts += [text for _, text in lesson.hints(name)]
            if (question := lesson.written(name)) is not None:
                texts += [question.model_answer, question.scheme]
    assert len(texts) > 100 and any("$" in text for text in texts)
    shown = [CODE.sub("", markdown_part(text, "").text) for text in texts]
    assert not [text for text in shown if re.search(r"\$|\\[a-zA-Z]", text)]
