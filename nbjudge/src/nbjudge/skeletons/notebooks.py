"""New assignments and exercises: their cells in a notebook, the checks of an exercise, and the templates.

A course may have Jinja templates of its own. They may extend nbjudge's,
``{% extends "nbjudge/function.cells" %}``, and replace its blocks. A file `*.cells` holds a notebook's cells.
Each begins with a line such as ``--- code ID {"tags": []}``: its type, its id and its metadata, to which
nbgrader's defaults are added. The exercises come at the line ``--- exercises``.
"""

from __future__ import annotations

import json
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from nbformat import NotebookNode

from nbjudge.course.course import Assignment
from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook import has_submissions
from nbjudge.course.loading import PlainCell, read_notebook, read_plain_cells
from nbjudge.errors import CourseError

OWN = Path(__file__).with_name("templates")
HEADER = re.compile(r"^--- (code|text) (\S+)(.*)\n", re.MULTILINE)
EXERCISES = "--- exercises\n"
NBGRADER = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}


@dataclass(frozen=True)
class Form:
    """The templates of a course, and what its commands print.

    Attributes
    ----------
    folder
        The course's own templates; a file that is missing there is nbjudge's.
    package
        The folder, from the course's own, of the Python package that an assignment's notebook imports, with
        `{number}` for the first part of the assignment's name; empty if there is none. Every new exercise
        adds its visible test to `visible_tests.py` there, as `function_test.py.txt` or `layer_test.py.txt`
        has it; otherwise the graded cell holds the test.
    program, build
        The command that an author types, and the one that makes release and solution.
    advice
        What is printed last, once there is an exercise.
    """

    folder: Path = OWN
    package: str = ""
    program: str = "nbjudge"
    build: str = (
        "nbgrader generate_assignment --force {folder} && nbgrader generate_solution --force {folder}"
    )
    advice: str = ""

    @cached_property
    def _environment(self) -> Environment:
        own = FileSystemLoader(OWN)
        loader = ChoiceLoader([FileSystemLoader(self.folder), own, PrefixLoader({"nbjudge": own})])
        return Environment(
            loader=loader, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
        )

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return the text that a template makes of these values."""
        return self._environment.get_template(name).render(values)

    def visible_tests(self, assignment: str) -> Path | None:
        """Return the file, from the course's folder, that holds an assignment's visible tests."""
        number, _, _ = assignment.partition("_")
        return Path(self.package.format(number=number), "visible_tests.py") if self.package else None

    def files(self, place: str, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the files of a new assignment's "package", or those beside its "checks", by name."""
        files = sorted((self.folder / place).glob("*.txt"))
        return {file.stem: self.render(f"{place}/{file.name}", values) for file in files}


def cells_of(text: str) -> list[NotebookNode]:
    """Return the cells that a template has made."""
    _, *parts = HEADER.split(text)
    return [_cell(*cell) for cell in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)]


def _cell(kind: str, cell_id: str, metadata: str, source: str) -> NotebookNode:
    about = json.loads(metadata or "{}")
    if "nbgrader" in about:
        about["nbgrader"] = NBGRADER | about["nbgrader"] | {"grade_id": cell_id, "cell_type": "code"}
    make = nbformat.v4.new_markdown_cell if kind == "text" else nbformat.v4.new_code_cell
    return make(source.rstrip("\n"), id=cell_id, metadata=about)


OWN_MODULE = "nbjudge.authoring"
IMPORTED_FROM = re.compile(r"^from (\S+) import .*\bExercise\b", re.MULTILINE)
TORCH = re.compile(r"^import torch\b", re.MULTILINE)


