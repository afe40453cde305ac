"""A term: three assignments and 40 students, with everything that happens; grades by hand and by program."""

import csv
import io
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from marked_cells import code, marked
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from term_class import CONFIG, typed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

CHECKS = """
from nbjudge.authoring import Exercise, case

third = Exercise("third", results=("third",), cell="t")

@third.group("fractions", points=10)
def fractions(draw):
    yield case(7.5)
    yield case(10.25)

@third.mistake("Only the whole part is divided.")
def dropped(x):
    return x // 1 / 3
"""
PARTS = "def third(x):\n    whole = x // 1\n    rest = x - whole\n    return whole / 3 + rest / 3"
RIGHT = {"ps1": "a = 1", "ps2": "a = 1", "ps3": PARTS}
WRONG = {"ps1": "a = 0", "ps2": "a = 0", "ps3": PARTS.replace(" + rest / 3", " + rest // 3")}
UNUSUAL = "\n\n\ndef steps({0}, low=0.37):\n    {0} = sorted({0})[::-1] + [low ** 3, len({0}) // 7]\n"
UNUSUAL += "    return sum({0}[2:-1:2]) * 11 - max({0}[:5]) / (low + 0.5)"
DUE = {"ps1": "2026-10-24", "ps2": "2026-11-10", "ps3": "2026-12-01"}  # at 23:59 in Vienna
STUDENTS = [f"s{number:02}" for number in range(1, 41)]


@dataclass
class Work:
    """What a person knows of one student's work, and the points that they work out from it."""

    auto: float
    hand: float = 0
    days_late: int = 0  # started ones
    percent: int = 10  # for each of them

    @property
    def points(self) -> float:
        points = self.auto + self.hand
        return round(points - points * self.percent * self.days_late / 100, 6)


