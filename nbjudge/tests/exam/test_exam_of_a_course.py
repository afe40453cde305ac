"""An exam in the example course: drawn, handed in, graded and compared, and what the command refuses."""

import csv
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import nbformat
import pytest
from nbgrader_command import typed

from nbjudge.course.course import find_course
from nbjudge.exam.blueprint import Blueprint, QuestionTable
from nbjudge.record.graded_notebook import read_graded
from nbjudge.record.grades import read_grades

pytestmark = pytest.mark.integration
EXAMPLE = Path(__file__).parents[3] / "examples" / "statistics"
PAGE = (Path(__file__).parents[2] / "docs" / "exams.md").read_text()
DRAW = ("nbjudge", "exam", "--students", "roster.csv", "--minutes", "15", "--key", "k")


def roster(root, *students):
    (root / "roster.csv").write_text("\n".join(["id,email", *(f"{each},{each}@x.org" for each in students)]))


def solved(root, student, exam="exam"):
    """A student's paper with right answers in it, and the answers to its questions."""
    notebook = nbformat.read(root / f"papers/{exam}/{student}/{exam}.ipynb", as_version=4)
    paper = find_course(root).assignments[exam].for_student(student)
    keys = {cell.id: cell.source for cell in nbformat.read(paper.source_path, as_version=4).cells}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = keys[cell.id].split("### BEGIN SOLUTION\n")[1].split("\n### END SOLUTION")[0]
    return notebook, {name: question.right_answer for name, question in paper.questions.items()}


