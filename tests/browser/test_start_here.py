"""A student alone: JupyterLab opens on the first page, which checks the set-up and shows the progress."""

import re

import pytest
from lesson_page import LessonPage
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.browser]

START = "00_start_here/start_here.ipynb"


def test_the_first_page_opens_by_itself_and_checks_the_set_up_also_without_a_tutor(start_lab, page, picture):
    elsewhere = []
    page.on("request", lambda request: elsewhere.append(request.url))
    lab = start_lab(ATTENTION_LAB_TUTOR="off")  # as a class may have it
    page.goto(lab.url(""))
    expect(page.get_by_role("heading", name="Start here")).to_be_visible()

    lesson = LessonPage(page, lab, START)
    lesson.run_all()
    checked = lesson.show("check")
    expect(checked).to_contain_text("every package in a version that fits")
    expect(checked).to_contain_text("✓ Widgets are live")
    expect(checked).not_to_contain_text("✗")
    picture(page, "start-here-set-up")
    for cell_id in ("batch", "sums", "same-word"):
        expect(lesson.show(cell_id).locator(".jp-RenderedImage img")).to_be_visible()
    picture(lesson.show("sums"), "start-here-sums")

    shown = lesson.show("progress")
    expect(shown).to_contain_text("Press Validate in a lesson's toolbar")
    shown.evaluate("cell => cell.scrollIntoView({block: 'center'})")
    picture(page, "start-here-progress")
    assert not [url for url in elsewhere if not re.match(r"(http://127\.0\.0\.1[:/]|data:|blob:)", url)]