def vocabulary_of(checks: Path) -> dict[str, Any]:
    """Return what templates have to know of a folder of checks.

    `module` is where they import `Exercise` and `case` from, `torch` whether their values are torch's,
    `library` how that is imported, and `draws_tensors` whether exercises must say that they draw tensors.
    """
    texts = [file.read_text() for file in sorted(checks.rglob("*.py"))] if checks.is_dir() else []
    modules = Counter(module for text in texts for module in IMPORTED_FROM.findall(text))
    (module, _), *_ = modules.most_common(1) or [(OWN_MODULE, 0)]
    torch = any(TORCH.search(text) for text in texts)
    library = "import torch" if torch else "import numpy as np"
    draws_tensors = torch and module == OWN_MODULE  # a course's own `Exercise` says it itself
    return {"module": module, "torch": torch, "library": library, "draws_tensors": draws_tensors}


# `TwoParts` is a class; `BFS` and `PWM_cod` are functions.
CLASS_NAME = re.compile(r"[A-Z](?=\w*[a-z])[^\W_]*")
NAME = re.compile(r"(?:(\d+)_)?([a-z]\w*)", re.ASCII)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def new_assignment(folders: CourseFolders, folder: str, form: Form | None = None) -> Path:
    """Write an assignment's notebook, the files of its package, and those beside its checks.

    Returns the notebook. Raises CourseError if the folder (such as "ps2") exists, or its name is not one of
    an assignment.
    """
    form = form or Form()
    named = NAME.fullmatch(folder)
    if named is None:
        raise CourseError(
            f"{folder!r} is no name for an assignment: write small letters, digits and _, such as ps2."
        )
    number, stem = named.groups()
    source, title = folders.source / folder, stem.replace("_", " ").capitalize()
    heading = f"{int(number)} · {title}" if number else title
    values = {"heading": heading, "number": int(number or 0), **vocabulary_of(folders.checks)}
    files = {folders.checks / stem / name: text for name, text in form.files("checks", values).items()}
    if (tests := form.visible_tests(folder)) is not None:
        package = folders.root / tests.parent
        files |= {package / name: text for name, text in form.files("package", values).items()}
    taken = [path for path in folders.source_notebooks() if path.stem == stem]
    taken += [path for path in (source, *files) if path.exists()]
    if taken:
        raise CourseError(f"{taken[0]} is there already: give the assignment a name of its own.")
    cells = cells_of(form.render("assignment.cells", values).replace(EXERCISES, ""))
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    files[source / f"{stem}.ipynb"] = nbformat.writes(notebook) + "\n"
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return source / f"{stem}.ipynb"


CLOSING = "## What you now have"  # begins the text behind the exercises


def new_exercise(assignment: Assignment, name: str, form: Form | None = None) -> tuple[Path, Path]:
    """Add an exercise behind the others; return the notebook and the file of the new checks.

    `name` is that of its function, or of a layer: of a class in the notebook, or written like `TwoParts`.
    Raises CourseError if it is not one of a function or class, or is taken, or if a submission is in the
    gradebook.
    """
    form = form or Form()
    values = vocabulary_of(assignment.course.folders.checks)
    kind = _kind_of(name, values["torch"], read_plain_cells(assignment.source_path))
    variable = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()  # two_parts
    _see_that_it_is_free(assignment, name, variable)
    checks = assignment.checks_path
    file = checks / f"{variable}.py"
    values |= {"name": name, "variable": variable}
    _add_cells(assignment, form, f"{kind}.cells", values)
    checks.mkdir(parents=True, exist_ok=True)
    (checks / "__init__.py").touch()
    file.write_text(form.render(f"{kind}_checks.py.txt", values))
    visible = form.visible_tests(assignment.folder)
    if visible is not None and (tests := assignment.course.root / visible).exists():
        tests.write_text(with_test(tests.read_text(), form.render(f"{kind}_test.py.txt", values)))
    return assignment.source_path, file


