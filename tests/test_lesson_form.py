"""The lessons have one form: what the first paragraph promises, how hints are named, how lessons close."""

from __future__ import annotations

import ast
import re

import pytest
from lesson_lengths import RANGE, code_words, minutes, sittings, words
from test_lesson_prose import DETAILS, EXERCISE_HEADING, every_lesson

from nbjudge.course.loading import read_notebook

pytestmark = pytest.mark.lesson
PROMISE = re.compile(r"\bAt\s+the\s+end\s+you\s+can\b")
OFF = 4  # minutes, between what a lesson says and what is counted
LONGEST_PATH, LONGEST_WITH_CODE, MOST_PREDICTIONS = 2200, 3000, 5  # words, words and code, questions
READ = "read “The notebook” in docs/writing-a-lesson.md"
CLOSING = ["What you now have", "Test yourself", "Where to read more"]


def markdown_of(lesson):
    return [c.source for c in read_notebook(lesson.source_path).cells if c.cell_type == "markdown"]


@every_lesson
def test_the_first_paragraph_promises_and_the_last_sections_keep(lesson):
    first, *others = markdown_of(lesson)
    assert len(PROMISE.findall(first)) == 1 and len(RANGE.findall(first)) == 1, (
        f"The first cell says once “At the end you can …” and once “N to M minutes”: {READ}."
    )
    text = "\n".join([first, *others])
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[-3:] == CLOSING, (
        f"The last headings are {', '.join(CLOSING)}: {READ}."
    )
    questions, _, answers = text.split("## Test yourself")[1].partition("<details>")
    question_numbers = re.findall(r"^(\d)\. ", questions, re.MULTILINE)
    answered = re.findall(r"<summary>(Answer \d)</summary>", answers)
    message = f"“Test yourself” has three numbered questions, and below them Answer 1 to 3, folded: {READ}."
    assert question_numbers == ["1", "2", "3"] and answered == [f"Answer {n}" for n in (1, 2, 3)], message


@every_lesson
def test_the_path_is_short_and_the_excursions_are_by_themselves(lesson):
    notebook = read_notebook(lesson.source_path)
    counted = words(notebook)
    assert counted["path"] <= LONGEST_PATH, (
        f"The path has {counted['path']} words, {LONGEST_PATH} at most: shorten it, or make an excursion."
    )
    ids = [cell.id for cell in notebook.cells]
    assert "excursions" in ids, (
        f"A Markdown cell with the id `excursions` is missing, directly after `one-page`: {READ}."
    )
    begin = ids.index("excursions")
    assert notebook.cells[begin].metadata == {"jp-MarkdownHeadingCollapsed": True}, (
        f'The cell `excursions` has the metadata {{"jp-MarkdownHeadingCollapsed": true}} alone: {READ}.'
    )
    ends = (
        place
        for place, cell in enumerate(notebook.cells)
        if place > begin and re.search(r"^## ", cell.source, re.MULTILINE) and cell.cell_type == "markdown"
    )
    end = next(ends, -1)
    assert "## What you now have" in notebook.cells[end].source, (
        f"The first heading of two # behind the excursions is “What you now have”: {READ}."
    )
    headings = [
        line
        for cell in notebook.cells[begin + 1 : end]
        if cell.cell_type == "markdown"
        for line in re.findall(r"^#+ .*", cell.source, re.MULTILINE)
    ]
    assert headings and all(re.fullmatch(r"### .+ · about \d+ minutes", line) for line in headings), (
        "Each heading between `excursions` and “What you now have” is `### Title · about N minutes`, and "
        f"there is one at least, not {headings}: {READ}."
    )
    bound = [names_of(cell, bound=True) for cell in notebook.cells]
    only_there = set().union(*bound[begin:end]) - set().union(*bound[:begin])
    for cell, own in zip(notebook.cells[end:], bound[end:], strict=True):
        used = names_of(cell, bound=False) & only_there - own
        assert not used, (
            f"The cell `{cell.id}` uses {', '.join(sorted(used))}, which only an excursion defines: {READ}."
        )


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
def test_the_minutes_are_those_of_its_words_code_and_exercises(lesson):
    notebook = read_notebook(lesson.source_path)
    low, high = map(int, RANGE.search(notebook.cells[0].source).groups())
    counted = minutes(notebook)
    assert abs(low - counted) <= OFF and 1.25 * low <= high <= 1.5 * low, (
        f"The first cell says {low} to {high} minutes, and {counted:.0f} are counted: "
        f"begin with a number that is at most {OFF} off, and end a quarter to a half above it."
    )


@every_lesson
def test_the_path_with_its_code_is_short_and_asks_for_few_predictions(lesson):
    notebook = read_notebook(lesson.source_path)
    length = words(notebook)["path"] + code_words(notebook)
    assert length <= LONGEST_WITH_CODE, f"{length} words with the code, {LONGEST_WITH_CODE} at most: {READ}."
    predictions = len(re.findall(r"\*\*Before you ", "\n".join(markdown_of(lesson))))
    assert predictions <= MOST_PREDICTIONS, f"{predictions} predictions, {MOST_PREDICTIONS} at most: {READ}."


@every_lesson
def test_no_one_sits_for_more_than_an_hour_and_two_sittings_are_announced(lesson):
    notebook = read_notebook(lesson.source_path)
    title = " ".join(notebook.cells[0].source.split())
    each = [minutes(sitting) for sitting in sittings(notebook)]
    counted = " and ".join(f"{sitting:.0f}" for sitting in each)
    assert len(each) == (2 if "in two sittings" in title else 1), (
        "Where the first cell says “in two sittings”, and only there, one further cell says “*Here the "
        f"second sitting begins. …*”; {len(each)} are counted: {READ}."
    )
    assert all(20 <= sitting <= 60 + OFF for sitting in each), (
        f"A sitting takes 20 to 60 minutes, and {counted} are counted. Shorter ones need another exercise, "
        f"longer ones an excursion or a second sitting: {READ}."
    )


@every_lesson
def test_hints_are_numbered_and_say_what_they_are_for(lesson):
    for source in markdown_of(lesson):
        for _, place, _ in EXERCISE_HEADING.findall(source):
            text = source[re.search(rf"^## Exercise \d+\.{place} ", source, re.MULTILINE).start() :]
            names = [name for name, _ in DETAILS.findall(text)]
            assert all(re.fullmatch(rf"Hint {n} · \S.*", name) for n, name in enumerate(names, 1)), (
                f"Hints are called “Hint 1 · a nudge” and so on, in their order, not {names}: {READ}."
            )


@every_lesson
def test_what_may_not_be_used_is_said_in_one_way(lesson):
    text = "\n".join(markdown_of(lesson))
    for name, exercise in lesson.exercises.items():
        assert f"· `{name}`" in text, f"The heading “## Exercise N.M · `{name}`” is missing: {READ}."
        part = text[text.index(f"· `{name}`") :]
        if exercise.not_allowed:
            assert "Not allowed: " in part[: part.index("<details>")], (
                f"The checks of `{name}` forbid something: say so above its hints, in a line that begins "
                f"“Not allowed: ”; {READ}."
            )
