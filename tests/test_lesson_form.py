"""The lessons have one form: their headings, promises, exercises, hints, pictures, links and lengths."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest
from lesson_cells import LESSONS, SCHEME, SOLUTION, every_lesson, every_notebook
from lesson_lengths import RANGE, code_words, minutes, sittings, words

from nbjudge.course.loading import read_notebook

pytestmark = pytest.mark.lesson
EXERCISE_HEADING = re.compile(r"^## Exercise (\d+)\.(\d+) · `(\w+)`$", re.MULTILINE)
FACTS_LINE = re.compile(
    r"^Difficulty ●{1,3}○{0,2} · Importance ●{1,3}○{0,2} · about \d+ minutes$", re.MULTILINE
)
DETAILS = re.compile(r"<details>\s*<summary>(.+?)</summary>(.*?)</details>", re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
LONGEST_WARM_UP = 60  # words of an exercise without hints
SHOWS = re.compile(r"\bplt\.show\(\)|^\w+_(slider|stepper)\(", re.MULTILINE)
READ = "read “The notebook” in docs/writing-a-lesson.md"
LESSON_LINK = re.compile(r"\]\(\.\./((\d\d)_\w+)/(\w+)\.ipynb\)")
PROMISE = re.compile(r"\bAt\s+the\s+end\s+you\s+can\b")
OFF = 4  # minutes, between what a lesson says and what is counted
LONGEST_PATH, LONGEST_WITH_CODE, MOST_PREDICTIONS = 2200, 3000, 5  # words, words and code, questions
CLOSING = ["What you now have", "Test yourself", "Where to read more"]


def lesson_number(lesson):
    return int(lesson.folder.split("_")[0])


@every_notebook
def test_headings_are_one_title_and_no_skipped_level(lesson):
    cells = read_notebook(lesson.source_path).cells
    text = "\n".join(SCHEME.sub("", cell.source) for cell in cells if cell.cell_type == "markdown")
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert levels and levels[0] == 1 and levels.count(1) == 1, (
        f"The first heading is the title, `# N · Title`, and the only one of one #: {READ}."
    )
    assert all(deeper <= level + 1 for level, deeper in zip(levels, levels[1:], strict=False)), (
        f"A heading is at most one # deeper than the one before it; in their order they have {levels}."
    )


@every_lesson
def test_every_exercise_is_announced_with_its_effort_and_has_hints_unless_it_is_a_warm_up(lesson):
    notebook = read_notebook(lesson.source_path)
    announced = []
    for position, cell in enumerate(notebook.cells):
        for number, place, name in EXERCISE_HEADING.findall(cell.source):
            announced.append(name)
            assert (int(number), int(place)) == (lesson_number(lesson), len(announced)), (
                f"Exercise {number}.{place}, `{name}`, should be {lesson_number(lesson)}.{len(announced)}: "
                "the lesson's number, and the exercise's place in it."
            )
            text = cell.source[cell.source.index(f"## Exercise {number}.{place}") :]
            assert len(FACTS_LINE.findall(text)) == 1, (
                f"Under the heading of `{name}` is a line such as “Difficulty ●●○ · Importance ●●● "
                f"· about 6 minutes”: {READ}."
            )
            hints = DETAILS.findall(text)
            if not hints and "Difficulty ●○○" in text:
                statement = FORMULA.sub(" ", FACTS_LINE.split(text)[1])
                length = len(re.findall(r"[\w’']+", statement))
                assert length <= LONGEST_WARM_UP, (
                    f"`{name}` has no hints, so it is a warm-up, of {LONGEST_WARM_UP} words at most. It has "
                    f"{length}: shorten it, or give it hints; {READ}."
                )
            else:
                assert len(hints) >= 2, (
                    f"`{name}` has {len(hints)} hints and needs two, or none if it is a warm-up (Difficulty "
                    f"●○○): {READ}."
                )
            assert all("Hint" in summary and body.strip() for summary, body in hints), (
                f"Each <details> of `{name}` is a hint, “Hint 1 · a nudge”, with words in it: {READ}."
            )
            following = [after.id for after in notebook.cells[position + 1 : position + 3]]
            assert following == [name, f"test_{name}"], (
                f"Under the text of `{name}` come the cells `{name}` and `test_{name}`, not {following}."
            )
    assert sorted(announced) == sorted(lesson.exercises), (
        f"The notebook has headings of {sorted(announced)}, the checks have {sorted(lesson.exercises)}: give "
        f"each exercise a heading “## Exercise N.M · `NAME`”; {READ}."
    )


@every_lesson
def test_no_hint_holds_the_whole_solution(lesson):
    notebook = read_notebook(lesson.source_path)
    answers = {cell.id: cell.source for cell in notebook.cells}
    for cell in notebook.cells:
        for _, _, name in EXERCISE_HEADING.findall(cell.source):
            hints = squeezed(" ".join(body for _, body in DETAILS.findall(cell.source)))
            for solution in SOLUTION.findall(answers[name]):
                assert squeezed(bare_code(solution)) not in hints, (
                    f"A hint of `{name}` is the whole solution: the last one is nearly the answer; {READ}."
                )


def bare_code(solution):
    """The code of a solution as a hint would give it away: no comments, no `return` in front."""
    body = ast.unparse(ast.parse(f"def answer():\n{solution}")).split("\n", 1)[1]
    return re.sub(r"^return ", "", textwrap.dedent(body), flags=re.MULTILINE)


def squeezed(text):
    return re.sub(r"\s+", "", text)


@every_notebook
def test_a_formula_in_a_quote_has_one_line(lesson):
    for cell in read_notebook(lesson.source_path).cells:
        if cell.cell_type == "markdown":
            assert not any("\n>" in formula for formula in FORMULA.findall(cell.source)), (
                f"The cell `{cell.id}` has a formula of several lines in a quote, and JupyterLab shows the > "
                f"of the second line inside the formula: write it in one line; {READ}."
            )


@every_notebook
def test_a_picture_or_slider_has_prose_beside_it(lesson):
    cells = read_notebook(lesson.source_path).cells
    for position, cell in enumerate(cells):
        if cell.cell_type != "code" or not SHOWS.search(cell.source):
            continue
        neighbours = [neighbour for neighbour in cells[position - 1 : position + 2] if neighbour is not cell]
        paragraphs = [
            paragraph
            for neighbour in neighbours
            if neighbour.cell_type == "markdown"
            for paragraph in neighbour.source.split("\n\n")
            if not paragraph.startswith(("#", "|", "$", "<", "!"))
        ]
        assert any(re.search(r"\w[.?!:]\W*(\s|$)", paragraph) for paragraph in paragraphs), (
            f"There is no sentence in the cell before or behind `{cell.id}`: say what it shows; {READ}."
        )


@every_notebook
def test_links_lead_to_lessons_that_exist_or_to_the_announced_next_one(lesson):
    existing = {(each.folder, each.name) for each in LESSONS}
    last = max(map(lesson_number, LESSONS))
    for cell in read_notebook(lesson.source_path).cells:
        for folder, number, name in LESSON_LINK.findall(cell.source):
            assert (folder, name) in existing or int(number) == last + 1, (
                f"The cell `{cell.id}` links to {folder}/{name}.ipynb, and there is no such lesson."
            )


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