def _kind_of(name: str, torch: bool, cells: Iterable[PlainCell]) -> str:
    """Return "function" or "layer": what the notebook defines under this name, or else what it looks like."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CourseError(f"{name!r} is no name for a function: write letters, digits and _.")
    defined = re.compile(rf"^[ \t]*(def|class)[ \t]+{re.escape(name)}\b", re.MULTILINE)
    found = [match[1] for cell in cells for match in defined.finditer(cell.source)]
    if (found[0] if found else "class" if CLASS_NAME.fullmatch(name) else "def") == "def":
        return "function"
    if not torch:
        raise CourseError(
            f"{name!r} is the name of a class, and there is a skeleton of one only for torch, which no check "
            "of this course imports: begin with a function's name, in small letters. `build` of "
            "nbjudge.authoring asks a class of another kind."
        )
    return "layer"


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
    if has_submissions(assignment.course.root, assignment.folder):
        raise CourseError(
            f"{assignment.folder} has submissions in the gradebook, after which nbgrader takes no new cells: "
            "nothing was added. Begin an assignment of its own for the exercise."
        )


def _add_cells(assignment: Assignment, form: Form, template: str, values: dict[str, Any]) -> None:
    notebook = read_notebook(assignment.source_path)
    texts = [cell.source if cell.cell_type == "markdown" else "" for cell in notebook.cells]
    _, _, ending = form.render("assignment.cells", {"heading": "", "number": 0, **values}).partition(
        EXERCISES
    )
    last = {cell.id for cell in cells_of(ending)}
    ids = [cell.get("id") for cell in notebook.cells]
    behind = (at for at, text in enumerate(texts) if text.startswith(CLOSING) or ids[at] in last)
    place = next(behind, len(texts))
    of_assignment = re.match(r"0*(\d+)_", assignment.folder)
    count = sum(len(re.findall(r"^## Exercise ", text, re.MULTILINE)) for text in texts) + 1
    number = f"{of_assignment.group(1)}.{count}" if of_assignment else str(count)
    has_library = any(values["library"] in cell.source for cell in notebook.cells)
    cells = cells_of(form.render(template, values | {"number": number, "has_library": has_library}))
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):  # from before cells had ids
        for cell in cells:
            del cell["id"]
    notebook.cells[place:place] = cells
    set_up = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    visible = form.visible_tests(assignment.folder)
    if visible is not None and set_up is not None:
        module = ".".join(visible.with_suffix("").parts)
        set_up.source = with_import(set_up.source, module, [f"test_{values['name']}"])
    nbformat.write(notebook, assignment.source_path)


LEADING_IMPORT = re.compile(r"\Afrom (\S+) import (.+)\n+")
LONGEST_LINE = 110


def with_test(tests: str, test: str) -> str:
    """Return the module with one more test at its end, whose import joins the module's own."""
    found = LEADING_IMPORT.match(test)
    if found is not None:
        test = test[found.end() :]
        tests = with_import(tests, found[1], found[2].split(", "))
    return f"{tests.rstrip()}\n\n\n{test.rstrip()}\n"


def with_import(code: str, module: str, names: Iterable[str]) -> str:
    """Return a module or cell with names imported from a module, in one statement.

    If it does not import from the module yet, the line comes behind the last import of a whole module.
    """
    known = re.search(rf"^from {re.escape(module)} import (?:\(([^)]*)\)|(.*))$", code, re.MULTILINE)
    listed = (known[1] or known[2]).replace("\n", " ").split(",") if known else []
    all_names = sorted({name.strip() for name in [*listed, *names]} - {""}, key=str.lower)
    statement = f"from {module} import {', '.join(all_names)}"
    if len(statement) > LONGEST_LINE:
        lines = "".join(f"    {name},\n" for name in all_names)
        statement = f"from {module} import (\n{lines})"
    if known:
        return code[: known.start()] + statement + code[known.end() :]
    imports = list(re.finditer(r"^import .*\n", code, re.MULTILINE))
    place = imports[-1].end() if imports else 0
    return f"{code[:place]}{statement}\n{code[place:]}"
