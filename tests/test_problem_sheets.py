"""Problem sheets and the interview page: a number in a solution is given above it, or computed beside it.

Below a solution is an HTML comment that no reader sees. Its lines are Python; a line that begins with `=`
holds, in their order, the values of all numbers of the solution that its problem does not give.
"""

import contextlib
import io
import math
import re
from fractions import Fraction

import pytest
import torch
from lesson_cells import COURSE, LESSONS, answer_cells
from test_lesson_form import squeezed, telling_lines

from nbjudge.course import read_notebook

FOLDER = COURSE.folders.source / "00_start_here"
SHEETS, INTERVIEW = sorted(FOLDER.glob("sheet_*.md")), FOLDER / "interview.md"
PROBLEM = re.compile(r"^### (\d+) · (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SOLUTION = re.compile(
    r"<details>\n<summary>(?:Solution|Answer) (\d+)</summary>\n\n(.*?)\n*"
    r"(?:<!-- check\n(.*?)-->\n\n)?</details>",
    re.DOTALL,
)
LONG_TASK = re.compile(r"^## The long task\n(.*?)^## ", re.MULTILINE | re.DOTALL)
LONG_SOLUTION = re.compile(
    SOLUTION.pattern.replace(r"(?:Solution|Answer) (\d+)", "Solution of the (long) task"), re.DOTALL
)
# Links, and names such as lesson 3 or exercise 2.1, hold numbers that are none.
NAMES = re.compile(r"\]\([^)]*\)|\b(?:lesson|problem|exercise)s? \d+(?:\.\d+)?(?: and \d+)?", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.,])−?\d+(?:,\d{3})*(?:\.\d+)?(?![A-Za-z_\d])")
TERM = r"(?:\d+(?:,\d{3})*(?:\.\d+)?|ln |sin |cos |[√π()·/+−²% ])"
EQUATION = re.compile(rf"(?<![\w^.,(/…ᵀ₀-₉])(?<![·+−/…] )(?=\d|\(|√|ln |sin |cos |−\d){TERM}+(?:={TERM}+)+")
BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)  # an answer
CHECK = re.compile(r"<!-- check\n(.*?)-->", re.DOTALL)
PLAIN = {0.0, 1.0, 2.0}  # too common to be looked for
KINDS = ("Pencil", "Shapes", "Cost", "One of four", "Proof")

WITHOUT_MODEL_SOLUTION = {"sheet_07_08", "sheet_13_14"}  # it is still to be written

every_sheet = pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
every_page = pytest.mark.parametrize("page", [*SHEETS, INTERVIEW], ids=lambda page: page.stem)


def problems(page):
    """Return by number: the heading and text of each problem, its solution, and what computes the numbers."""
    text = page.read_text("utf-8")
    asked = {number: f"{title}\n{rest}" for number, title, rest in PROBLEM.findall(text)}
    solved = {number: (solution, code) for number, solution, code in SOLUTION.findall(text)}
    assert list(asked) == list(solved) == [str(number) for number in range(1, 13)]
    return {number: (SOLUTION.sub("", asked[number]), *solved[number]) for number in asked}


def numbers(text):
    return [found.replace(",", "").replace("−", "-") for found in NUMBER.findall(NAMES.sub("", text))]


def printed(folder, cell_id, number):
    """Return a number that a cell of a lesson prints, or a stored table shows."""
    (lesson,) = [lesson for lesson in LESSONS if lesson.folder.startswith(folder)]
    (cell,) = [cell for cell in read_notebook(lesson.solution_path).cells if cell.id == cell_id]
    texts = [output.get("text") or output["data"].get("text/plain", "") for output in cell.outputs]
    assert str(number) in numbers("\n".join(texts)), f"{lesson.folder}, {cell_id} does not print {number}"
    return float(number)


def ratio(value):
    """Numerator and denominator of what is a fraction up to rounding."""
    return Fraction(float(value)).limit_denominator(1000).as_integer_ratio()


def computed(code):
    """Run what is beside a solution; the values of its lines that begin with `=`."""
    names = {**vars(math), "torch": torch, "tensor": torch.tensor, "printed": printed, "ratio": ratio}
    values, statements = [], ""
    with contextlib.redirect_stdout(io.StringIO()):
        for line in code.splitlines():
            if line.startswith("= "):
                exec(statements, names)
                statements = ""
                values += torch.tensor(eval(f"[{line[2:]}]", names), dtype=torch.float64).tolist()
            else:
                statements += line + "\n"
        exec(statements, names)
    return values


def is_written(value, number):
    """Whether a number is the value, rounded to as many decimals as it is written with."""
    decimals = len(number.partition(".")[2])
    return abs(value - float(number)) <= (0.5 * 10**-decimals * (1 + 1e-6) if decimals else 1e-6)


