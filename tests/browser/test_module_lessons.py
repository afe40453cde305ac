"""Lessons 4 to 7, solved, in JupyterLab: what they draw is seen, and the sliders move."""

import re
from pathlib import Path

import nbformat
import pytest
from lesson_page import LessonPage, answers_of, press_right, write_answers
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.browser]

HEAD = "04_attention_head/attention_head.ipynb"
RESHAPE = "06_efficient_reshape/efficient_reshape.ipynb"


@pytest.fixture
def elsewhere(page):
    """The addresses outside this machine that the page has asked for."""
    urls = []
    page.on("request", lambda request: urls.append(request.url))
    return lambda: [url for url in urls if not re.match(r"(http://127\.0\.0\.1[:/]|data:|blob:)", url)]


@pytest.fixture
def solved(start_lab, page):
    """Opens a lesson with all answers written, or with those of `changed` instead."""

    def open_lesson(path: str, changed: dict[str, str] | None = None) -> LessonPage:
        lab = start_lab()
        write_answers(lab.folder / path, answers_of(path) | (changed or {}))
        return LessonPage(page, lab, path)

    return open_lesson


def cells_with(file: Path, pattern: str) -> list[str]:
    cells = nbformat.read(file, as_version=4).cells
    return [cell.id for cell in cells if cell.cell_type == "markdown" and re.search(pattern, cell.source)]


def expect_no_errors(lesson) -> None:
    errors = lesson.page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
    expect(errors).to_have_count(0)


def expect_formulas(lesson) -> None:
    for cell_id in cells_with(lesson.path, r"\$[^$]+\$"):
        cell = lesson.show(cell_id)
        expect(cell.locator("mjx-container")).not_to_have_count(0)  # some are in a folded hint
        expect(cell.locator("mjx-merror")).to_have_count(0)


def expect_pictures(lesson, cell_ids) -> None:
    for cell_id in cell_ids:
        image = lesson.show(cell_id).locator(".jp-RenderedImage img")
        expect(image).to_be_visible()
        assert image.evaluate("image => image.complete && image.naturalWidth > 300"), cell_id
        # Neither cut off nor shrunk beyond reading.
        assert image.evaluate("image => image.width / image.naturalWidth") > 0.6, cell_id


def test_one_head_is_drawn_and_its_formulas_are_set_without_a_network(solved, picture, elsewhere):
    lesson = solved(HEAD)
    lesson.run_above("thirds")
    expect_no_errors(lesson)
    expect_pictures(lesson, ("saved", "untrained-heads", "by-hand", "learning", "mind"))
    picture(lesson.show("mind"), "lesson-4-mind")
    expect_formulas(lesson)
    assert not elsewhere()


def test_the_reshape_is_walked_by_button_and_by_keyboard(solved, page, picture):
    lesson = solved(RESHAPE)
    lesson.run_all()
    expect_no_errors(lesson)
    shown = lesson.show("blocks").locator(".jp-OutputArea-output")
    words, image = shown.get_by_role("status"), shown.locator("img")
    expect(words).to_contain_text("Step 0 of 4.")
    expect(shown.get_by_role("button", name="Previous")).to_be_disabled()
    seen = {image.get_attribute("src")}

    shown.get_by_role("button", name="Next").click()
    expect(words).to_contain_text("Step 1 of 4. Right: view(B, T, H, D)")
    seen.add(image.get_attribute("src"))
    press_right(page, shown, times=1)
    expect(words).to_contain_text("the row of head 0 holds I 0, am 0, learning 0, this 0")
    expect(words).to_contain_text("the row of head 0 holds I 0, I 1, am 0, am 1")
    seen.add(image.get_attribute("src"))
    picture(lesson.show("blocks"), "lesson-6-reshape")
    press_right(page, shown, times=2)
    expect(words).to_contain_text("Step 4 of 4.")
    expect(shown.get_by_role("button", name="Next")).to_be_disabled()
    seen.add(image.get_attribute("src"))
    assert len(seen) == 4
    lesson.unfold_excursions()
    expect_pictures(lesson, ("map",))
    expect_formulas(lesson)
