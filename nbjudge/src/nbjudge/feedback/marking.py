"""What the gradebook knows and nbgrader's own `GetGrades` leaves out: whether a person has yet to mark."""

from __future__ import annotations

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor


class SayWhatIsUnmarked(NbGraderPreprocessor):  # type: ignore[misc]
    """Writes `needs_marking` into the nbgrader metadata of each graded cell that waits for a person."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            found = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            waiting = {grade.name for grade in found.grades if grade.needs_manual_grade}
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader", {})
            if marks.get("grade_id") in waiting:
                marks["needs_marking"] = True
        return nb, resources
