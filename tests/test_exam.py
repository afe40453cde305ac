"""Exams of the lessons: the draw from their blueprints, and a class of 30 that is graded."""

import csv
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from rich.progress import Progress

from nbjudge.course import find_course
from nbjudge.exam.blueprint import FIX
from nbjudge.exam.draw import BOUND, draw_papers, points_of
from nbjudge.exam.items import find_items

ROOT = Path(__file__).resolve().parents[1]
STUDENTS = [f"s{number:02}" for number in range(30)]


@pytest.fixture(scope="module")
def items():
    """All items; what was measured of the hunts is that of the hunts as they are now."""
    stored = {file: file.read_bytes() for file in ROOT.glob("checks/*/exam.json")}
    with Progress(disable=True) as progress:
        found = find_items(find_course(ROOT), "*", progress, {})
    stale = [file for file in ROOT.glob("checks/*/exam.json") if file.read_bytes() != stored.get(file)]
    for file in stale:
        file.write_bytes(stored.get(file, b"{}"))
    assert not stale, "attention-lab exam --dry-run makes these again: commit them"
    return found


@pytest.mark.integration
def test_papers_of_a_large_class(items):
    tasks = [item for item in items if item.kind == FIX]
    assert len(tasks) >= 200 and len({item.family for item in tasks}) >= 30
    students = [f"s{number:03}" for number in range(120)]
    papers = draw_papers(items, students, 45, b"key", "exam")
    for one, other in itertools.pairwise(papers):
        assert not {item.id for item in one.items} & {item.id for item in other.items}
        assert not {item.family for item in one.items} & {
            item.family for item in other.items if item.kind == FIX
        }
    expected = [paper.expected for paper in papers]
    points = points_of(item.kind for item in papers[0].items)
    assert points == 45 and max(expected) - min(expected) <= 2 * BOUND * points
    assert len({frozenset(item.id for item in paper.items) for paper in papers}) == len(papers)


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_a_class_of_30(tmp_path):
    """Right answers everywhere have all points, a paper as it was given out has none."""
    for name in ("source", "checks", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    (tmp_path / "roster.csv").write_text("\n".join(["id", *STUDENTS]))

    def typed(*words):
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        program = Path(sys.executable).with_name("attention-lab")
        run = subprocess.run([program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
        return run.stdout

    typed("exam", "--students", "roster.csv", "--minutes", "45", "--key", "a class")
    exam = find_course(tmp_path).assignments["exam"]
    for number, student in enumerate(STUDENTS):
        folder = tmp_path / "submitted" / student / "exam"
        folder.mkdir(parents=True)
        notebook = nbformat.read(tmp_path / f"papers/exam/{student}/exam.ipynb", as_version=4)
        if number % 3:
            paper = exam.for_student(student)
            keys = {cell.id: cell.source for cell in nbformat.read(paper.source_path, as_version=4).cells}
            for cell in notebook.cells:
                if cell.metadata.get("nbgrader", {}).get("solution"):
                    cell.source = (
                        keys[cell.id].split("### BEGIN SOLUTION\n")[1].split("\n### END SOLUTION")[0]
                    )
            answers = {name: question.right_answer for name, question in paper.questions.items()}
            (folder / "answers.json").write_text(json.dumps(answers))
        nbformat.write(notebook, folder / "exam.ipynb")
    typed("grade", "exam")
    typed("exam-results")
    with (tmp_path / "reports/exam-exam/students.csv").open(encoding="utf-8-sig") as file:
        points = {row["student"]: float(row["points"]) for row in csv.DictReader(file)}
    assert points == {student: 45 if number % 3 else 0 for number, student in enumerate(STUDENTS)}
