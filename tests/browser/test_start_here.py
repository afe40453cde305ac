"""A student alone: JupyterLab opens on the first page, which checks the set-up and shows the progress."""

import re

import pytest
from lesson_page import WHOLE_NOTEBOOK, LessonPage, answers_of, write_answers
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.browser]

START = "00_start_here/start_here.ipynb"
FIRST = "01_dot_product/dot_product.ipynb"


def test_the_first_page_opens_by_itself_checks_the_set_up_and_knows_what_passes(start_lab, page, picture):
    elsewhere = []
    page.on("request", lambda request: elsewhere.append(request.url))
    lab = start_lab(ATTENTION_LAB_TUTOR="off")  # as a class may have it: the visible tests count
    page.goto(lab.url(""))
    expect(page.get_by_role("heading", name="Start here")).to_be_visible()

    answers = answers_of(FIRST)
    begun = {name: answers[name] for name in ("score", "softmax")}
    begun["context_vector"] = answers["context_vector"].replace("weights @ value", "value @ weights")
    assert begun["context_vector"] != answers["context_vector"]
    write_answers(lab.folder / FIRST, begun)

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
    expect(shown).to_contain_text("1 lesson has changed: press the button.")
    shown.get_by_role("button", name="Look again").click()
    expect(shown).to_contain_text("Running lesson 1 of 1")
    picture(page, "start-here-running")
    expect(shown).to_contain_text("as it was last saved", timeout=WHOLE_NOTEBOOK)
    row = shown.get_by_role("row", name=re.compile("1 · Dot-product attention"))
    for text in (
        "2 of 6",
        "✓ score",
        "✓ softmax",
        "✗ context_vector",
        "· project",
        "context_vector: 3/4 of (4, 0) and 1/4 of (8, 4): [5.0, 1.0] is right, not [3.0, 7.0].",
    ):
        expect(row).to_contain_text(text)
    expect(shown.get_by_role("row")).to_have_count(14)  # the heads and thirteen lessons
    shown.evaluate("cell => cell.scrollIntoView({block: 'center'})")
    picture(page, "start-here-progress")
    assert not [url for url in elsewhere if not re.match(r"(http://127\.0\.0\.1[:/]|data:|blob:)", url)]
