"""A student opens the lessons in JupyterLab, plays, errs, is told, fixes it, and hands it in."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lesson_page import ROOT, LessonPage, answers_of, press_right
from nbgrader.api import Gradebook
from playwright.sync_api import Locator, expect

from nbjudge.course.course import Course

pytestmark = [pytest.mark.integration, pytest.mark.browser]

SCALING = "02_scaling/scaling.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course of its own, with an empty gradebook."""
    for name in ("source", "solutions", "checks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    nbgrader(tmp_path, "generate_assignment", "02_scaling")
    return tmp_path


def nbgrader(course: Path, *arguments: str) -> None:
    # nbgrader calls alembic by its name; it is installed beside the interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


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


def test_a_slider_moves_by_keyboard_and_picture_and_words_follow(start_lab, page, readme_picture):
    lesson = LessonPage(page, start_lab(), SCALING)
    lesson.run_all()
    shown = lesson.show("sharpening").locator(".jp-OutputArea-output").last
    words, image = shown.get_by_role("status"), shown.locator("img")
    expect(words).to_contain_text("Sharpening factor 1:")
    before, first_words = image.get_attribute("src"), words.text_content()
    press_right(page, shown, times=20)
    expect(words).to_contain_text("Sharpening factor 3:")
    expect(image).not_to_have_attribute("src", before)
    assert largest_weight(words.text_content()) > largest_weight(first_words)

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
    readme_picture(shown, "slider")


def largest_weight(words: str) -> float:
    return float(re.search(r"largest weight ([\d.]+)", words).group(1))


@pytest.mark.timeout(900)
def test_a_mistake_is_named_fixed_and_the_lesson_earns_full_marks(
    start_lab, page, picture, readme_picture, course
):
    lesson = LessonPage(page, start_lab(), SCALING)
    answers = answers_of(SCALING)
    wrong = answers["scaled_scores"].replace("math.sqrt(d_k)", "d_k")
    assert wrong != answers["scaled_scores"]

    lesson.write("scaled_scores", wrong)
    message = lesson.validate()
    picture(page, "validate-a-mistake")
    assert "width 4, by hand" in message and "got [[2.5, 1.0, 0.5]" in message
    lesson.close_dialog()
    hand_in(course, "mistaken", lesson.path.read_bytes())

    for cell_id, answer in answers.items():
        lesson.write(cell_id, answer)
    message = lesson.validate()
    picture(page, "validate-success")
    assert "Success" in message
    lesson.close_dialog()
    lesson.save()
    hand_in(course, "fixed", lesson.path.read_bytes())

    nbgrader(course, "autograde", "02_scaling")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        fixed = gradebook.find_submission("02_scaling", "fixed")
        assert fixed.max_code_score > 0
        assert fixed.code_score == fixed.max_code_score
        assert gradebook.find_submission("02_scaling", "mistaken").code_score < fixed.code_score

    nbgrader(course, "generate_feedback", "02_scaling", "--student=mistaken")
    feedback = open_feedback(page, course / "feedback/mistaken/02_scaling/scaling.html")
    answer = feedback.filter(has_text="def scaled_scores(")
    verdict = feedback.filter(has_text="scaled_scores: 0 of")
    expect(verdict).to_contain_text(message_of("scaled_scores", "divided_by_d_k"))
    picture(page, "feedback", full_page=True)
    readme_picture(page, "named-mistake", full_page=True, clip=around(answer, verdict))


@pytest.mark.parametrize(
    "theme", [pytest.param("JupyterLab Light", marks=pytest.mark.smoke), "JupyterLab Dark"]
)
def test_the_first_lesson_runs_to_its_first_exercise_and_asks_for_the_answer(start_lab, page, picture, theme):
    lesson = LessonPage(page, start_lab(theme), "01_dot_product/dot_product.ipynb")
    lesson.run_all()
    errors = page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
    expect(errors).to_have_count(1)
    expect(errors).to_contain_text("NotImplementedError")
    expect(lesson.cell("test_score").locator(errors)).to_have_count(1)
    for number, cell_id in enumerate(("setup", "arrows-picture", "test_score")):
        lesson.show(cell_id)
        picture(page, f"first-lesson-{theme.split()[-1].lower()}-{number}")
