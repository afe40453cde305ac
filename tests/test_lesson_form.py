"""The lessons have one form: their headings, promises, exercises, hints, pictures, links and lengths."""

import ast
import re

import pytest
from lesson_cells import (
    LESSONS,
    SCHEME,
    SOLUTION,
    answer_cells,
    every_lesson,
    every_notebook,
    release_of,
)
from lesson_lengths import DEEPER, RANGES, core_path, minutes, words

from nbjudge.course import read_notebook

pytestmark = pytest.mark.lesson
EXERCISE_HEADING = re.compile(r"^##+ Exercise (\d+)\.(\d+) · `(\w+)`$", re.MULTILINE)
FACTS_LINE = re.compile(
    r"^Difficulty ●{1,3}○{0,2} · Importance ●{1,3}○{0,2} · about \d+ minutes$", re.MULTILINE
)
DETAILS = re.compile(r"<details>\s*<summary>(.+?)</summary>(.*?)</details>", re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
SHORTEST_TELLING = 16  # letters: what is shorter, such as `return weights`, tells nothing
# Lines of solutions that a lesson may show before, because they are an earlier lesson's or no answer.
ALSO_ABOVE: dict[str, tuple[str, ...]] = {}
LONGEST_WARM_UP = 60  # words of an exercise without hints
SHOWS = re.compile(r"\bplt\.show\(\)|^\w+_(slider|stepper)\(", re.MULTILINE)
READ = "read “The notebook” in docs/writing-a-lesson.md"
LESSON_LINK = re.compile(r"\]\(\.\./((\d\d)_\w+)/(\w+)\.ipynb\)")
PROMISE = re.compile(r"\bAfter\s+the\s+core\s+path\b")
OFF = 4  # minutes, between what a lesson says and what is counted
LONGEST_CORE, LONGEST_CORE_MINUTES = 1500, 25  # words with their code
LONGEST_LESSON = 3800  # words with their code
MOST_IN_CORE, MOST_PREDICTIONS = 3, 5
# Headings of two #, in this order, with others before the first.
PARTS = [
    "Test yourself", "You may stop here", "Practice", "Deeper", "What you now have", "Where to read more"
]  # fmt: skip
CELLS_OF_PARTS = ["core-end", "practice", "excursions", "end", "one-page-text", "one-page", "read-more"]


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
def test_every_exercise_has_effort_and_hints(lesson):
    notebook = read_notebook(lesson.source_path)
    announced = []
    for position, cell in enumerate(notebook.cells):
        for number, place, name in EXERCISE_HEADING.findall(cell.source):
            announced.append(name)
            assert (int(number), int(place)) == (lesson_number(lesson), len(announced)), (
                f"Exercise {number}.{place}, `{name}`, should be {lesson_number(lesson)}.{len(announced)}: "
                "the lesson's number, and the exercise's place in it."
            )
            text = cell.source[cell.source.index(f"# Exercise {number}.{place}") :]
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
            assert all(
                re.fullmatch(rf"Hint {n} · \S.*", summary) and body.strip()
                for n, (summary, body) in enumerate(hints, 1)
            ), f"Each <details> of `{name}` is a hint, “Hint 1 · a nudge” and so on, with words: {READ}."
            following = [after.id for after in notebook.cells[position + 1 : position + 3]]
            assert following == [name, f"test_{name}"], (
                f"Under the text of `{name}` come the cells `{name}` and `test_{name}`, not {following}."
            )
    assert sorted(announced) == sorted(lesson.exercises), (
        f"The notebook has headings of {sorted(announced)}, the checks have {sorted(lesson.exercises)}: give "
        f"each exercise a heading “## Exercise N.M · `NAME`”; {READ}."
    )


@every_lesson
def test_no_answer_is_above_its_exercise(lesson):
    """No line of a solution is in the released notebook before its check, hints and folded text included."""
    source, released = read_notebook(lesson.source_path), release_of(lesson)
    ids = [cell.id for cell in released.cells]
    for name, cell in answer_cells(source).items():
        above = squeezed("\n".join(c.source for c in released.cells[: ids.index(f"test_{name}")]))
        for line in telling_lines(cell.source):
            assert squeezed(line) not in above or line in ALSO_ABOVE.get(name, ()), (
                f"`{line}` of `{name}` is above its exercise: name steps and shapes instead; {READ}."
            )


def telling_lines(source):
    """The lines of a solution that give it away, without comments, `return` and the docstring's names."""
    for solution in SOLUTION.findall(source):
        tree = ast.parse(f"def answer():\n{solution}" if solution.startswith(" ") else solution)
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and not isinstance(
                node, (ast.FunctionDef, ast.ClassDef, ast.Raise)
            ):
                first = ast.unparse(node).split("\n")[0]
                line = re.sub(r"^return ", "", first)
                if len(line) >= SHORTEST_TELLING and not line.startswith("super().__init__"):
                    yield line


def squeezed(text):
    return re.sub(r"\s+", "", text).replace("'", '"')


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
def test_links_lead_to_lessons_that_exist(lesson):
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
def test_the_first_cell_promises_without_code(lesson):
    first, *_ = markdown_of(lesson)
    assert len(PROMISE.findall(first)) == 1 and len(RANGES.findall(first)) == 1, (
        "The first cell says once “After the core path you can …” and once “Core path: N to M minutes · "
        f"whole lesson: N to M minutes · builds on …”: {READ}."
    )
    assert "```" not in first, f"The first cell shows code, and so the answer; {READ}."


@every_lesson
def test_the_parts_of_a_lesson_are_in_order(lesson):
    """A core path with its questions, “You may stop here”, then practice, deeper parts and the whole code."""
    text = "\n".join(markdown_of(lesson))
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[-len(PARTS) :] == PARTS, f"The last headings are {', '.join(PARTS)}: {READ}."
    questions, _, answers = text.split("## Test yourself")[1].partition("<details>")
    numbers = re.findall(r"^(\d)\. ", questions, re.MULTILINE)
    answered = re.findall(r"<summary>(Answer \d)</summary>", answers)
    assert numbers == ["1", "2", "3"] and answered == [f"Answer {n}" for n in (1, 2, 3)], (
        f"“Test yourself” has three numbered questions, and below them Answer 1 to 3, folded: {READ}."
    )
    cells = read_notebook(lesson.source_path).cells
    ids = [cell.id for cell in cells]
    assert [name for name in ids if name in CELLS_OF_PARTS] == CELLS_OF_PARTS, (
        f"The cells {', '.join(CELLS_OF_PARTS)} come in this order: {READ}."
    )
    assert "| how we know it |" in cells[ids.index("end")].source, (
        f"The cell `end` has the table “claim | how we know it”: {READ}."
    )


@every_lesson
def test_nothing_needs_what_only_a_deeper_part_defines(lesson):
    notebook = read_notebook(lesson.source_path)
    ids = [cell.id for cell in notebook.cells]
    begin, end = ids.index("excursions"), ids.index("end")
    assert notebook.cells[begin].metadata == {"jp-MarkdownHeadingCollapsed": True}, (
        f'The cell `excursions` has the metadata {{"jp-MarkdownHeadingCollapsed": true}} alone: {READ}.'
    )
    deeper = "\n".join(c.source for c in notebook.cells[begin + 1 : end] if c.cell_type == "markdown")
    headings = re.findall(r"^#+ .*", deeper, re.MULTILINE)
    assert headings and len(headings) == len(DEEPER.findall(deeper)), (
        f"Each heading of “Deeper” is `### Title · about N minutes`, not {headings}: {READ}."
    )
    bound = [names_of(cell, bound=True) for cell in notebook.cells]
    only_there = set().union(*bound[begin:end]) - set().union(*bound[:begin])
    for cell, own in zip(notebook.cells[end:], bound[end:], strict=True):
        used = names_of(cell, bound=False) & only_there - own
        assert not used, (
            f"The cell `{cell.id}` uses {', '.join(sorted(used))}, which only “Deeper” defines: {READ}."
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
def test_the_minutes_are_those_counted(lesson):
    notebook = read_notebook(lesson.source_path)
    ranges = [int(number) for number in RANGES.search(notebook.cells[0].source).groups()]
    for part, low, high in ((core_path(notebook), *ranges[:2]), (notebook, *ranges[2:])):
        counted = minutes(part)
        assert abs(low - counted) <= OFF + counted / 20 and 1.2 * low <= high <= 1.5 * low, (
            f"The first cell says {low} to {high} minutes, and {counted:.0f} are counted: "
            f"begin with a number that is at most {OFF} off, and end a quarter to a half above it."
        )
    assert ranges[0] <= LONGEST_CORE_MINUTES, f"The core path takes {LONGEST_CORE_MINUTES} minutes at most."


@every_lesson
def test_the_core_path_and_the_lesson_are_short(lesson):
    notebook = read_notebook(lesson.source_path)
    core, whole = sum(words(core_path(notebook))), sum(words(notebook))
    assert core <= LONGEST_CORE, f"The core path has {core} words with its code, {LONGEST_CORE} at most."
    assert whole <= LONGEST_LESSON, f"The lesson has {whole} words with its code, {LONGEST_LESSON} at most."
    for part, most in ((core_path(notebook), MOST_IN_CORE), (notebook, MOST_PREDICTIONS)):
        predictions = sum(len(re.findall(r"\*\*Before you ", cell.source)) for cell in part.cells)
        assert predictions <= most, f"{predictions} predictions, {most} at most: {READ}."


@every_lesson
def test_what_may_not_be_used_is_said_in_one_way(lesson):
    text = "\n".join(markdown_of(lesson))
    for name, exercise in lesson.exercises.items():
        part = text[text.index(f"· `{name}`") :]
        if exercise.not_allowed:
            assert "Not allowed: " in part[: part.index("<details>")], (
                f"The checks of `{name}` forbid something: say so above its hints, in a line that begins "
                f"“Not allowed: ”; {READ}."
            )
