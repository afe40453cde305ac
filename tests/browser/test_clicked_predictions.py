"""Predictions to click: in JupyterLab, light and dark; the answer is kept and comes back."""

import json

import pytest
from pages import LessonPage
from playwright.sync_api import expect

from attention_lab.tutor import RECORD

pytestmark = [pytest.mark.integration, pytest.mark.browser]
MASK, RESHAPE = "03_mask/mask.ipynb", "06_efficient_reshape/efficient_reshape.ipynb"


@pytest.mark.timeout(600)
def test_a_click_is_replied_to_and_kept(start_lab, page, elsewhere):
    lab = start_lab()
    lesson = LessonPage(page, lab, MASK)
    for cell_id in ("setup", "predict-hide"):
        lesson.run_cell(cell_id)
    output = lesson.show("predict-hide").locator(".jp-OutputArea")
    choices = output.get_by_role("button")
    expect(choices).to_have_text(["a · 1 and 3", "b · 2 and 3", "c · only 3", "d · all"])
    choices.nth(1).focus()
    page.keyboard.press("Enter")
    expect(output).to_contain_text("✗ A score of 0 looks like nothing")
    choices.nth(2).click()
    expect(output).to_contain_text("✓ Right: the exponential of −∞ is 0")
    expect(output).not_to_contain_text("looks like nothing")
    assert json.loads((lab.folder / "03_mask" / "answers.json").read_text()) == {"predict-hide": "c"}
    history = json.loads((lab.folder / RECORD).read_text())["predict-hide"]
    assert (history["tries"], history["code"], history["points"]) == (2, "c", 1.0)
    lesson.run_cell("predict-hide")  # as after a restart: the answer is there, and can be changed
    expect(output).to_contain_text("Your answer: only 3")
    assert not elsewhere


@pytest.mark.timeout(600)
def test_several_choices_in_the_dark(start_lab, page):
    lab = start_lab("JupyterLab Dark")
    lesson = LessonPage(page, lab, RESHAPE)
    for cell_id in ("setup", "predict-round-trip"):
        lesson.run_cell(cell_id)
    output = lesson.show("predict-round-trip").locator(".jp-OutputArea")
    output.get_by_label("lazy").check()
    output.get_by_role("button", name="Answer").click()
    expect(output).to_contain_text("✗ “lazy”: It passes: its merge undoes its split")
    output.get_by_label("interleaved").check()
    output.get_by_role("button", name="Answer").click()
    expect(output).to_contain_text("✓ “lazy”")
    light = "element => Number(getComputedStyle(element).color.match(/\\d+/)[0])"
    for part in (output.get_by_label("The reply"), output.get_by_title("mixed")):
        assert part.evaluate(light) > 180
