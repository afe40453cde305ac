"""The lessons have one form: what the first paragraph promises, how hints are named, how lessons close."""

from __future__ import annotations

import re

import pytest
from test_lesson_prose import DETAILS, EXERCISE_HEADING, every_lesson

from nbjudge.course.notebooks import read_notebook

pytestmark = pytest.mark.lesson
PROMISE = re.compile(r"\bAt\s+the\s+end\s+you\s+can\b")
LENGTH = re.compile(r"\bAbout\s+\d+\s+minutes\b")
CLOSING = ["What you now have", "Test yourself", "Where to read more"]


def markdown_of(lesson):
    return [c.source for c in read_notebook(lesson.source_path).cells if c.cell_type == "markdown"]


@every_lesson
def test_the_first_paragraph_promises_and_the_last_sections_keep(lesson):
    first, *others = markdown_of(lesson)
    assert len(PROMISE.findall(first)) == 1 and len(LENGTH.findall(first)) == 1
    text = "\n".join([first, *others])
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[-3:] == CLOSING
    questions, answers = text.split("## Test yourself")[1].split("<details>", 1)
    assert re.findall(r"^(\d)\. ", questions, re.MULTILINE) == ["1", "2", "3"]
    assert re.findall(r"<summary>(Answer \d)</summary>", answers) == [f"Answer {n}" for n in (1, 2, 3)]


@every_lesson
def test_hints_are_numbered_and_say_what_they_are_for(lesson):
    for source in markdown_of(lesson):
        for _, place, _ in EXERCISE_HEADING.findall(source):
            text = source[re.search(rf"^## Exercise \d+\.{place} ", source, re.MULTILINE).start() :]
            names = [name for name, _ in DETAILS.findall(text)]
            assert all(re.fullmatch(rf"Hint {n} · \S.*", name) for n, name in enumerate(names, 1)), names


@every_lesson
def test_what_may_not_be_used_is_said_in_one_way(lesson):
    text = "\n".join(markdown_of(lesson))
    for name, exercise in lesson.exercises.items():
        part = text[text.index(f"· `{name}`") :]
        if exercise.not_allowed:
            assert "Not allowed: " in part[: part.index("<details>")], name
