"""The lessons have one form: what the first paragraph promises, how hints are named, how lessons close."""

from __future__ import annotations

import ast
import re

import pytest
from lesson_lengths import minutes, sittings, words
from test_lesson_prose import DETAILS, EXERCISE_HEADING, every_lesson

from nbjudge.course.notebooks import read_notebook

pytestmark = pytest.mark.lesson
PROMISE = re.compile(r"\bAt\s+the\s+end\s+you\s+can\b")
LENGTH = re.compile(r"\bAbout\s+\d+\s+minutes\b")
OFF = 4  # minutes, between what a lesson says and what is counted
LONGEST_PATH, LONGEST_CAPSTONE = 2200, 2800  # words
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
def test_the_path_is_short_and_the_excursions_stand_by_themselves(lesson):
    notebook = read_notebook(lesson.source_path)
    counted = words(notebook)
    assert counted["path"] <= (LONGEST_CAPSTONE if lesson.name == "text_classifier" else LONGEST_PATH), (
        counted
    )
    ids = [cell.id for cell in notebook.cells]
    begin = ids.index("excursions")
    assert notebook.cells[begin].metadata == {"jp-MarkdownHeadingCollapsed": True}
    end = next(
        place
        for place, cell in enumerate(notebook.cells)
        if place > begin and re.search(r"^## ", cell.source, re.MULTILINE) and cell.cell_type == "markdown"
    )
    assert "## What you now have" in notebook.cells[end].source
    headings = [
        line
        for cell in notebook.cells[begin + 1 : end]
        if cell.cell_type == "markdown"
        for line in re.findall(r"^#+ .*", cell.source, re.MULTILINE)
    ]
    assert headings and all(re.fullmatch(r"### .+ · about \d+ minutes", line) for line in headings), headings
    bound = [names_of(cell, bound=True) for cell in notebook.cells]
    only_there = set().union(*bound[begin:end]) - set().union(*bound[:begin])
    for cell, own in zip(notebook.cells[end:], bound[end:], strict=True):
        assert not names_of(cell, bound=False) & only_there - own, cell.id


def names_of(cell, bound):
    """The names that a code cell binds, at any depth; or those that it reads."""
    if cell.cell_type != "code":
        return set()
    names = set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) == bound:
            names.add(node.id)
        elif bound and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif bound and isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


@every_lesson
def test_the_minutes_are_those_of_its_words_exercises_and_figures(lesson):
    notebook = read_notebook(lesson.source_path)
    (said,) = re.findall(r"(\d+)\s+minutes", notebook.cells[0].source)
    assert abs(int(said) - minutes(notebook)) <= OFF, minutes(notebook)


@every_lesson
def test_nobody_sits_for_more_than_an_hour_and_two_sittings_are_announced(lesson):
    notebook = read_notebook(lesson.source_path)
    title = " ".join(notebook.cells[0].source.split())
    (said,) = re.findall(r"(\d+) minutes", title)
    each = [minutes(sitting) for sitting in sittings(notebook)]
    assert len(each) == (2 if "in two sittings" in title else 1), each
    assert 20 <= int(said) <= 60 * len(each) and all(20 <= length <= 60 + OFF for length in each), each


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
