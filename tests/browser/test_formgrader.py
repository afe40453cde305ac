"""An instructor runs a lesson from JupyterLab's formgrader, from making the release to returning feedback."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import FrameLocator, Locator, Page, expect
from school import Teacher, make_school, submit
from tiny_course import FOLDER, NAME, succeed
from written_question import ANSWERS, MARK_SCHEME

pytestmark = pytest.mark.browser

# A cell of a student's own: run outside the sandbox it would print True.
LOOK_AROUND = "import os\nprint('the gradebook is in sight:', os.path.exists({gradebook!r}))"
COMMENT = "The wombat is there, the reason is not."


class Formgrader:
    """nbgrader's formgrader, opened from JupyterLab's menu."""

    def __init__(self, page: Page, teacher: Teacher):
        self.page = page
        page.goto(teacher.url())
        page.get_by_role("menuitem", name="Nbgrader").click()
        page.get_by_role("menuitem", name="Formgrader").click()

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe[src*=formgrader]")

    def row(self, text: str) -> Locator:
        """The row of the page's table that holds this text."""
        return self.frame.locator("#main-table tr", has_text=text)

    def open(self, *links: str) -> None:
        """Follow links, one page after the other."""
        for link in links:
            self.frame.get_by_role("link", name=link, exact=True).first.click()

    def press(self, row: str, button: str) -> str:
        """Press the button in a row's column; returns what is said then, and closes it."""
        self.row(row).locator(f".{button} a").click()
        said = self.frame.locator("#success-modal, #error-modal")
        expect(said).to_be_visible()
        text = said.inner_text()
        assert said.get_attribute("id") == "success-modal", text
        said.get_by_role("button", name="OK").click()
        expect(said).to_have_count(0)
        return text


def test_a_lesson_is_made_released_collected_graded_marked_and_returned(tmp_path, page, picture):
    make_school(tmp_path)
    course = tmp_path / "course"
    with Teacher(tmp_path) as teacher:
        teacher.wait_until_jupyterlab_answers()
        formgrader = Formgrader(page, teacher)
        formgrader.press(FOLDER, "assign")
        formgrader.press(FOLDER, "release")
        given_out = read(tmp_path / "exchange/attention-lab/outbound" / FOLDER)
        assert MARK_SCHEME not in nbformat.writes(given_out)
        submit(tmp_path, "ada", solved_by_ada(given_out, course / "gradebook.db"))
        formgrader.press(FOLDER, "collect")
        picture(page, "formgrader-lessons")

        formgrader.row(FOLDER).locator(".num-submissions a").click()
        expect(formgrader.row("ada")).to_contain_text("needs autograding")
        formgrader.press("ada", "autograde")
        expect(formgrader.row("ada")).to_contain_text("needs manual grading")
        expect(formgrader.row("ada")).to_contain_text("5 / 7")
        picture(page, "formgrader-submissions")
        ran_in_the_sandbox(read(course / "autograded/ada" / FOLDER))

        formgrader.open("Manual Grading", FOLDER, NAME, "Submission #1")
        mark_the_question(formgrader, picture)
        formgrader.open(NAME)
        expect(formgrader.row("Submission #1")).to_contain_text("6.5 / 7")  # in all
        expect(formgrader.row("Submission #1")).to_contain_text("5 / 5")  # code, by the judge
        expect(formgrader.row("Submission #1")).to_contain_text("1.5 / 2")  # prose, by hand
        picture(page, "formgrader-marked")

        formgrader.open("Manage Assignments")
        formgrader.press(FOLDER, "generate-feedback")
        formgrader.press(FOLDER, "release-feedback")
        formgrader.row(FOLDER).locator(".num-submissions a").click()
        expect(formgrader.row("ada")).to_contain_text("graded")
        expect(formgrader.row("ada")).to_contain_text("6.5 / 7")
        picture(page, "formgrader-graded")
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


def solved_by_ada(release: NotebookNode, gradebook: Path) -> NotebookNode:
    for cell in release.cells:
        cell.source = ANSWERS.get(cell.id, cell.source)
    release.cells.append(nbformat.v4.new_code_cell(LOOK_AROUND.format(gradebook=str(gradebook)), id="look"))
    assert gradebook.exists()
    return release


def ran_in_the_sandbox(graded: NotebookNode) -> None:
    (looked,) = [cell for cell in graded.cells if cell.source.startswith("import os")]
    assert looked.outputs[0].text == "the gradebook is in sight: False\n"


def mark_the_question(formgrader: Formgrader, picture) -> None:
    """One point and a half, with a word on why; the mark scheme is in front of whoever marks."""
    frame = formgrader.frame
    expect(frame.get_by_text(MARK_SCHEME)).to_be_visible()
    expect(frame.get_by_text(ANSWERS["why"])).to_be_visible()
    cell = frame.locator(".nbgrader_cell", has=frame.locator("#why"))
    # Its buttons work as soon as the page has filled this in.
    expect(cell.locator(".extra-credit")).to_have_attribute("placeholder", "0")
    with saved(formgrader, "grade"):
        cell.get_by_role("button", name="Full credit").click()
    expect(frame.locator("#why")).to_have_value("2")
    for box, kind, text in (("#why", "grade", "1.5"), ("#why-comment", "comment", COMMENT)):
        with saved(formgrader, kind):
            frame.locator(box).fill(text)
            frame.locator(box).press("Tab")
    frame.locator("#why").scroll_into_view_if_needed()
    picture(formgrader.page, "formgrader-question")


@contextmanager
def saved(formgrader: Formgrader, kind: str) -> Iterator[None]:
    """Waits until what is done within has been saved in the gradebook, and the page knows of it.

    When the answer has come, the page writes what was saved into the boxes: over what was typed meanwhile.
    """
    with formgrader.page.expect_response(
        lambda answer: f"/api/{kind}/" in answer.url and answer.request.method == "PUT"
    ) as answer:
        yield
    assert answer.value.ok
    box = "score" if kind == "grade" else "comment"
    for sign in formgrader.frame.locator(f".{box}-saved").all():
        expect(sign).to_have_class(re.compile("glyphicon-ok"))
