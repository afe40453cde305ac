"""What is due: the first page says it, a lesson and the day's notebook work it off."""

import json
from datetime import date, timedelta

import pytest
from pages import LessonPage, answers_of, write_answers
from playwright.sync_api import expect
from rich.console import Console

from attention_lab.start.practice.due import CARDS
from attention_lab.start.practice.session import practise
from attention_lab.tutor import RECORD
from nbjudge.tutor import LearnerRecord

pytestmark = [pytest.mark.integration, pytest.mark.browser]
START = "00_start_here/start_here.ipynb"
FIRST, SECOND = "01_dot_product/dot_product.ipynb", "02_scaling/scaling.ipynb"


@pytest.mark.timeout(600)
def test_what_is_due_is_said_and_worked_off(start_lab, page, elsewhere):
    lab = start_lab()
    weeks_ago = str(date.today() - timedelta(weeks=3))
    record = LearnerRecord(lab.folder / RECORD)
    record.add_check("softmax", "01_dot_product", "code", 8, 8)
    record.add_hunt("softmax", "01_dot_product", "3f", "found")
    content = json.loads((lab.folder / RECORD).read_text())
    content["softmax"] |= {"reviews": {weeks_ago: 3}, "hunted": {weeks_ago: 2}}
    (lab.folder / RECORD).write_text(json.dumps(content))

    def due() -> str:
        start = LessonPage(page, lab, START)
        for cell_id in ("setup", "progress"):
            start.run_cell(cell_id)
        shown = start.show("progress").locator(".jupyter-widgets").get_by_text("Due for practice today:")
        expect(shown).to_be_visible()
        return shown.inner_text()

    assert "1 exercise, 1 bug hunt, 9 cards. In a terminal" in due()

    lesson = LessonPage(page, lab, SECOND)
    for cell_id in ("setup", "earlier"):
        lesson.run_cell(cell_id)
    asked = lesson.show("earlier").locator(".jp-OutputArea .jupyter-widgets details")
    expect(asked).to_have_count(3)
    answer = asked.first.locator("p")
    expect(answer).to_be_hidden()
    asked.first.locator("summary").click()
    expect(answer).to_contain_text("(lesson 1)")
    rate = lesson.show("earlier").get_by_role("button", name="remembered").first
    rate.focus()
    page.keyboard.press("Enter")
    expect(lesson.show("earlier")).to_contain_text("Rated: remembered.")
    (ratings,) = json.loads((lab.folder / CARDS).read_text()).values()
    assert ratings == {"reviews": {str(date.today()): 3}}
    assert "1 exercise, 1 bug hunt, 8 cards" in due()

    practise(lab.folder, Console(quiet=True), date.today(), with_cards=False)
    notebook = f"practice/{date.today()}/practice.ipynb"
    cells = json.loads((lab.folder / notebook).read_text())["cells"]
    (answer_id,) = (cell["id"] for cell in cells if "def softmax" in "".join(cell["source"]))
    write_answers(lab.folder / notebook, {answer_id: answers_of(FIRST)["softmax"]})
    practice = LessonPage(page, lab, notebook)
    for cell in cells:
        if cell["cell_type"] == "code":
            practice.run_cell(cell["id"])
            if cell["id"] == "check-softmax":
                break
    expect(practice.show("check-softmax")).to_contain_text("right in all")
    assert "today: 1 bug hunt, 8 cards" in due()
    assert not elsewhere