def sides(equation):
    """Return the sides of an equation in a text, `3 · 4² = 48`, each as written and as a value."""
    for side in equation.split("="):
        code = side.strip().translate(str.maketrans({"·": "*", "−": "-", ",": "", "²": "**2", "π": "*pi"}))
        code = re.sub(r" %$", "/100", code.replace("√", "sqrt ").replace("ln ", "log "))
        code = re.sub(r"(log|sqrt|sin|cos) ([\d.]+)", r"\1(\2)", code)
        yield side.replace(",", "").replace("−", "-").strip(), eval(code, vars(math).copy())


def check_numbers(where, text, solution, code):
    """Each number of a solution is given in the text of its problem, or computed by the code beside it."""
    given = PLAIN | set(map(float, numbers(text)))
    new = [number for number in dict.fromkeys(numbers(solution)) if float(number) not in given]
    known = given & set(map(float, numbers(solution)))
    values = computed(code)
    for answer in numbers(" ".join(BOLD.findall(solution.split("\nTempting")[0]))):
        assert any(is_written(value, answer) for value in values), (where, answer)
    values = [v for v in values if not any(abs(v - number) < 1e-9 for number in known)]
    assert len(new) == len(values) and all(map(is_written, values, new)), (
        f"{where} has the numbers {new}, and computed are {values}."
    )


@every_page
def test_every_equation_holds(page):
    for problem, (_, solution, _) in problems(page).items():
        found = EQUATION.findall(solution.replace("**", ""))
        for equation in (each for each in found if each.count("(") == each.count(")")):
            (_, first), *others = sides(equation)
            for written, value in others:
                is_number = re.fullmatch(r"-?[\d.]+", written)
                holds = is_written(first, written) if is_number else math.isclose(first, value, abs_tol=1e-9)
                assert holds, f"{page.name}, solution {problem}: {equation}"


@every_page
def test_every_number_is_given_or_computed(page):
    for problem, (text, solution, code) in problems(page).items():
        check_numbers(f"{page.name}, solution {problem}", text, solution, code)


@every_sheet
def test_the_long_task_has_a_model_solution(sheet):
    """Its numbers are those of the task, or computed below it."""
    text = sheet.read_text("utf-8")
    (task,) = LONG_TASK.findall(text)
    for check in CHECK.findall(task):
        computed(check)
    if sheet.stem in WITHOUT_MODEL_SOLUTION:
        assert not LONG_SOLUTION.findall(text)
        return
    ((_, solution, code),) = LONG_SOLUTION.findall(text)
    assert text.index("<summary>Solution 12<") < text.index("<summary>Solution of the long task<")
    check_numbers(f"{sheet.name}, the long task", CHECK.sub("", task), solution, code)


@every_sheet
def test_a_sheet_has_every_kind_and_two_wrong_answers(sheet):
    found = problems(sheet)
    kinds = [re.search(rf"^\*({'|'.join(KINDS)}) · ", text, re.MULTILINE)[1] for text, *_ in found.values()]
    assert set(kinds) == set(KINDS) and kinds.count("Proof") == 1
    for problem, (_, solution, _) in found.items():
        _, wrong = solution.split("\nTempting, and wrong:\n")
        assert len(re.findall(r"^- \*\*\S", wrong, re.MULTILINE)) == 2, (sheet.name, problem)
    text = sheet.read_text("utf-8")
    assert text.index("## The long task") < text.index("## Solutions") < text.index("<details>")
    (task,) = re.findall(r"^## The long task\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert "You are done when" in task and "hint" not in task.lower()


@every_page
def test_no_page_shows_an_exercises_solution(page):
    text = squeezed(page.read_text("utf-8"))
    for lesson in LESSONS:
        for name, cell in answer_cells(read_notebook(lesson.source_path)).items():
            for line in telling_lines(cell.source):
                assert squeezed(line) not in text, f"`{line}` of `{name}` is on {page.name}."


@pytest.mark.lesson
def test_every_lesson_has_a_sheet_and_links_to_it():
    for lesson in LESSONS:
        address = f"(../{lesson.folder}/{lesson.name}.ipynb"
        (sheet,) = [sheet for sheet in SHEETS if lesson.folder[:2] in sheet.stem.split("_")]
        assert address in sheet.read_text("utf-8")
        is_linked = f"(../00_start_here/{sheet.name})" in lesson.source_path.read_text("utf-8")
        assert is_linked, lesson.folder


def test_an_interview_answer_takes_a_minute():
    for number, (_, answer, _) in problems(INTERVIEW).items():
        assert 90 <= len(answer.split()) <= 190 and "(../" in answer, number
