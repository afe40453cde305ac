"""What a lesson says: its headings, exercises, hints, pictures and links."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook

COURSE = open_course(Path(__file__).parents[1])
NOTEBOOKS = list(COURSE.assignments.values())
LESSONS = [notebook for notebook in NOTEBOOKS if notebook.folder != "00_start_here"]  # that has no exercises
SOLUTION = re.compile(r"[ ]*### BEGIN SOLUTION\n(.*?)[ ]*### END SOLUTION", re.DOTALL)
SCHEME = re.compile(r"### BEGIN MARK SCHEME\n(.*?)### END MARK SCHEME", re.DOTALL)
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

pytestmark = pytest.mark.lesson
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
every_notebook = pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.name)


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
