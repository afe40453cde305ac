"""A new exercise: text, answer cell and graded cell in the notebook, checks in a file of their own."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import nbformat

from nbjudge.course.course import Lesson
from nbjudge.course.notebooks import read_notebook
from nbjudge.errors import CourseError
from nbjudge.skeletons.lesson import CLOSING, marked_cell
from nbjudge.skeletons.vocabulary import Vocabulary, vocabulary_of

POINTS = 2
TEXT = """## Exercise {number} · `{name}`

Difficulty ●○○ · Importance ●●○ · about 5 minutes

Write `{name}(x)`: what it is given, what it returns, and one example. Here `x` is a vector, `(n,)`,
and each number comes back doubled: `[1, 3]` gives `[2, 6]`.

<details>
<summary>Hint 1 · a nudge</summary>

Where to begin.

</details>

<details>
<summary>Hint 2 · nearly there</summary>

Almost all of it.

</details>
"""
ANSWER = '''def {name}(x):
    """Twice each number.

    x: (n,)      returns: (n,)
    """
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''
TEST = """returned = {name}({array})
assert isinstance(returned, {array_type}), f"{noun}, not {{type(returned).__name__}}: is there a return?"
assert returned.tolist() == [2.0, 6.0], f"[1, 3] gives [2, 6], not {{returned.tolist()}}"
### BEGIN HIDDEN TESTS
from nbjudge import check
check("{name}")
### END HIDDEN TESTS"""
CHECKS = '''"""What the grader asks about `{name}`."""

{imports}

{name} = Exercise("{name}", results=("doubled vector",), axes=(("numbers",),){draw})


@{name}.group("vectors", points=1)
def fresh_vectors(draw):
    """Fresh numbers, of a size that stands nowhere in the notebook."""
    (size,) = draw.sizes(1)
    yield ask(draw.normal(size))


@{name}.group("whole numbers", points=1)
def whole_numbers(draw):
    """Another dtype, and another size."""
    yield ask(draw.integers(-9, 9, *draw.sizes(1)))


@{name}.mistake("The numbers come back squared: each is to be doubled, so 3 gives 6, not 9.")
def squared_instead(x):
    return x * x


@{name}.mistake("Whole numbers come back as fractions: the result keeps the dtype of its argument.")
def always_fractions(x):
    return 2.0 * x


@{name}.also_right
def added_to_itself(x):
    return x + x
'''


def new_exercise(lesson: Lesson, name: str) -> tuple[Path, Path]:
    """Add an exercise before a lesson's last section; the paths of the notebook and of the new checks.

    Raises CourseError where the name is none for a function, or is taken.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CourseError(f"{name!r} is no name for a function: write letters, digits and _.")
    course = lesson.course
    for other in course.lessons.values():
        if name in other.exercises:
            raise CourseError(
                f"{other.folder} has an exercise {name!r} already: names are unique in a course."
            )
    checks = lesson.checks_path
    file = checks / f"{name}.py"
    if checks.with_suffix(".py").exists() or file.exists():
        there = file if file.exists() else checks.with_suffix(".py")
        raise CourseError(
            f"{there} is there already: make it {checks.name}/{checks.name}.py, beside which new files go."
            if there != file
            else f"{there} is there already: move it away, or choose another name."
        )
    words = vocabulary_of(course.root / "checks")
    _add_cells(lesson, name, words)
    checks.mkdir(parents=True, exist_ok=True)
    if not (checks / "__init__.py").exists():
        (checks / "__init__.py").write_text("")
    file.write_text(CHECKS.format(name=name, imports=words.imports, draw=words.draw))
    return lesson.source_path, file


def _add_cells(lesson: Lesson, name: str, words: Vocabulary) -> None:
    notebook = read_notebook(lesson.source_path)
    texts = [cell.source if cell.cell_type == "markdown" else "" for cell in notebook.cells]
    place = next((at for at, text in enumerate(texts) if text.startswith(CLOSING)), len(texts))
    of_lesson = re.match(r"0*(\d+)_", lesson.folder)
    count = sum(len(re.findall(r"^## Exercise ", text, re.MULTILINE)) for text in texts) + 1
    number = f"{of_lesson.group(1)}.{count}" if of_lesson else str(count)
    array = words.array("[1.0, 3.0]")
    test = TEST.format(name=name, array=array, array_type=words.array_type, noun=words.noun)
    notebook.cells[place:place] = [
        nbformat.v4.new_markdown_cell(TEXT.format(name=name, number=number), id=f"{name}-text"),
        marked_cell(name, ANSWER.format(name=name), solution=True),
        marked_cell(f"test_{name}", test, grade=True, locked=True, points=POINTS, cell_type="code"),
    ]
    nbformat.write(notebook, lesson.source_path)
