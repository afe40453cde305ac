"""A new exercise: text, answer cell and graded cell in the notebook, checks in a file of their own."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

import nbformat

from nbjudge.course.course import Assignment
from nbjudge.course.notebooks import read_notebook
from nbjudge.errors import CourseError
from nbjudge.skeletons.form import Cell, ExerciseForm, Form
from nbjudge.skeletons.generic import CLOSING, GENERIC
from nbjudge.skeletons.page import with_answer
from nbjudge.skeletons.vocabulary import Vocabulary, vocabulary_of


def new_exercise(assignment: Assignment, name: str, form: Form = GENERIC) -> tuple[Path, Path]:
    """Add an exercise behind the others; the paths of the notebook and of the new checks.

    A name that begins with a capital is that of a layer. Raises CourseError where the name is none for a
    function or a class, or is taken.
    """
    words = vocabulary_of(assignment.course.folders.checks)
    exercise = _form_of(name, form, words)
    variable = _small_letters(name)
    _see_that_it_is_free(assignment, name, variable)
    checks = assignment.checks_path
    file = checks / f"{variable}.py"
    values = words.values(layer=exercise is form.layer) | dict(exercise.values)
    values |= {"name": name, "variable": variable, "with_hyphens": name.replace("_", "-")}
    _add_cells(assignment, form, exercise, values)
    checks.mkdir(parents=True, exist_ok=True)
    if not (checks / "__init__.py").exists():
        (checks / "__init__.py").write_text("")
    file.write_text(Template(exercise.checks).substitute(values))
    page = checks / form.page
    if form.page and page.exists():
        (answer,) = (cell.filled(values).source for cell in exercise.cells if cell.kind == "answer")
        page.write_text(with_answer(page.read_text(), answer, exercise.page_imports))
    return assignment.source_path, file


def _form_of(name: str, form: Form, words: Vocabulary) -> ExerciseForm:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CourseError(f"{name!r} is no name for a function: write letters, digits and _.")
    if not name[0].isupper():
        return form.function
    if not words.torch:
        raise CourseError(
            f"{name!r} is the name of a class, and there is a skeleton of one only for torch, which no check "
            "of this course imports: begin with a function's name, in small letters. `build` of "
            "nbjudge.authoring asks a class of another kind."
        )
    return form.layer


def _small_letters(name: str) -> str:
    """The name of a file and of a variable for what a class is called: `two_parts` for `TwoParts`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _see_that_it_is_free(assignment: Assignment, name: str, variable: str) -> None:
    for other in assignment.course.assignments.values():
        if name in other.exercises:
            raise CourseError(
                f"{other.folder} has an exercise {name!r} already: names are unique in a course."
            )
    checks = assignment.checks_path
    file = checks / f"{variable}.py"
    if file.exists():
        raise CourseError(f"{file} is there already: move it away, or choose another name.")


def _add_cells(assignment: Assignment, form: Form, exercise: ExerciseForm, values: Mapping[str, str]) -> None:
    notebook = read_notebook(assignment.source_path)
    texts = [cell.source if cell.cell_type == "markdown" else "" for cell in notebook.cells]
    last = {cell.id for cell in form.ending}
    ids = [cell.get("id") for cell in notebook.cells]
    behind = (at for at, text in enumerate(texts) if text.startswith(CLOSING) or ids[at] in last)
    place = next(behind, len(texts))
    of_assignment = re.match(r"0*(\d+)_", assignment.folder)
    count = sum(len(re.findall(r"^## Exercise ", text, re.MULTILINE)) for text in texts) + 1
    number = f"{of_assignment.group(1)}.{count}" if of_assignment else str(count)
    cells = list(exercise.cells)
    if not any(values["library"] in cell.source for cell in notebook.cells):
        cells.insert(1, Cell("$name-imports", "$library", "given"))
    filled = [cell.filled({**values, "number": number}) for cell in cells]
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):  # from before cells had ids
        for cell in filled:
            del cell["id"]
    notebook.cells[place:place] = filled
    nbformat.write(notebook, assignment.source_path)
