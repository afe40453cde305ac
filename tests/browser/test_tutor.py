"""A learner with the tutor: told which mistake it is, helped in steps, and shown where they are."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from pages import LessonPage, answers_of, write_answers
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.browser]

SCALING = "02_scaling/scaling.ipynb"
START = "00_start_here/start_here.ipynb"


def press_by_key(lesson, cell_id: str, name: str) -> None:
    """Reach a button of the panel by the keyboard, and press it."""
    button = lesson.show(cell_id).get_by_role("button", name=name)
    button.focus()
    lesson.page.keyboard.press("Enter")
    expect(lesson.page.get_by_text("One moment …")).to_have_count(0)


@pytest.mark.timeout(600)
def test_a_mistake_is_told_fixed_and_remembered(start_lab, page, elsewhere, readme_picture):
    lab = start_lab()
    answers = answers_of(SCALING)
    wrong = answers["scaled_scores"].replace("math.sqrt(d_k)", "d_k")
    assert wrong != answers["scaled_scores"]
    write_answers(lab.folder / SCALING, {**answers, "scaled_scores": wrong})

    lesson = LessonPage(page, lab, SCALING)
    for cell_id in ("setup", "scaled_scores", "check-scaled-scores"):
        lesson.run_cell(cell_id)
    panel = lesson.show("check-scaled-scores").locator(".jp-OutputArea")
    expect(panel.get_by_label("scaled_scores").first).to_contain_text("groups of cases agree")
    expect(panel).to_contain_text("✗")
    expect(panel.get_by_role("button")).to_have_text(["Which mistake?", "Help me", "A solution"])

    press_by_key(lesson, "check-scaled-scores", "Which mistake?")
    expect(panel).to_contain_text(re.compile("root|square"))
    press_by_key(lesson, "check-scaled-scores", "Help me")
    expect(panel).to_contain_text("The smallest case found in which it goes wrong")
    readme_picture(panel, "tutor")
    press_by_key(lesson, "check-scaled-scores", "Help me")
    expect(panel).to_contain_text("There is no further hint.")  # a warm-up has none
    press_by_key(lesson, "check-scaled-scores", "A solution")
    expect(panel).to_contain_text("after 3 tries")

    lesson.write("scaled_scores", answers["scaled_scores"])
    for cell_id in ("scaled_scores", "check-scaled-scores"):
        lesson.run_cell(cell_id)
    expect(panel).to_contain_text("right in all")
    expect(panel.get_by_role("button")).to_have_text(["A solution"])
    press_by_key(lesson, "check-scaled-scores", "A solution")
    expect(panel).to_contain_text("Way 3")
    lesson.save()

    start = LessonPage(page, lab, START)
    start.run_all()
    shown = start.show("progress")
    row = shown.get_by_role("row", name="2 · Scaling and saturation")
    expect(row).to_contain_text("1 of 4")
    expect(row).to_contain_text("✓ scaled_scores (2 tries, 2 hints)")
    row.get_by_text("Met in").click()
    expect(row).to_contain_text(re.compile("root|square"))
    expect(shown).to_contain_text("Next: attention_scores in 1 · Dot-product attention")
    shown.get_by_role("button", name="Start afresh").click()
    expect(shown).to_contain_text("Your notebooks stay as they are.")
    shown.get_by_role("button", name="Yes, forget").click()
    expect(row).to_contain_text("0 of 4")
    assert not elsewhere


@pytest.mark.timeout(600)
def test_panel_and_pictures_in_the_dark(start_lab, page):
    lab = start_lab("JupyterLab Dark")
    write_answers(lab.folder / SCALING, answers_of(SCALING))
    lesson = LessonPage(page, lab, SCALING)
    lesson.run_all()
    panel = lesson.show("check-softmax-jacobian").get_by_label("softmax_jacobian").first
    expect(panel).to_contain_text("right in all")
    light = "element => Number(getComputedStyle(element).color.match(/\\d+/)[0])"
    assert panel.evaluate(light) > 180
    for cell_id in ("sharpening", "saturation_figure"):
        picture = lesson.show(cell_id).locator(".jp-OutputArea-output img").first
        expect(picture).to_have_css("filter", "invert(0.91) hue-rotate(180deg)")


@pytest.mark.timeout(600)
def test_a_plain_course_has_the_panel_by_two_lines(start_lab, page):
    """A learner of `examples/statistics`, whose notebook imports `check` and calls it."""
    course = Path(__file__).parents[2] / "examples" / "statistics"
    lab = start_lab(NBJUDGE_COURSE=str(course))
    wrong = "def deviation(sample):\n    return np.sqrt(((sample - sample.mean()) ** 2).mean())"
    cells = {
        "setup": "import numpy as np\nfrom nbjudge.tutor import check",
        "deviation": wrong,
        "check": "check('deviation')",
    }
    (lab.folder / "ps1").mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = [new_code_cell(source, id=name) for name, source in cells.items()]
    notebook = new_notebook(cells=code, metadata=kernel)
    nbformat.write(notebook, lab.folder / "ps1" / "spread.ipynb")
    lesson = LessonPage(page, lab, "ps1/spread.ipynb")
    for cell_id in cells:
        lesson.run_cell(cell_id)
    panel = lesson.show("check").locator(".jp-OutputArea")
    expect(panel.get_by_label("deviation").first).to_contain_text("0 of 2 groups of cases agree")
    press_by_key(lesson, "check", "Which mistake?")
    expect(panel).to_contain_text("divide by n - 1")
    press_by_key(lesson, "check", "Help me")
    expect(panel).to_contain_text("The smallest case found in which it goes wrong")
