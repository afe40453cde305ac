"""What a student wrote is drawn within its own cell, and no page is wider than the window it is read in."""

import io

import numpy as np
import pytest
from nbformat import v4
from test_page import code, half_right, judged, page, printed, text
from test_prose import OVER_THE_PAGE

from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict

Image = pytest.importorskip("PIL.Image")
pytestmark = [pytest.mark.integration, pytest.mark.browser]
LONG = "9" * 5_000
VERDICT = Verdict(
    "softmax",
    7,
    (GroupVerdict("large scores", 2, False, f"raised {LONG}"), GroupVerdict("one row", 1, True)),
    (Finding(f"It raises ValueError: {LONG}", "raises", f"Expected {{'{LONG}': 1}}, yours is `{LONG}`."),),
)
HIDE = (
    "cells => cells.forEach(each => [...each.children].forEach(child => child.style.visibility = 'hidden'))"
)
BOXES = """cells => cells.map(each => each.getBoundingClientRect())
    .map(box => [box.x, box.y, box.right, box.bottom])"""
LET_OUT = """cells => cells.forEach(each => {
    each.style.contain = 'none'; each.style.overflow = 'visible';
    each.lastElementChild.style.marginTop = '-300px'; })"""


def opened(browser, html, tmp_path, width):
    (tmp_path / "page.html").write_text(html)
    shown = browser.new_page(viewport={"width": width, "height": 900})
    shown.goto((tmp_path / "page.html").as_uri())
    return shown


def pixels(shown, boxes):
    """Return what is seen outside of these boxes."""
    seen = np.array(Image.open(io.BytesIO(shown.screenshot(full_page=True))).convert("RGB"))
    for left, top, right, bottom in boxes:
        seen[int(top) : int(bottom) + 1, int(left) : int(right) + 1] = 0
    return seen


def changed_outside(shown):
    """Return how many pixels outside of the student's cells are others than without what they wrote."""
    boxes = shown.eval_on_selector_all(".own.prose", BOXES)
    before = pixels(shown, boxes)
    shown.eval_on_selector_all(".own.prose", HIDE)
    return int((before != pixels(shown, boxes)).any(axis=2).sum())


def drawn_page():
    """Each formula in a cell of the student's, between cells that are not."""
    cells = [judged(half_right())]
    for formula in OVER_THE_PAGE:
        written = text(f"$${formula}$$")
        mark_origin(written, Origin.STUDENT)
        cells += [written, code("given = 1")]
    return page(*cells)


def test_no_formula_is_drawn_outside_of_its_cell(browser, tmp_path):
    shown = opened(browser, drawn_page(), tmp_path, 1000)
    assert shown.locator(".own.prose math").count() >= 5
    assert changed_outside(shown) == 0
    let_out = opened(browser, drawn_page(), tmp_path, 1000)
    let_out.eval_on_selector_all(".own.prose", LET_OUT)
    assert changed_outside(let_out) > 100, "the test sees what is drawn outside"


@pytest.mark.parametrize("width", [360, 1000])
def test_no_page_is_wider_than_its_window(browser, tmp_path, width):
    own = text(f"{LONG} `{LONG}` $x = {LONG}$\n\n| {LONG} | b |\n|---|---|\n| `{LONG}` | 2 |\n\n# {LONG}")
    mark_origin(own, Origin.STUDENT)
    error = v4.new_output("error", ename="ValueError", evalue=LONG, traceback=[f"ValueError: {LONG}"])
    cells = [text(f"# {LONG}"), own, judged(VERDICT), code(f"x = {LONG}", printed(LONG), error)]
    cells += [text(LONG, name="why", grade=True, solution=True, points=1, score=0, comment=f"`{LONG}`")]
    about = {"notebook": LONG, "assignment": "01_tiny", "student": "a" * 128, "late_penalty": 1.0}
    html = page(*cells, about=about, nbjudge={"note": LONG})
    shown = opened(browser, html, tmp_path, width)
    shown.eval_on_selector_all("details", "all => all.forEach(each => each.open = true)")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.get_by_text("large scores").first.is_visible()
