"""An instructor runs a lesson from JupyterLab's formgrader, from making the release to returning feedback."""

import csv
import re
from pathlib import Path

import nbformat
import pytest
from course_copies import ANSWERS, MARK_SCHEME
from nbformat import NotebookNode
from pages import COMMENT, Formgrader, mark_the_question
from playwright.sync_api import expect
from servers import Teacher, make_school, submit
from tiny_course import FOLDER, NAME, succeed

pytestmark = [pytest.mark.integration, pytest.mark.browser]

# A cell of a student's own: run outside the sandbox it would print True.
LOOK_AROUND = "import os\nprint('the gradebook is in sight:', os.path.exists({gradebook!r}))"


def test_a_lesson_goes_from_source_to_feedback(tmp_path, page):
    make_school(tmp_path)
    course = tmp_path / "course"
    with Teacher(tmp_path) as teacher:
        formgrader = Formgrader(page, teacher.url())
        formgrader.press(FOLDER, "assign")
        formgrader.press(FOLDER, "release")
        given_out = read(tmp_path / "exchange/attention-lab/outbound" / FOLDER)
        nothing_is_given_away(given_out)
        submit(tmp_path, "ada", solved_by_ada(given_out, course / "gradebook.db"))
        formgrader.press(FOLDER, "collect")

        formgrader.row(FOLDER).locator(".num-submissions a").click()
        expect(formgrader.row("ada")).to_contain_text("needs autograding")
        formgrader.press("ada", "autograde")
        expect(formgrader.row("ada")).to_contain_text("needs manual grading")
        expect(formgrader.row("ada")).to_contain_text("5 / 7")
        ran_in_the_sandbox(read(course / "autograded/ada" / FOLDER))

        formgrader.open("Manual Grading", FOLDER, NAME, "Submission #1")
        mark_the_question(formgrader)
        formgrader.open(NAME)
        expect(formgrader.row("Submission #1")).to_contain_text("6.5 / 7")  # in all
        expect(formgrader.row("Submission #1")).to_contain_text("5 / 5")  # code, by the judge
        expect(formgrader.row("Submission #1")).to_contain_text("1.5 / 2")  # prose, by hand

        formgrader.open("Manage Assignments")
        formgrader.press(FOLDER, "generate-feedback")
        formgrader.press(FOLDER, "release-feedback")
        formgrader.row(FOLDER).locator(".num-submissions a").click()
        expect(formgrader.row("ada")).to_contain_text("graded")
        expect(formgrader.row("ada")).to_contain_text("6.5 / 7")
        formgrader.press("ada", "generate-feedback")
        assert "ada" in formgrader.press("ada", "release-feedback")
    (feedback,) = (tmp_path / "exchange/attention-lab/feedback").glob("*.html")
    assert COMMENT in feedback.read_text() and "6.5</strong> of 7" in feedback.read_text()
    succeed(course, "export", "--to", "grades.csv")
    with (course / "grades.csv").open() as file:
        (grades,) = csv.DictReader(file)
    assert (grades["student_id"], float(grades["score"]), float(grades["max_score"])) == ("ada", 6.5, 7)


def read(folder: Path) -> NotebookNode:
    return nbformat.read(folder / f"{NAME}.ipynb", as_version=4)


def nothing_is_given_away(release: NotebookNode) -> None:
    text = nbformat.writes(release)
    assert "NotImplementedError" in text and "is twice one two?" in text
    assert not re.search("okapi|tapir|quagga|nbjudge|numbat|HIDDEN|MARK SCHEME", text)
    assert MARK_SCHEME not in text
    assert not [cell for cell in release.cells if cell.get("outputs")]


def solved_by_ada(release: NotebookNode, gradebook: Path) -> NotebookNode:
    for cell in release.cells:
        cell.source = ANSWERS.get(cell.id, cell.source)
    release.cells.append(nbformat.v4.new_code_cell(LOOK_AROUND.format(gradebook=str(gradebook)), id="look"))
    assert gradebook.exists()
    return release


def ran_in_the_sandbox(graded: NotebookNode) -> None:
    (looked,) = [cell for cell in graded.cells if cell.source.startswith("import os")]
    assert looked.outputs[0].text == "the gradebook is in sight: False\n"
