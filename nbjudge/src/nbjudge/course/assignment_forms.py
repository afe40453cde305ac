"""The forms of an assignment: what students get, what is solved, what the grader runs.

All of them are made from the source notebook by nbgrader's own preprocessors.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader import preprocessors
from nbgrader.converters import GenerateAssignment, GenerateSolution
from nbgrader.utils import compute_checksum, is_grade, is_locked, is_solution, is_task
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from nbjudge.cell_metadata import LEFT_OUT_TAG, mark_checked, mark_left_out, mark_released
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook

# What takes out of a notebook what only the grader and the marker have.
CLEAR_FOR_STUDENTS = (preprocessors.ClearHiddenTests, preprocessors.ClearMarkScheme)
_TEMPLATES: dict[Path, tuple[tuple[int, str, str], NotebookNode]] = {}  # by source notebook


def released(source: NotebookNode, config: Config, folder: Path | None = None) -> NotebookNode:
    """Return what students get: no solutions, no hidden tests, no mark schemes.

    `folder` is the source notebook's; courses with nbgrader's automatic tests keep their rules there.
    """
    return _converted(GenerateAssignment, source, config, folder, without=(preprocessors.SaveCells,))


def solved(source: NotebookNode, config: Config) -> NotebookNode:
    """The solution notebook before it is executed."""
    return _converted(GenerateSolution, source, config, without=(preprocessors.Execute,))


def grading_template(
    source: NotebookNode, config: Config, judged: Mapping[str, str], folder: Path | None = None
) -> NotebookNode:
    """Return what is run for a grade: as released, with mark schemes for the person who marks by hand.

    A graded cell that is `judged`, by its id for nbgrader, loses its hidden region and is marked with the
    exercise's name: the judge, not the kernel, decides its points. Any other hidden
    region stays, and is run in the kernel as stock nbgrader does. Given cells with the tag
    `left-out-of-grading` are marked as such and not run. A cell that students have without some of its
    lines is marked with what they have, by which it is known again.
    """
    later = (preprocessors.SaveCells, *CLEAR_FOR_STUDENTS)
    notebook = _converted(GenerateAssignment, source, config, folder, without=later)
    given = without_hidden_regions(notebook, config)
    clear = preprocessors.ClearHiddenTests(config=config)
    for cell, handed_out in zip(notebook.cells, given.cells, strict=True):
        exercise = judged.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        if exercise is not None:
            clear.preprocess_cell(cell, ResourcesDict(), 0)
            mark_checked(cell, exercise)
        # Old courses mark cells with which nbgrader does nothing as well, without an id.
        is_plain = not any(is_kind(cell) for is_kind in (is_grade, is_solution, is_locked, is_task))
        if LEFT_OUT_TAG in cell.metadata.get("tags", []) and is_plain:
            mark_left_out(cell)
        # Checksums of answers say whether they are still the stub, so they are those of the release;
        # those of test cells say whether the cell was changed since it was put here.
        if is_solution(cell):
            cell.metadata.nbgrader["checksum"] = compute_checksum(handed_out)
        elif is_locked(cell):  # a test cell among them; nbgrader computes no others' checksums
            cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
        if handed_out.source != cell.source:
            mark_released(cell, handed_out.source)
    return notebook


def without_hidden_regions(form: NotebookNode, config: Config) -> NotebookNode:
    """A grading template as students have it: without hidden tests and mark schemes."""
    return _converted(GenerateAssignment, form, config, only=CLEAR_FOR_STUDENTS)


def template_of(assignment: Assignment, config: Config) -> NotebookNode:
    """The grading template of an assignment, made once per class because automatic tests start a kernel."""
    source = assignment.source_path
    # The formgrader lives on while the author edits the source or the settings. How notebooks are run
    # has no part in the form. Reading a section that is not there makes an empty one.
    settings = {name: section for name, section in config.items() if section and name != "RunAndJudge"}
    judged = assignment.exercise_of_cell
    made_of = (source.stat().st_mtime_ns, repr(settings), repr(judged))
    if source not in _TEMPLATES or _TEMPLATES[source][0] != made_of:
        _TEMPLATES[source] = made_of, grading_template(read_notebook(source), config, judged, source.parent)
    return _TEMPLATES[source][1]  # `rebuild` copies it


def named_notebooks(cells: Iterable[Any], notebooks: Iterable[str]) -> list[str]:
    """Those of the notebooks that code names, as `%run helpers.ipynb` and `import helpers` do."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    forms = ("{}.ipynb", "import {}", "from {} ")
    return sorted(
        notebook for notebook in notebooks if any(form.format(Path(notebook).stem) in code for form in forms)
    )


def answer_cells(form: NotebookNode) -> dict[str, NotebookNode]:
    """The cells of a grading template in which students answer, by grade id; their text is as released."""
    return {cell.metadata.nbgrader["grade_id"]: cell for cell in form.cells if is_solution(cell)}


def _converted(
    converter: Any,
    source: NotebookNode,
    config: Config,
    folder: Path | None = None,
    *,
    without: Sequence[type] = (),
    only: Sequence[type] | None = None,
) -> NotebookNode:
    """A notebook that the preprocessors of a converter have gone over, those that the course configures."""
    configured = config.get(converter.__name__, {}).get("preprocessors")
    named = converter.preprocessors.default() if configured is None else configured
    notebook, resources = copy.deepcopy(source), ResourcesDict(metadata={"path": str(folder or "")})
    for name in named:
        stage = import_item(name) if isinstance(name, str) else name
        if stage not in without and (only is None or stage in only):
            notebook, resources = stage(config=config).preprocess(notebook, resources)
    return notebook