def hand_in(root, student, notebook, answers):
    folder = root / "submitted" / student / "exam"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "exam.ipynb")
    (folder / "answers.json").write_text(json.dumps(answers))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The course with an exam for three students, graded: right, as it was given out, and changed."""
    root = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("exam") / "statistics"))
    typed(root, "nbjudge", "init")
    roster(root, "ada", "ben", "cid")
    assert "Nothing was changed" in typed(root, *DRAW, "--dry-run")
    assert not (root / "papers").exists() and not (root / "source/exam").exists()
    said = typed(root, *DRAW)
    assert (
        "3 papers of 15 points each (tasks: 1, questions with a number: 1, questions with choices: 1)."
        in said
    )
    hand_in(root, "ada", *solved(root, "ada"))
    hand_in(root, "ben", nbformat.read(root / "papers/exam/ben/exam.ipynb", as_version=4), {})
    notebook, answers = solved(root, "cid")
    number, choices = (cell for cell in notebook.cells if cell.source.startswith("ask("))
    number.source = number.source.replace("ask(", "ask(right=1, ")
    notebook.cells.remove(choices)
    hand_in(root, "cid", notebook, answers)
    typed(root, "nbjudge", "grade", "exam")
    return root


def points(root, student):
    cells = read_grades(f"sqlite:///{root / 'gradebook.db'}", "exam")[student, "exam"].cells
    return {name: cell.points for name, cell in cells.items() if cell.max_points}


def test_each_has_the_points_of_the_own_paper(root):
    full = {"task_1_points": 8, "question_1": 4, "question_2": 3}
    assert points(root, "ada") == full
    assert points(root, "ben") == dict.fromkeys(full, 0)  # the wrong answer that passes some groups, too
    assert points(root, "cid") == full
    note = read_graded(root / "autograded/cid/exam/exam.ipynb").record.note
    assert "'question_1' was changed" in note and "'question_2' was missing" in note


def test_papers_differ_and_hold_no_answer(root):
    texts = {}
    for student in ("ada", "ben", "cid"):
        notebook = nbformat.read(root / f"papers/exam/{student}/exam.ipynb", as_version=4)
        texts[student] = "\n".join(cell.source for cell in notebook.cells)
        paper = find_course(root).assignments["exam"].for_student(student)
        keys = nbformat.read(paper.source_path, as_version=4).cells
        right = next(cell.source for cell in keys if cell.id == "task_1").split("### BEGIN SOLUTION\n")[1]
        shown = set(texts[student].splitlines())
        assert [line for line in right.splitlines()[:-1] if line not in shown and len(line) > 10]
        for question in paper.questions.values():
            assert not [reply for reply in question.replies.values() if reply in texts[student]]
        assert "BEGIN" not in json.dumps(notebook) and "right=" not in texts[student]
    first, second, third = (set(text.splitlines()) for text in texts.values())
    assert first - second and second - third and second - first


def test_the_same_key_writes_the_same_papers(root):
    before = {path: path.read_bytes() for path in root.glob("papers/exam/*/*.ipynb")}
    typed(root, *DRAW)
    assert len(before) == 3 and {path: path.read_bytes() for path in before} == before
    said = typed(root, *DRAW[:-1], "other", status=1)
    assert "drawn already, and the papers of" in said and "would change: nothing was written" in said
    assert {path: path.read_bytes() for path in before} == before


def test_results_compare_papers(root):
    said = typed(root, "nbjudge", "exam-results")
    assert "3 students earned 10.0 points on average" in said
    with (root / "reports/exam-exam/students.csv").open(encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {each: float(row["comparable points"]) for each, row in rows.items()} == {
        "ada": 15,
        "ben": 0,
        "cid": 15,
    }
    page = (root / "reports/exam-exam/index.html").read_text()
    assert "comparable" in page and "ada" in page
    earned = json.loads((root / "reports/exam-exam/items.json").read_text())
    assert sum(count for count, _ in earned.values()) == 9
    # What was earned counts in the next exam, which has other papers.
    assert "Nothing was changed" in typed(root, *DRAW, "--name", "retake", "--dry-run")
    assert "is no exam" in typed(root, "nbjudge", "exam-results", "ps1", status=1)


def test_a_renamed_student_keeps_the_paper(root, tmp_path):
    copied = Path(shutil.copytree(root, tmp_path / "copied"))
    typed(copied, "nbjudge", "student", "rename", "ada", "lovelace")
    typed(copied, "nbjudge", "grade", "exam", "--force", "--students", "lovelace")
    assert sum(points(copied, "lovelace").values()) == 15
    shutil.copytree(copied / "submitted/lovelace", copied / "submitted/eve")
    said = typed(copied, "nbjudge", "grade", "exam", status=1)
    assert "'eve' has no paper of exam: put the student at the end of the roster" in said


@pytest.mark.parametrize(
    ("students", "words", "sentence"),
    [
        (("ada", "ben", "ada"), (), "has the id ada more than once: give each student one row"),
        (("ada", ""), (), "has no id for @x.org: a paper is drawn for an id"),
        (("a/b",), (), "'a/b', which cannot be the name of a folder"),
        ((), (), "has no students"),
        (("ada",), ("--students", "none.csv"), "none.csv cannot be read (No such file or directory)"),
        (("ada",), ("--name", "ps1"), "There is an assignment 'ps1' already, which is no exam"),
        (("ada",), ("--minutes", "2"), "Nothing fits into 2 minutes"),
        (("ada", "ben"), ("--minutes", "60"), "too few tasks: a paper of 60 minutes needs"),
        (("ada",), ("--lessons", "ps9"), "There is no assignment 'ps9'"),
        (("ada",), ("--lessons", "quiz1"), "No notebook of 'quiz1' has a blueprint"),
    ],
)
def test_what_cannot_be_drawn(tmp_path, students, words, sentence):
    root = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    roster(root, *students)
    said = typed(root, *DRAW, *words, status=1)
    assert sentence in said and not (root / "papers").exists()


def test_a_task_that_is_unknown(tmp_path):
    root = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    file = root / "checks/spread/exam.toml"
    file.write_text(file.read_text().replace('"deviation"', '"deviatoin"'))
    roster(root, "ada")
    said = typed(root, *DRAW, status=1)
    assert "the task 'deviatoin', which has no hunts. Did you mean deviation?" in said


def test_the_commands_of_the_page(tmp_path):
    """Each is typed in its order, in the example course; works come when it speaks of grading."""
    root = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    typed(root, "nbjudge", "init")
    roster(root, "ada", "ben", "cid")
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(commands) == 5
    for words in commands:
        if words[:2] == ["nbjudge", "grade"]:
            for student in ("ada", "ben", "cid"):
                hand_in(root, student, *solved(root, student))
        typed(root, *words)
    assert sum(points(root, "ben").values()) == 15
    assert (root / "feedback/ben/exam/exam.html").is_file() and (root / "release/exam/exam.ipynb").is_file()


def test_the_page_has_the_blueprint_of_the_example_and_every_key():
    (shown,) = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert tomllib.loads(shown) == tomllib.loads((EXAMPLE / "checks/spread/exam.toml").read_text())
    keys = {*Blueprint.__struct_fields__, *QuestionTable.__struct_fields__} - {"questions"}
    table = PAGE.partition("| key | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE)) == keys
