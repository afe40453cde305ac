"""What must be right before a notebook of a course is run: the same for a class and for a single file.

An assignment's own solution is graded once with a class: what it loses, every student may lose. A test that
returns more points than its cell has, one that depends on today's date, a package that the sandbox lacks:
the instructor learns of it, and where a given cell fails and costs points, before a student gets 0 for it.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from itertools import takewhile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.exchange.default import Exchange
from nbgrader.preprocessors import IncludeHeaderFooter
from nbgrader.utils import determine_grade, is_grade, is_solution
from traitlets.config import Config

from nbjudge.atomic_files import write_atomically
from nbjudge.cell_metadata import nbgrader_metadata
from nbjudge.course.assignment_forms import named_notebooks, template_of, without_hidden_regions
from nbjudge.course.configuration import config_folders, read_config
from nbjudge.course.course import Assignment, Course
from nbjudge.course.gradebook import course_directory, other_cells_reason, sqlite_file
from nbjudge.course.loading import read_notebook
from nbjudge.errors import BrokenAssignmentError, CourseError, SandboxError
from nbjudge.grading.job import (
    Executor,
    GradingJob,
    is_given,
    make_job,
    may_not_fail,
    notebook_from_json,
    returned_too_much,
    stopped_with,
)
from nbjudge.plain_text import cell_label, first_few
from nbjudge.quiz import ANSWERS_FILE
from nbjudge.record.graded_cell import Status, read_cell_status
from nbjudge.sandbox.bubblewrap import readable, sandbox_refusal, shown_to_students
from nbjudge.settings import GradingSettings, execute_remarks

WITHOUT_SANDBOX = (
    "To grade work you trust without a sandbox, say so: --RunAndJudge.sandbox=False (or "
    "c.RunAndJudge.sandbox = False in nbgrader_config.py)."
)
NO_SANDBOX = (
    "GRADING WITHOUT THE SANDBOX: student code runs as you, and can read and change whatever you can: "
    "the checks, the solutions, the gradebook."
)


def prepare(course: Course, settings: GradingSettings) -> list[str]:
    """Refuse to grade where student code could not be run, or could read what it must not.

    Returns what the person who grades should know, in sentences. Raises SandboxError if there is no
    sandbox on this machine and the course requires one; CourseError if it would show the course, its
    exchange or its settings to students, or if an option differs from what the tutor reads.
    """
    if settings.changed_arguments != course.changed_arguments:
        raise CourseError(
            f"RunAndJudge.changed_arguments is {settings.changed_arguments!r} for this run, and in "
            f"nbgrader_config.py it is {course.changed_arguments!r}. Set it there: the tutor reads it, too."
        )
    reason = sandbox_refusal() if settings.sandbox else None
    if reason is not None:
        raise SandboxError(f"{reason} {WITHOUT_SANDBOX}")
    if settings.sandbox:
        reason = readable(
            protected_paths(course, settings.config), shown_to_students(settings.exposed_modules)
        )
        if reason is not None:
            raise CourseError(reason)
    return [*([] if settings.sandbox else [NO_SANDBOX]), *execute_remarks(settings.limits, settings.config)]


def refuse_problems(assignments: Iterable[Assignment]) -> None:
    """Raise CourseError where the author must fix an assignment before a student can be graded."""
    for assignment in assignments:
        if assignment.problems:
            raise CourseError(assignment.problems[0])


def refuse_other_cells(assignments: Iterable[Assignment], config: Config) -> None:
    """Raise CourseError where the gradebook has other cells than a source, so that grades cannot be kept."""
    for assignment in assignments:
        form = template_of(assignment, config)
        reason = other_cells_reason(
            assignment.course.folders, assignment.folder, assignment.name, form, config
        )
        if reason is not None:
            raise CourseError(reason)


def protected_paths(course: Course, config: Config) -> list[tuple[str, Path]]:
    """Those of a course that no student may read, each with what a person would call it.

    Raises CourseError where a configuration does not load.
    """
    root = course.root
    paths = [("The course", root)]
    # Any of the folders may be a link, or lie elsewhere.
    paths += [(f"The course's folder {step}", path) for step, path in course.folders.by_step().items()]
    gradebook = sqlite_file(course_directory(root, config).db_url)
    if gradebook is not None:
        paths.append(("The gradebook", root / gradebook))
    files = (file for folder in config_folders(root) for file in sorted(folder.glob("*_config.*")))
    paths += [("The configuration", file) for file in files if file.suffix in (".py", ".json")]
    whole = read_config(root)
    whole.merge(config)  # such as what the command line says
    exchange = Exchange(config=whole)
    return [*paths, ("The exchange", Path(exchange.root)), ("The exchange's cache", Path(exchange.cache))]


SOLUTIONS_FILE = ".graded-solutions"
ALL_POINTS = "The notebook “{notebook}”: its own {failure}; its tests pass all the same."
POINTS_LOST = (
    "The notebook “{notebook}”: its own solution loses points in {tests}{cause}. Students may lose them with "
    "right answers, too: correct the solution or the test."
)
TOO_MANY = (
    "The notebook “{notebook}”: the test in {test} returns {returned} for the solution, and the cell has "
    "{points} points: more counts as {points}. Make the two agree."
)
DESPITE = " Graded all the same, as c.RunAndJudge.grade_despite_failing_cells says."
REFUSED = (
    "The notebook “{notebook}” cannot be graded: its own {failure}, and its solution loses points in "
    "{tests}. Fix the cell, or give the sandbox, which has no network, what it lacks "
    "(`c.RunAndJudge.modules` for packages, another version of a package in this environment, "
    "`c.RunAndJudge.exposed_modules` for modules of the course's own, files beside the notebook). If you "
    "trust the class with your files and the network, grade without the sandbox: `--no-sandbox`, with "
    "nbgrader `--RunAndJudge.sandbox=False`. To grade all the same, set "
    "`c.RunAndJudge.grade_despite_failing_cells = True`."
)
NOT_RUN = "The notebook “{notebook}”: its own solution could not be run ({reason})."


def check_solution(assignment: Assignment, settings: GradingSettings, execute: Executor) -> list[str]:
    """Grade an assignment's own solution, unless the same one had all its points today.

    Returns warnings, which are the same for the whole class. Raises BrokenAssignmentError if a cell that
    students are given fails and the solution loses points, unless `grade_despite_failing_cells` is set.
    """
    job = solution_job(assignment, settings)
    # Tests may depend on the date. What is wrong is looked for each time: it may be in no file.
    parts = (assignment.material, job.environment, job.notebook, date.today().isoformat())
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    file = assignment.course.root / SOLUTIONS_FILE
    known, name = read_solutions(assignment.course.root), f"{assignment.folder}/{assignment.name}"
    if known.get(name) == [digest]:
        return []
    result = execute(job)
    if result.warning:
        return [NOT_RUN.format(notebook=assignment.name, reason=result.warning)]
    warnings = list(_warnings(notebook_from_json(result.notebook), assignment, settings))
    known = read_solutions(assignment.course.root) | {name: [digest, *warnings]}
    with suppress(OSError):  # a course that cannot be written to
        write_atomically(file, json.dumps(known).encode(), 0o600)
    return warnings


def read_solutions(root: Path) -> dict[str, list[str]]:
    """Return what came of the solutions of a course, by `ps1/spread`: a digest, and the warnings about it."""
    try:
        known = json.loads((root / SOLUTIONS_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def solution_job(assignment: Assignment, settings: GradingSettings) -> GradingJob:
    """The assignment as it is graded, with the answers of its source notebook.

    Beside it are the assignment's other notebooks that its code names, with theirs.
    """
    config = settings.config
    notebook = solved_form(assignment, config)
    others = {f"{each.name}.ipynb": each for each in assignment.course.assignments_in(assignment.folder)}
    right = {name: question.right_answer for name, question in assignment.questions.items()}
    files = {ANSWERS_FILE: json.dumps(right).encode()} if right else {}
    for name in named_notebooks(notebook.cells, others.keys() - {f"{assignment.name}.ipynb"}):
        files[name] = nbformat.writes(
            without_hidden_regions(solved_form(others[name], config), config)
        ).encode()
    return make_job(notebook, assignment, settings, "", files)


def solved_form(assignment: Assignment, config: Config) -> NotebookNode:
    """The notebook of an assignment as it is graded, with the answers of its source."""
    notebook = copy.deepcopy(template_of(assignment, config))
    answers = {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in read_notebook(assignment.source_path).cells
        if is_solution(cell)
    }
    for cell in notebook.cells:
        if is_solution(cell):
            cell.source = answers.get(cell.metadata.nbgrader["grade_id"], cell.source)
    return notebook


def _warnings(graded: NotebookNode, assignment: Assignment, settings: GradingSettings) -> Iterator[str]:
    # A course may have a header before the first cell of the source notebook.
    header = IncludeHeaderFooter(config=settings.config).header
    first = 1 - (len(read_notebook(assignment.course.root / header).cells) if header else 0)
    labels = [cell_label(position, cell.source) for position, cell in enumerate(graded.cells, first)]
    cells = list(zip(graded.cells, labels, strict=True))
    # What is too slow, or dies, says nothing of the cells behind it.
    ran = takewhile(lambda each: read_cell_status(each[0]) is Status.COMPLETED, cells)
    stopped = [
        (cell, f"{label} {why}") for cell, label in ran if may_not_fail(cell) and (why := stopped_with(cell))
    ]
    lost = [label for cell, label in cells if _loses_points(cell)]
    about = {
        "notebook": assignment.name,
        "tests": first_few(lost),
        "failure": stopped[0][1] if stopped else "",  # later ones may follow from it
        "cause": f"; its {stopped[0][1]}" if stopped else "",
    }
    fails = any(is_given(cell) for cell, _ in stopped)
    if lost and fails and not settings.grade_despite_failing_cells:
        raise BrokenAssignmentError(REFUSED.format_map(about))
    if lost:
        yield POINTS_LOST.format_map(about) + (DESPITE if fails else "")
    elif stopped:
        yield ALL_POINTS.format_map(about)
    for cell, label in cells:
        if returned := returned_too_much(cell):
            points = f"{nbgrader_metadata(cell)['points']:g}"
            yield TOO_MANY.format(notebook=assignment.name, test=label, returned=returned, points=points)


def _loses_points(cell: NotebookNode) -> bool:
    """Return whether a graded cell has less than its full points, as nbgrader reads its outputs."""
    if cell.cell_type != "code" or not is_grade(cell) or is_solution(cell):
        return False
    points, max_points = determine_grade(cell)
    return bool(points < max_points)
