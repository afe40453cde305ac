"""Widgets without their kernel show what was stored of them, and which cell to run again."""

import nbformat
import pytest
from lesson_page import LessonPage
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
KEPT = {"slider": "Key width 64", "line": AGAIN, "progress": "0 of 6"}  # in each text
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


def test_dead_widgets_say_what_to_run_again(start_lab, page, picture):
    """After a restart of the kernel, and when the notebook is opened on another day."""
    lab = start_lab()
    page.goto(lab.url(""))
    expect(page.get_by_role("heading", name="Start here")).to_be_visible()
    cells = [nbformat.v4.new_code_cell(source, id=cell_id) for cell_id, source in CELLS.items()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), lab.folder / NOTEBOOK)
    lesson = LessonPage(page, lab, NOTEBOOK)
    lesson.run_all()
    expect_alive(lesson)
    picture(page, "widgets-alive")

    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_text("Restart Kernel…", exact=True).click()
    page.locator(".jp-Dialog").get_by_text("Restart", exact=True).click()
    expect_dead(lesson)
    picture(page, "widgets-after-restart")

    lesson.run_all()
    expect_alive(lesson)
    lesson.save()
    for session in page.request.get(lab.url("api/sessions")).json():
        headers = {"Authorization": "token student"}
        page.request.delete(lab.url(f"api/sessions/{session['id']}"), headers=headers)
    lesson = LessonPage(page, lab, NOTEBOOK)
    expect_dead(lesson)
    picture(page, "widgets-on-day-two")
    lesson.run_all()
    expect_alive(lesson)
