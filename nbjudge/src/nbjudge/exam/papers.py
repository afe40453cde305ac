"""Papers as notebooks: with their keys for the grader, without them for students."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from traitlets.config import Config

from nbjudge.atomic_files import write_atomically
from nbjudge.cell_metadata import is_released_text, mark_released
from nbjudge.course.assignment_forms import released
from nbjudge.course.course import Course, Exam
from nbjudge.course.exam import PAPERS, DrawnItem, ExamTable
from nbjudge.course.loading import imported_modules
from nbjudge.course.regions import Regions
from nbjudge.errors import CourseError
from nbjudge.exam.blueprint import FIX
from nbjudge.exam.draw import MINUTES, SHORTEST, Paper
from nbjudge.exam.items import Asked, Task
from nbjudge.plain_text import first_few
from nbjudge.quiz import Question

HANDED_OUT = "papers"  # the folder of what students get, in the course's
TITLE = """# {exam}

{whose}{minutes} minutes, {points} points. Your paper is your own: others have other tasks, other
numbers and other questions.

- **Tasks**: the code is wrong. It raises nothing, but for some calls that its docstring allows, the result is
  not what the docstring says. Change it, in its cell, until it is right; at most three lines are wrong. Code
  as you got it earns nothing.
- **Questions**: run the cell, and click or type your answer; a number without commas, such as 12000 or 0.25.
  It is kept in the file `answers.json` beside this notebook: hand in both.
"""
SETUP = "from nbjudge.tutor import ask"
TASK = "## Task {number} ({points} points)\n\nFix `{name}`."
QUESTION = "## Question {number} ({points} points)\n\n{text}"
GRADED = "# The points of task {number}: graded when you have handed in."


def slot_names(kinds: Iterable[str]) -> list[str]:
    """Return the names of the cells in which a paper's tasks and questions are answered, in their order."""
    names, tasks = list[str](), 0
    for kind in kinds:
        tasks += kind == FIX
        names.append(f"task_{tasks}" if kind == FIX else f"question_{len(names) - tasks + 1}")
    return names


def graded_cell(name: str, kind: str) -> str:
    """Return the id of the cell that has the points."""
    return f"{name}_points" if kind == FIX else name


