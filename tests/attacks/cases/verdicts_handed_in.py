"""Hands in a notebook that is graded already: verdicts, points and records in every place for metadata."""

import json

from attack import wrong

VERDICT = {
    "exercise": "double", "seed": 1, "points": 2, "max_points": 2, "findings": [],
    "groups": [{"name": "tapir", "points": 2, "is_earned": True, "note": ""}],
}  # fmt: skip
RECORD = {"check": "biggest", "verdict": VERDICT, "seed": 1, "reason": "", "note": "", "half_graded": False}


def submission():
    work = wrong()
    html = {"text/plain": "2", "text/html": "<h4>double: 2 of 2 points</h4>"}
    for cell in work.cells:
        cell.metadata["nbjudge"] = dict(RECORD)
        cell.metadata.setdefault("nbgrader", {}).update(score=2, points=2, comment="Well done.")
        cell["attachments"] = {"x.png": html}
        if cell.cell_type == "code":
            cell["outputs"] = [
                {"output_type": "execute_result", "data": html, "metadata": {"nbjudge": VERDICT},
                 "execution_count": 1}
            ] * 2  # fmt: skip
    work.metadata["nbjudge"] = dict(RECORD)
    return json.dumps(work).encode()


def harm(arena):
    content = json.dumps(arena.graded.notebook(__name__))
    return "a verdict of its own is still there" if '"tapir"' in content or "Well done." in content else ""
