"""The report's page in Chromium: tables are sorted from the keyboard, and no name is obeyed."""

from __future__ import annotations

import pytest
from reported_class import BROKEN, TAG
from tiny_course import FOLDER

Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe
sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright

pytestmark = pytest.mark.integration

CHROMIUM = "/usr/bin/chromium"
QUIET = ["gpu", "background-networking", "component-update", "sync"]
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in QUIET)]
SORTED = "#students table tbody th"


@pytest.fixture
def page():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 400, "height": 900})
        context.set_default_timeout(60_000)
        yield context.new_page()
        browser.close()


@pytest.mark.browser
def test_the_page_is_sorted_and_obeys_no_name(graded_class, report, tmp_path, page):
    assert report(graded_class, FOLDER, "--output", tmp_path / "out").exit_code == 0
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    address = (tmp_path / "out" / "index.html").as_uri()
    page.goto(address)

    points = page.locator("#students th", has_text="points").first
    names = page.locator(SORTED)
    for pressed, direction, first in (("Enter", "descending", "ada"), ("Space", "ascending", BROKEN)):
        points.get_by_role("button").focus()
        page.keyboard.press(pressed)
        assert points.get_attribute("aria-sort") == direction
        assert names.first.inner_text() == first
    assert page.locator("#students th[aria-sort]").count() == 1
    # Who has no points is last, whichever way.
    assert {names.nth(6).inner_text(), names.nth(7).inner_text()} == {"frances", "grace"}

    assert TAG in page.locator("#mistakes").inner_text()
    assert page.evaluate("window.pwned") is None
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {address}
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1200])
def test_no_text_of_a_picture_is_on_another(graded_class, report, tmp_path, page, width):
    assert report(graded_class, FOLDER, "--output", tmp_path / "out").exit_code == 0
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((tmp_path / "out" / "index.html").as_uri())
    boxes = page.evaluate(
        "[...document.querySelectorAll('figure text')].map((each) => {"
        " const {left, right, top, bottom} = each.getBoundingClientRect();"
        " return [each.textContent, left, right, top, bottom]; })"
    )
    assert len(boxes) > 10
    assert [text for text, left, right, *_ in boxes if left < 0 or right > width] == []
    assert [
        (text, other)
        for place, (text, left, right, top, bottom) in enumerate(boxes)
        for other, start, end, above, below in boxes[place + 1 :]
        # The boxes of lines are a little higher than their letters.
        if left < end and start < right and top + 3 < below and above + 3 < bottom
    ] == []