def notebook_of(paper: Paper, exam: str, minutes: int, regions: Regions) -> NotebookNode:
    """Make the notebook of a paper with its key, as an author writes a source notebook."""
    points = sum(MINUTES[item.kind] for item in paper.items)
    whose = f"This is the paper of **{paper.student}**. " if paper.student else "This is a sample paper. "
    title = TITLE.format(exam=exam, whose=whose, minutes=minutes, points=points)
    cells = [new_markdown_cell(title, id="title"), _cell("setup", SETUP, locked=True)]
    for name, item in zip(slot_names(item.kind for item in paper.items), paper.items, strict=True):
        number = name.partition("_")[2]
        about = {"number": number, "points": MINUTES[item.kind]}
        if isinstance(item, Task):
            cells += _task_cells(name, item, about, regions)
        elif isinstance(item, Asked):
            text = QUESTION.format(text=item.variant.text, **about)
            code = question_source(name, item.variant.question, regions)
            cells += [
                new_markdown_cell(text, id=f"{name}_text"),
                _cell(name, code, grade=True, locked=True, points=about["points"]),
            ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _task_cells(name: str, task: Task, about: dict[str, Any], regions: Regions) -> list[NotebookNode]:
    begin, end = (f"### {words}" for words in regions.solution)
    answer = _cell(name, f"{task.code}\n\n\n{begin}\n{task.right}\n{end}", solution=True)
    mark_released(answer, task.code)
    begin, end = (f"### {words}" for words in regions.hidden_tests)
    check = f'from nbjudge import check\ncheck("{task.family}")'
    test = f"{GRADED.format(**about)}\n{begin}\n{check}\n{end}"
    return [
        new_markdown_cell(TASK.format(name=task.family, **about), id=f"{name}_text"),
        *([_cell(f"{name}_given", "\n".join(task.imports), locked=True)] if task.imports else []),
        answer,
        _cell(graded_cell(name, FIX), test, grade=True, locked=True, points=about["points"]),
    ]


def question_source(name: str, question: Question, regions: Regions) -> str:
    """Return the cell of a question, its key in a region of hidden tests."""
    begin, end = (f"    ### {words}" for words in regions.hidden_tests)
    shown = [f"    {letter}={text!r}," for letter, text in question.choices.items()]
    key = [f"    right={question.right!r},", f"    replies={dict(question.replies)!r},"]
    key += [f"    within={question.within!r},"] if question.within else []
    return "\n".join(["ask(", f"    {name!r},", *shown, begin, *key, end, ")"])


def _cell(name: str, source: str, **marks: Any) -> NotebookNode:
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    points = {"cell_type": "code"} if marks.get("grade") else {}
    return new_code_cell(source, id=name, metadata={"nbgrader": plain | {"grade_id": name} | points | marks})


def handed_out(source: NotebookNode, paper: Paper, config: Config) -> NotebookNode:
    """Return a paper as its student gets it.

    Raises CourseError if it would hold an answer.
    """
    notebook = released(source, config)
    tasks = [item for item in paper.items if isinstance(item, Task)]
    for cell in notebook.cells:
        code = next((task.code for task in tasks if is_released_text(cell, task.code)), None)
        cell.source = cell.source if code is None else code
        cell.metadata.pop("nbjudge", None)
    for where, what in leaks(notebook, paper, Regions.of(config)):
        raise CourseError(
            f"Nothing was written: the cell {where!r} of {paper.student}'s paper holds {what}. Check "
            "c.GenerateAssignment.preprocessors in nbgrader_config.py."
        )
    return notebook


def leaks(notebook: NotebookNode, paper: Paper, regions: Regions) -> Iterator[tuple[str, str]]:
    """Yield what gives an answer away in a paper as its student gets it: the cell, and what it holds."""
    private = {
        line
        for item in paper.items
        if isinstance(item, Task)
        for line in item.right_lines
        if len(line) >= SHORTEST
    }
    replies = {
        " ".join(reply.split())
        for item in paper.items
        if isinstance(item, Asked)
        for reply in item.variant.question.replies.values()
    }
    marks = [
        words for pair in (regions.solution, regions.hidden_tests, regions.mark_scheme) for words in pair
    ]
    for cell in notebook.cells:
        text = json.dumps(cell, ensure_ascii=False)
        lines = {" ".join(line.split()) for line in cell.source.splitlines()}
        if any(words in text for words in marks):
            yield cell.id, "a region that students must not have"
        elif lines & private:
            yield cell.id, "a line of a right answer"
        elif any(reply in " ".join(cell.source.split()) for reply in replies) or "right=" in cell.source:
            yield cell.id, "the key of a question"


def table_of(papers: Sequence[Paper], minutes: int) -> ExamTable:
    """Return what the grader keeps of a draw."""
    items = {item.id: item for paper in papers for item in paper.items}
    tasks = [item for item in items.values() if isinstance(item, Task)]
    drawn = {
        name: DrawnItem(
            item.kind,
            round(item.expected, 4),
            *((item.family, list(item.passes)) if isinstance(item, Task) else ()),
        )
        for name, item in sorted(items.items())
    }
    code = "\n".join([SETUP, *sorted({line for task in tasks for line in task.imports})])
    return ExamTable(
        minutes,
        {kind: float(points) for kind, points in MINUTES.items()},
        sorted(imported_modules(code)),
        {task.family: task.lesson for task in sorted(tasks, key=lambda task: task.family)},
        drawn,
        {paper.student: [item.id for item in paper.items] for paper in papers},
    )


def refuse_changes(course: Course, exam: str, table: ExamTable) -> None:
    """Raise CourseError if the exam is something else, or a paper would change that is there already."""
    known = course.assignments.get(exam)
    if known is None and exam not in {each.folder for each in course.assignments.values()}:
        return
    if not isinstance(known, Exam):
        raise CourseError(
            f"There is an assignment {exam!r} already, which is no exam: give --name another name."
        )
    changed = [name for name, items in known.table.papers.items() if name and table.papers.get(name) != items]
    if changed:
        raise CourseError(
            f"The exam {exam} is drawn already, and the papers of {first_few(changed)} would change: "
            "nothing was written. Give the same key, minutes and roster, with new students at its end; or "
            "draw another exam with --name."
        )


def write_exam(
    course: Course,
    exam: str,
    papers: Sequence[Paper],
    table: ExamTable,
    config: Config,
    advance: Callable[[], None],
) -> Path:
    """Write an exam: the sample paper, the papers with their keys, and what students get.

    Parameters
    ----------
    course
        The course.
    exam
        The name of the exam, and of its notebook.
    papers
        The papers, the sample among them.
    table
        What the grader keeps of them.
    config
        The configuration of the course.
    advance
        Called after each paper.

    Returns
    -------
    Path
        The folder with a folder for each student, to be handed out.

    Raises
    ------
    CourseError
        If a paper would hold an answer, and then nothing is written; or if a file cannot be written.
    """
    regions, files = Regions.of(config), dict[Path, bytes]()
    checks, given = course.folders.checks / exam, course.root / HANDED_OUT / exam
    for paper in papers:
        notebook = notebook_of(paper, exam, table.minutes, regions)
        content = f"{nbformat.writes(notebook)}\n".encode()
        if paper.student:
            student = handed_out(notebook, paper, config)
            files[checks / "papers" / paper.student / f"{exam}.ipynb"] = content
            files[given / paper.student / f"{exam}.ipynb"] = f"{nbformat.writes(student)}\n".encode()
        else:
            files[course.folders.source / exam / f"{exam}.ipynb"] = content
        advance()
    # Last what makes an exam of it.
    files[checks / PAPERS] = msgspec.json.format(msgspec.json.encode(table)) + b"\n"
    try:
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, content)
    except OSError as error:
        raise CourseError(f"{file} cannot be written ({error.strerror}): type the command again.") from error
    return given