class Term:
    """The course, and beside it the gradebook of a person with paper and pencil."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paper: dict[tuple[str, str], Work] = {}

    def type(self, line: str, *more: str) -> str:
        return typed(self.root, *line.split(), *more)

    def hand_in(
        self, assignment: str, received: dict[str, str], unusual: dict[str, str] | None = None
    ) -> None:
        """Let everybody hand in, who has no other time an hour before the deadline; every third is wrong."""
        for number, student in enumerate(STUDENTS):
            is_right = number % 3 != 0
            folder = self.root / "submitted" / student / assignment
            notebook = nbformat.read(self.root / f"release/{assignment}/{assignment}.ipynb", as_version=4)
            notebook.cells[0].source = (RIGHT if is_right else WRONG)[assignment]
            notebook.cells[0].source += (unusual or {}).get(student, "")
            notebook.cells[-1].source = f"Because of {student}."
            folder.mkdir(parents=True)
            nbformat.write(notebook, folder / f"{assignment}.ipynb")
            time = received.get(student, f"{DUE[assignment]} 20:00")
            (folder / "timestamp.txt").write_text(f"{time} UTC")
            self.paper[student, assignment] = Work(10 if is_right else 0)

    def agrees(self) -> None:
        """Compare what the program has with what a person worked out."""
        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
            found = {
                (work.student_id, assignment): round(
                    work.score - sum(each.late_submission_penalty or 0 for each in work.notebooks), 6
                )
                for assignment in DUE
                for work in gradebook.assignment_submissions(assignment)
            }
        assert found == {key: work.points for key, work in self.paper.items()}


@pytest.fixture
def term(tmp_path: Path) -> Term:
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/ps3.py").write_text(CHECKS)
    result = Term(tmp_path)
    for name in DUE:
        answer = f"### BEGIN SOLUTION\n{RIGHT[name]}\n### END SOLUTION"
        test = "assert third(3) == 1" if name == "ps3" else "assert a"
        why = marked(new_markdown_cell("Why?", id="why"), "why", grade=True, solution=True, points=5)
        cells = [
            code(answer, "a", solution=True),
            code(test, "t", grade=True, locked=True, points=10, cell_type="code"),
            why,
        ]
        (tmp_path / "source" / name).mkdir(parents=True)
        nbformat.write(new_notebook(cells=cells), tmp_path / f"source/{name}/{name}.ipynb")
        result.type(f"nbgrader generate_assignment {name}")
        result.type(f"nbjudge due {name}", f"{DUE[name]} 23:59")
    return result


def test_a_term(term):
    root, paper = term.root, term.paper
    rows = [f"{student};First{student};Last;{student}@x.org" for student in STUDENTS]
    (root / "roster.csv").write_text("\n".join(["id;first_name;last_name;email", *rows]))
    assert "40 of 40 students" in term.type("nbjudge student import roster.csv")

    # ps1: the clocks go back in the night after the deadline. An extension waits for its submission.
    assert "It enters the gradebook with" in term.type("nbjudge extend s05 ps1 --days 3")
    late = {"s04": "2026-10-25 22:30", "s05": "2026-10-27 12:00", "s06": "2026-10-25 23:30"}
    term.hand_in("ps1", late | {"s08": "2026-10-24 22:09"})
    term.type("nbjudge grade ps1")
    # s04 is 24 h 31 min late, on a day of 25 hours; s06 an hour more; s08 ten minutes.
    paper["s04", "ps1"].days_late, paper["s06", "ps1"].days_late, paper["s08", "ps1"].days_late = 1, 2, 1
    term.agrees()

    config = root / "nbgrader_config.py"
    config.write_text(
        config.read_text().replace("per_day = 10", "per_day = 20\nc.LatePolicy.grace_minutes = 15")
    )
    term.type("nbjudge due ps1")
    for work in paper.values():
        work.percent = 20
    paper["s08", "ps1"].days_late = 0
    term.agrees()
    term.type("nbjudge due ps1", "2026-10-25 12:00")
    paper["s04", "ps1"].days_late = paper["s06", "ps1"].days_late = 1
    term.agrees()

    # ps2: one student gets another name, one hands in under a second id, and answers are marked by hand.
    term.type("nbjudge student rename s01 ada")
    term.hand_in("ps2", {})
    for old, new in (("s01", "ada"), ("s02", "other")):
        shutil.move(root / "submitted" / old / "ps2", root / "submitted" / new / "ps2")
        paper[new, "ps2"] = paper.pop((old, "ps2"))
    paper["ada", "ps1"] = paper.pop(("s01", "ps1"))
    term.type("nbjudge grade ps2")
    term.agrees()
    assert "other is now s02." in term.type("nbjudge student merge other s02")
    paper["s02", "ps2"] = paper.pop(("other", "ps2"))
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for number, work in enumerate(gradebook.assignment_submissions("ps2")):
            grade = gradebook.find_grade("why", "ps2", "ps2", work.student_id)
            grade.manual_score, grade.needs_manual_grade = number % 6, False
            paper[work.student_id, "ps2"].hand = number % 6
        gradebook.db.commit()
    term.agrees()
    term.type("nbjudge grade ps2 --force --students s1*")  # marks stay
    term.agrees()

    # ps3: a mistake is worth more than the judge gives, for all who made it; two works are similar.
    received = {"s03": "2026-12-02 10:00"}
    term.hand_in("ps3", received, {"s11": UNUSUAL.format("rows"), "s30": UNUSUAL.format("table")})
    shutil.move(root / "submitted/s01/ps3", root / "submitted/ada/ps3")
    paper["ada", "ps3"] = paper.pop(("s01", "ps3"))
    paper["s03", "ps3"].days_late, paper["s03", "ps3"].percent = 1, 20
    term.type("nbjudge grade ps3")
    term.agrees()
    said = term.type("nbjudge regrade third s04 --points 8 --reason", "The statement could be read so.")
    assert "gets 8 of 10. Given by 14" in said
    for (_, assignment), work in paper.items():
        work.auto = 8 if (assignment, work.auto) == ("ps3", 0) else work.auto
    term.agrees()
    said = term.type("nbjudge similar ps3")
    assert "1 pair of works is closer than chance explains, of 40 works; the closest is s11 and s30." in said

    # At the end: the same points in every file, and no student in two places.
    term.type("nbgrader export --to grades.csv")
    rows = list(csv.DictReader((root / "grades.csv").read_text().splitlines()))
    exported = {(row["student_id"], row["assignment"]): round(float(row["score"]), 6) for row in rows}
    assert exported == {key: work.points for key, work in paper.items()}
    term.type("nbgrader generate_feedback ps2")
    term.type("nbjudge return ps2 --mail-merge")
    mail = zipfile.ZipFile(root / "returned/ps2-mail-merge.zip").read("mail.csv").decode("utf-8-sig")
    sent = {row["Email"]: float(row["Points"]) for row in csv.DictReader(io.StringIO(mail))}
    address = {student: f"{student}@x.org" for student in STUDENTS} | {"ada": "s01@x.org"}
    assert sent == {
        address[student]: paper[student, "ps2"].points for student, name in paper if name == "ps2"
    }
    term.type("nbjudge report ps1")
    text = (root / "reports/ps1/students.csv").read_text(encoding="utf-8-sig")
    reported = {row["student"]: float(row["points"]) for row in csv.DictReader(io.StringIO(text))}
    assert reported == {student: paper[student, "ps1"].points for student, name in paper if name == "ps1"}
