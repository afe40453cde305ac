"""nbjudge as a judge, through its public function `nbjudge.grade_notebook`.

Each answer is handed in as a notebook of a small course: per exercise an assignment with the lesson's
set-up cell, the earlier reference answers, the answer cell and the graded cell. Its checks are the course's.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

import nbjudge
from answers import ROOT, SOLUTION_MARK, all_exercises, course
from judging import Opinion
from nbjudge.course import read_notebook
from workers import temporary_folder


class NbjudgeJudge:
    """nbjudge with the course's own checks, in its sandbox."""

    name = "nbjudge"

    def __init__(self) -> None:
        self._root = temporary_folder()
        self._course = course()
        self.exercises = all_exercises()
        shutil.copy(ROOT / "nbgrader_config.py", self._root)

    def judge(self, exercise: str, code: str) -> Opinion:
        """Grade a notebook that holds the answer; it is accepted if it earns all points."""
        assignment = self._root / "source" / exercise / f"{exercise}.ipynb"
        if not assignment.exists():
            self._make_assignment(exercise, assignment)
        notebook = nbformat.read(assignment, as_version=4)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = code
        submitted = self._root / f"{exercise}.ipynb"
        nbformat.write(notebook, submitted)
        result = nbjudge.grade_notebook(submitted, self._root, exercise)
        (graded,) = result.verdicts
        message = "\n".join(
            " ".join(filter(None, (finding.sentence, finding.evidence))) for finding in graded.findings
        )
        accepted = graded.points == graded.max_points
        return Opinion(accepted, "" if accepted else message or result.reason)

    def _make_assignment(self, exercise: str, path: Path) -> None:
        """Write the one-exercise assignment: notebook, the files beside it, and its checks."""
        lesson, _ = self._course.exercise(exercise)
        source = lesson.source_path
        shutil.copytree(source.parent, path.parent, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))
        path.write_text(json.dumps(_only(read_notebook(source), exercise)), encoding="utf-8")
        for file in lesson.checks_files:
            target = self._root / "checks" / (exercise if file.is_dir() else f"{exercise}.py")
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(file)


def _only(notebook: NotebookNode, exercise: str) -> NotebookNode:
    """The notebook with the set-up cell, the answers up to this exercise, and its graded cell.

    Earlier answers become plain cells, and the graded cell loses its visible tests.
    """
    cells, found = [], False
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {})
        name = mark.get("grade_id")
        if cell.cell_type != "code":
            continue
        if name == "setup":
            cells.append(cell)
        elif mark.get("solution") and not found:
            found = name == exercise
            if not found:
                del cell.metadata["nbgrader"]
                cell.source = SOLUTION_MARK.sub("", cell.source)
            cells.append(cell)
        elif mark.get("grade") and f'check("{exercise}")' in cell.source:
            cell.source = f'### BEGIN HIDDEN TESTS\ncheck("{exercise}").points\n### END HIDDEN TESTS'
            cells.append(cell)
    notebook.cells = cells
    return notebook
