"""A student opens the lessons in JupyterLab, plays, errs, is told, fixes it, and hands it in."""

import re
import shutil
from pathlib import Path

import pytest
from course_copies import ROOT
from nbgrader.api import Gradebook
from pages import LessonPage, answers_of, press_right
from playwright.sync_api import Locator, expect
from tiny_course import succeed

from nbjudge.course import Course

pytestmark = [pytest.mark.integration, pytest.mark.browser]

START = "00_start_here/start_here.ipynb"


def test_the_first_page_works_without_a_tutor(start_lab, page, elsewhere):
    lab = start_lab(ATTENTION_LAB_TUTOR="off")  # as a class may have it
    page.goto(lab.url(""))
    expect(page.get_by_role("heading", name="Start here")).to_be_visible()

    lesson = LessonPage(page, lab, START)
    lesson.run_all()
    checked = lesson.show("check")
    expect(checked).to_contain_text("every package in a version that fits")
    expect(checked).to_contain_text("✓ Widgets are live")
    expect(checked).not_to_contain_text("✗")
    for cell_id in ("batch", "sums", "same-word"):
        expect(lesson.show(cell_id).locator(".jp-RenderedImage img")).to_be_visible()

    shown = lesson.show("progress")
    expect(shown).to_contain_text("Press Validate in a lesson's toolbar")
    shown.evaluate("cell => cell.scrollIntoView({block: 'center'})")
    assert not elsewhere


# ---- a student plays, errs, is told, fixes it, and hands it in ----

SCALING = "02_scaling/scaling.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course of its own, with an empty gradebook."""
    for name in ("source", "solutions", "checks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    succeed(tmp_path, "generate_assignment", "02_scaling")
    return tmp_path


def hand_in(course: Path, student: str, notebook: bytes) -> None:
    target = course / "submitted" / student / SCALING
    target.parent.mkdir(parents=True)
    target.write_bytes(notebook)


def open_feedback(page, file: Path) -> Locator:
    """The code cells of a feedback page, read without the network that its fonts and formulas come from."""
    page.route("**", lambda route: route.continue_() if "file:" in route.request.url else route.abort())
    page.set_viewport_size({"width": 1000, "height": 1000})
    page.goto(file.as_uri())
    return page.locator(".code_cell")


def message_of(exercise: str, mistake: str) -> str:
    mistakes = Course(ROOT).exercise(exercise)[1].mistakes
    return next(each.message for each in mistakes if each.name == mistake)


def around(first: Locator, last: Locator) -> dict[str, float]:
    """The part of a page from one element to a later one."""
    top, bottom = first.bounding_box(), last.bounding_box()
    height = bottom["y"] + bottom["height"] - top["y"]
    return {"x": top["x"] - 10, "y": top["y"], "width": top["width"] + 20, "height": height}


def test_a_slider_moves_by_keyboard(start_lab, page):
    lesson = LessonPage(page, start_lab(), SCALING)
    lesson.run_all()
    shown = lesson.show("sharpening").locator(".jp-OutputArea-output").last
    words, image = shown.get_by_role("status"), shown.locator("img")
    expect(words).to_contain_text("Sharpening factor 1:")
    before, first_words = image.get_attribute("src"), words.text_content()
    press_right(page, shown, times=20)
    expect(words).to_contain_text("Sharpening factor 3:")
    expect(image).not_to_have_attribute("src", before)
    before, after = (
        float(re.search(r"largest weight ([\d.]+)", text).group(1))
        for text in (first_words, words.text_content())
    )
    assert after > before

    lesson.unfold_excursions()
    lesson.run_cell("width_by_hand")
    # The picture that is shown has loaded, and is the new one.
    shown = lesson.show("width_by_hand").locator(".jp-OutputArea-output").last
    seen = shown.locator("img").screenshot()
    press_right(page, shown, times=8)
    expect(shown.get_by_role("status")).to_contain_text("Key width 72.")
    assert shown.locator("img").screenshot() != seen
    box = shown.get_by_role("spinbutton")  # takes exact values
    box.fill("256")
    box.press("Enter")
    expect(shown.get_by_role("status")).to_contain_text("Key width 256.")


@pytest.mark.timeout(900)
def test_a_fixed_mistake_earns_full_marks(start_lab, page, readme_picture, course):
    lesson = LessonPage(page, start_lab(), SCALING)
    answers = answers_of(SCALING)
    wrong = answers["scaled_scores"].replace("math.sqrt(d_k)", "d_k")
    assert wrong != answers["scaled_scores"]

    lesson.write("scaled_scores", wrong)
    message = lesson.validate()
    assert "width 4, by hand" in message and "got [[2.5, 1.0, 0.5]" in message
    lesson.close_dialog()
    hand_in(course, "mistaken", lesson.path.read_bytes())

    for cell_id, answer in answers.items():
        lesson.write(cell_id, answer)
    message = lesson.validate()
    assert "Success" in message
    lesson.close_dialog()
    lesson.save()
    hand_in(course, "fixed", lesson.path.read_bytes())

    succeed(course, "autograde", "02_scaling")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        fixed = gradebook.find_submission("02_scaling", "fixed")
        assert fixed.max_code_score > 0
        assert fixed.code_score == fixed.max_code_score
        assert gradebook.find_submission("02_scaling", "mistaken").code_score < fixed.code_score

    succeed(course, "generate_feedback", "02_scaling", "--student=mistaken")
    feedback = open_feedback(page, course / "feedback/mistaken/02_scaling/scaling.html")
    answer = feedback.filter(has_text="def scaled_scores(")
    verdict = feedback.filter(has_text="scaled_scores: 0 of")
    expect(verdict).to_contain_text(message_of("scaled_scores", "divided_by_d_k"))
    readme_picture(page, "named-mistake", full_page=True, clip=around(answer, verdict))


@pytest.mark.parametrize(
    "theme", [pytest.param("JupyterLab Light", marks=pytest.mark.smoke), "JupyterLab Dark"]
)
def test_the_first_lesson_runs_to_its_exercise(start_lab, page, theme):
    lesson = LessonPage(page, start_lab(theme), "01_dot_product/dot_product.ipynb")
    lesson.run_all()
    errors = page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
    expect(errors).to_have_count(1)
    expect(errors).to_contain_text("NotImplementedError")
    expect(lesson.cell("test_attention_scores").locator(errors)).to_have_count(1)
