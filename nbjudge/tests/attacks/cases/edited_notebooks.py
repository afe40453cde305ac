"""Notebooks that were edited to earn points."""

import copy
import json

from attack import Attack, wrong
from nbformat.v4 import new_code_cell, new_output
from tiny_course import after, cell_of, without


class CellTagsAndMetadata(Attack):
    """Marks its cells as skipped, judged, worth a hundred points, and its notebook as another kernel's."""

    files = {
        "kernels/mine/kernel.json": b'{"argv": ["touch", "mine"], "language": "python", "display_name": "x"}'
    }
    MARKS = {
        "tags": ["raises-exception", "skip-execution", "nbgrader-skip", "left-out-of-grading", "remove-cell"],
        "nbjudge": {"check": "biggest", "left_out": True, "points": 2},
        "deletable": True,
        "execution": {"timeout": 10**9},
    }

    def submission(self, arena):
        work = wrong()
        for cell in work.cells:
            cell.metadata |= self.MARKS
            if "nbgrader" in cell.metadata:
                cell.metadata["nbgrader"] |= {"points": 100, "grade": False, "locked": False, "task": True}
        verdict = {"exercise": "double", "points": 2, "max_points": 2}
        work.metadata |= {
            "nbjudge": {"seed": 1, "reason": "", "points": verdict},
            "nbgrader": {"points": 5},
        }
        work.metadata["kernelspec"] = {
            "name": "../../../submitted/cell_tags_and_metadata/01_tiny/kernels/mine",
            "display_name": "<script>alert(2)</script>",
            "language": "bash",
            "argv": ["touch", "/tmp/mine"],
        }
        work.metadata["language_info"] = {
            "name": "bash",
            "version": [],
            "codemirror_mode": {"x": ["y"] * 100},
        }
        return work


class CollidingNames(Attack):
    """Gives cells each other's names, the grader's, and names that are no text or far too long."""

    def submission(self, arena):
        work = wrong()
        cell_of(work, "double").metadata.nbgrader["grade_id"] = "test_double"
        cell_of(work, "test_double").metadata.nbgrader["grade_id"] = "double"
        cell_of(work, "row_sums").metadata.nbgrader["grade_id"] = ["test_row_sums"]
        cell_of(work, "test_biggest").metadata.nbgrader["grade_id"] = "x" * 10**6
        for cell_id, name in (
            ("title", "from-the-grader"),
            ("shown", "own-1-1"),
            ("end", "biggest"),
            ("setup", "</a>"),
        ):
            cell_of(work, cell_id)["id"] = name
        return work


class DuplicatedGradedCells(Attack):
    """Copies graded cells many times, each with a result of its own, and makes more worth points."""

    def submission(self, arena):
        work = wrong()
        for name, points in (("double", 2), ("row_sums", 2), ("biggest", 1)):
            for place in (0, 5, len(work.cells)):
                forged = copy.deepcopy(cell_of(work, f"test_{name}"))
                forged.source = str(points)
                forged.outputs = [
                    new_output("execute_result", data={"text/plain": str(points)}, execution_count=1)
                ]
                work.cells.insert(place, forged)
                more = copy.deepcopy(forged)
                more.id = more.metadata.nbgrader["grade_id"] = f"test_more_{name}_{place}"
                more.metadata.nbgrader["points"] = 100
                work.cells.insert(place, more)
        return work


class EditedGradedCells(Attack):
    """Edits, deletes and retypes graded and locked cells, and leaves results under their names."""

    represents = "edited notebooks"

    def submission(self, arena):
        work = without(wrong(), "test_double", "shown")
        two = new_output("execute_result", data={"text/plain": "2"}, metadata={"nbjudge": {"points": 2}})
        after(work, "double", new_code_cell("2", id="test_double", outputs=[two]))
        cell_of(work, "test_row_sums").source = "raise SystemExit"
        cell_of(work, "setup").source = "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True"
        prose = cell_of(work, "test_biggest")
        prose.source = "pass\n### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS"
        prose.cell_type = "markdown"
        del prose["outputs"], prose["execution_count"]
        return work


class VerdictsHandedIn(Attack):
    """Hands in a notebook that is graded already: verdicts, points and records in all metadata."""

    VERDICT = {
        "exercise": "double", "seed": 1, "points": 2, "max_points": 2, "findings": [],
        "groups": [{"name": "tapir", "points": 2, "is_earned": True, "note": ""}],
    }  # fmt: skip
    RECORD = {
        "check": "biggest",
        "verdict": VERDICT,
        "seed": 1,
        "reason": "",
        "note": "",
        "half_graded": False,
    }

    def submission(self, arena):
        work = wrong()
        html = {"text/plain": "2", "text/html": "<h4>double: 2 of 2 points</h4>"}
        for cell in work.cells:
            cell.metadata["nbjudge"] = dict(self.RECORD)
            cell.metadata.setdefault("nbgrader", {}).update(score=2, points=2, comment="Well done.")
            cell["attachments"] = {"x.png": html}
            if cell.cell_type == "code":
                cell["outputs"] = [
                    {"output_type": "execute_result", "data": html, "metadata": {"nbjudge": self.VERDICT},
                     "execution_count": 1}
                ] * 2  # fmt: skip
        work.metadata["nbjudge"] = dict(self.RECORD)
        return json.dumps(work).encode()

    def harm(self, arena):
        content = json.dumps(arena.graded.notebook(self.name))
        return (
            "a verdict of its own is still there" if '"tapir"' in content or "Well done." in content else ""
        )
