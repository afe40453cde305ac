"""The pages that students get from nbgrader's commands, read by a parser and in a browser without network."""

import pytest
from feedback_pages import FETCHES, FRAME, SCRIPTS, Seen, page_file

pytestmark = pytest.mark.integration

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--no-first-run"]
ARGUMENTS += [f"--disable-{part}" for part in ("gpu", "background-networking", "component-update", "sync")]
SENTENCE = "Not one quagga was doubled: every number comes back as it went in."


def test_the_page_of_an_attacker_is_harmless(feedback_class):
    html = page_file(feedback_class, "attacker").read_text()
    seen = Seen(html)
    assert seen.harm(FRAME) == []
    assert SENTENCE in seen.text
    assert "tapir vectors 0 of 1" in seen.text
    assert "Look at the factor again." in seen.text
    assert "<img src=x onerror=alert('ran')>.ipynb" in seen.text  # the file's name, to be read
    for secret in ("HIDDEN TESTS", "check(", "okapi", "import check", "def unchanged"):
        assert secret not in html


def test_the_formgraders_button_makes_the_same_page(feedback_class):
    seen = Seen(page_file(feedback_class, "honest").read_text())
    assert seen.harm(FRAME) == []
    assert "double 1 of 2 Right in every case." in seen.text
    assert "These points were given by hand; by the groups alone they would be 2 of 2." in seen.text
    assert "biggest ? of 1 Not marked yet" in seen.text
    assert "Handed in late −1.5" in seen.text


class Watched:
    """A page of a browser that writes down what it asks for, and every dialog that opens."""

    def __init__(self, browser):
        self.requested_urls, self.dialogs = [], []
        self.page = browser.new_page(viewport={"width": 1000, "height": 1200})
        self.page.on("request", lambda request: self.requested_urls.append(request.url))
        self.page.on("dialog", self._close)
        self.page.route(
            "**", lambda route: route.continue_() if "file:" in route.request.url else route.abort()
        )

    def _close(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def strangers(self):
        return [url for url in self.requested_urls if not url.startswith(("file:", "data:"))]


@pytest.mark.browser
def test_in_a_browser_nothing_runs_or_is_asked_for(feedback_class, tmp_path):
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        caught = Watched(browser)  # the net has no hole: the same words as a page of their own do harm
        (tmp_path / "raw.html").write_text("".join(SCRIPTS[:2]) + FETCHES[0])
        caught.page.goto((tmp_path / "raw.html").as_uri())
        assert caught.dialogs and caught.strangers

        file = page_file(feedback_class, "attacker")
        watched = Watched(browser)
        page = watched.page
        page.goto(file.as_uri())
        for folded in page.locator("details").all():
            folded.evaluate("each => { each.open = true }")
        page.get_by_role("link", name="double").first.click()
        panel = page.locator("#exercise-1")
        assert panel.get_by_text(SENTENCE).is_visible()
        assert panel.get_by_role("row", name="wrong tapir vectors 0 of 1").is_visible()
        # The page's own style passes its policy, and formulas are drawn.
        assert page.evaluate("getComputedStyle(document.body).maxWidth") != "none"
        assert page.locator("math").first.evaluate("each => each.getBoundingClientRect().width") > 5
        page.wait_for_load_state("networkidle")
        assert (watched.dialogs, watched.strangers) == ([], [])
        assert watched.requested_urls[0] == file.as_uri()
        browser.close()
