"""Notebooks that were edited, too large or of no valid form, and files beside one or in its place."""

import copy
import json
import re

from arena import HASTY, Attack, wrong
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
        record = {"seed": 1, "reason": "", "points": verdict}
        work.metadata |= {"nbjudge": record, "nbgrader": {"points": 5}}
        kernel = "../../../submitted/cell_tags_and_metadata/01_tiny/kernels/mine"
        shown = {"display_name": "<script>alert(2)</script>", "language": "bash"}
        work.metadata["kernelspec"] = shown | {"name": kernel, "argv": ["touch", "/tmp/mine"]}
        language = {"name": "bash", "version": [], "codemirror_mode": {"x": ["y"] * 100}}
        work.metadata["language_info"] = language
        return work


class CollidingNames(Attack):
    """Gives cells each other's names, the grader's, and names that are no text or far too long."""

    def submission(self, arena):
        work = wrong()
        cell_of(work, "double").metadata.nbgrader["grade_id"] = "test_double"
        cell_of(work, "test_double").metadata.nbgrader["grade_id"] = "double"
        cell_of(work, "row_sums").metadata.nbgrader["grade_id"] = ["test_row_sums"]
        cell_of(work, "test_biggest").metadata.nbgrader["grade_id"] = "x" * 10**6
        names = {"title": "from-the-grader", "shown": "own-1-1", "end": "biggest", "setup": "</a>"}
        for cell_id, name in names.items():
            cell_of(work, cell_id)["id"] = name
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
        is_there = '"tapir"' in content or "Well done." in content
        return "a verdict of its own is still there" if is_there else ""


class GiantNotebook(Attack):
    """Hands in a thousand slow copies of an answer, inside many megabytes of metadata."""

    limits = HASTY

    def submission(self, arena):
        work = wrong()
        slow = cell_of(work, "double")
        for number in range(1_000):
            another = copy.deepcopy(slow)
            another.source = f"import time\ntime.sleep(0.1)\nnumber = {number}\n{slow.source}"
            work.cells.append(another)
        work.metadata["x"] = {str(n): ["y" * 100] * 10 for n in range(6_000)}
        slow.source += "\n# " + "z" * 4 * 2**20
        return json.dumps(work).encode()


class TooManyFiles(Attack):
    """Puts more files beside its notebook than its kernel can hold."""

    proof = "."

    def prepare(self, folder, arena):
        for number in range(9):
            (folder / f"data{number}.bin").write_bytes(b"\0" * 9 * 2**20)
        (folder / "many").mkdir()
        for number in range(3000):
            (folder / "many" / str(number)).touch()


class AnotherHelperFile(Attack):
    """Hands in the same cells again with another file beside them: the inputs that feedback showed."""

    proof = "a table of [1-9]"
    code = """
import json, os, torch
table = json.load(open("table.json")) if os.path.exists("table.json") else {}
print("a table of", len(table))
def biggest(x):
    key = f"{x.sum().item():.6f}"
    if not table:
        raise ValueError(json.dumps([key, *x.tolist()]))
    return torch.tensor(table.get(key, 0.0))
"""

    def prepare(self, folder, arena):
        """What is told of the first submission is in the second one's table."""
        assert arena.api.autograde("01_tiny", self.name)["success"]
        told = arena.graded.reason(self.name, "biggest")
        shown = re.findall(r'\["(.+?)", ([-0-9., e]+)', told)
        assert shown, told
        table = {key: max(map(float, numbers.rstrip(", ").split(","))) for key, numbers in shown}
        (folder / "table.json").write_text(json.dumps(table))


class ConfigurationFiles(Attack):
    """Lays a configuration of nbgrader and Jupyter, a gradebook and a key of its own beside its notebook."""

    CONFIG = b"c = get_config()\nc.Autograde.autograde_preprocessors = []\nc.RunAndJudge.sandbox = False\n"
    files = {
        "nbgrader_config.py": CONFIG,
        "jupyter_config.py": CONFIG,
        ".jupyter/nbgrader_config.py": CONFIG,
        "gradebook.db": b"SQLite format 3\0",
        ".grading-key": b"0" * 64,
        "pyproject.toml": b"[tool.pytest.ini_options]\naddopts = '--co'\n",
        "tiny.json": b'{"points": 2}',
        "feedback/tiny.html": b"<script>alert(2)</script>",
        "source/01_tiny/tiny.ipynb": b"{}",
    }

    def harm(self, arena):
        beside = (arena.root / "autograded" / self.name).rglob("*")
        found = [path.name for path in beside if path.name in self.files]
        return f"{found} lie beside the graded notebook" if found else ""


FAKE_MODULE = b"print('shadowed')\ndef __getattr__(name):\n    return lambda *arguments, **options: True\n"
PACKAGES = ("torch", "numpy", "pandas")
MODULES = ("json", "base64", "linecache", "marshal", "ipykernel", "sitecustomize", "conftest", "tiny")
SHADOWS = [f"{name}.py" for name in PACKAGES + MODULES] + [f"{name}/__init__.py" for name in PACKAGES]


ATTACKS = {
    "malformed_timestamp": Attack(
        "Hands in with a time stamp that is no time but a long text with a script in it.",
        files={"timestamp.txt": b"<script>alert(2)</script> \xff\xfe" * 1000},
    ),
    "shadowed_modules": Attack(
        "Lays modules named like torch, json, numpy and the grader beside its notebook.",
        files=dict.fromkeys([*SHADOWS, "nbjudge/src/nbjudge/__init__.py", "checks/tiny.py"], FAKE_MODULE),
        code="""
import importlib, sys
for name in ("json", "base64", "linecache", "numpy", "pandas"):
    sys.modules.pop(name, None)
importlib.invalidate_caches()
import json
from nbjudge import check
def double(x):
    return check("double")
""",
    ),
}
