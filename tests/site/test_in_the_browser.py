"""The pages as people meet them: axe's rules in light and dark, small screens, and the stand-ins moved."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from nbjudge.course.course import open_course

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "artefacts"
OPEN_FOLDS = "document.querySelectorAll('details').forEach(fold => { fold.open = true })"
# A fold that opens fades in; axe would measure the contrast of what is half there.
FADED_IN = "Promise.all(document.getAnimations().map(animation => animation.finished))"
# What is wider than the screen, though it is in nothing that scrolls.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# axe looks at every token of code alone, for seconds a page: one of each kind in each kind of box will do.
ONE_TOKEN_OF_A_KIND = """
const seen = new Set();
for (const token of document.querySelectorAll(".highlight span")) {
  const kind = token.className + " in " + token.closest(".highlight").parentElement.className;
  if (seen.has(kind)) token.replaceWith(...token.childNodes); else seen.add(kind);
}
"""
REFERENCE = ("index", "lessons", "checks", "attention-lab", "nbjudge", "settings")
PAGES = ["index.html", "search.html"]
PAGES += [f"reference/{name}.html" for name in REFERENCE]
PAGES += [f"{lesson.folder}/{lesson.name}.html" for lesson in open_course(ROOT).assignments.values()]

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.browser, pytest.mark.lesson]


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_in_light_or_dark_and_a_small_screen_scrolls_one_way(page, site, path):
    requested_urls = []
    page.on("request", lambda request: requested_urls.append(request.url))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto((site / path).as_uri())
    page.evaluate(OPEN_FOLDS)
    page.evaluate(FADED_IN)
    assert page.evaluate(TOO_WIDE) == 0
    page.evaluate(f"() => {{ {ONE_TOKEN_OF_A_KIND} }}")
    found = Axe().run(page)
    assert found.violations_count == 0, f"light: {found.generate_report()}"
    page.emulate_media(color_scheme="dark")
    found = Axe().run(page, options={"runOnly": ["color-contrast"]})
    assert found.violations_count == 0, f"dark: {found.generate_report()}"
    assert [url for url in requested_urls if not url.startswith(("file:", "data:"))] == []


def test_a_static_slider_moves_by_mouse_and_by_keyboard(page, site):
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.goto((site / "02_scaling/scaling.html").as_uri())
    static_slider = page.locator(".stand-in").nth(1)
    seen = static_slider.locator("figure:visible img")
    assert seen.count() == 1 and "Key width 64." in seen.get_attribute("alt")
    static_slider.get_by_label("512", exact=True).check()
    assert seen.count() == 1 and "Key width 512." in seen.get_attribute("alt")
    page.keyboard.press("ArrowLeft")
    assert "Key width 256." in seen.get_attribute("alt")
    assert seen.evaluate("image => image.complete && image.naturalWidth > 0")
    ARTEFACTS.mkdir(exist_ok=True)
    static_slider.screenshot(path=ARTEFACTS / "site-stand-in.png")
    page.emulate_media(media="print")
    assert seen.count() == static_slider.locator("input").count(), "on paper every frame is there"
