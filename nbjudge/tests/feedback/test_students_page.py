"""The pages that students get from nbgrader's commands, read by a parser and in a browser without network."""

import os
from pathlib import Path

import nbformat
import pytest
from feedback_pages import ALL, FETCHES, FRAME, SCRIPTS, Seen
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, NAME, after, answered, cell_of, hand_in, make_course, succeed

from nbjudge.course.configuration import read_config

pytestmark = pytest.mark.integration


# What the student's own code shows: each attack as HTML, as a drawing, as text, as a name in a traceback.
SHOW = f"""
import sys
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display
attacks = {ALL!r}
for attack in attacks:
    display(HTML(attack), Markdown(attack), Latex(attack))
    display({{"image/svg+xml": attack, "image/png": attack, "text/plain": attack}}, raw=True)
    escape = chr(27)
    print(attack, escape + "[31m" + attack + escape + "[0m", escape + "]8;;http://stranger.invalid" + chr(7))
    print(attack, file=sys.stderr)
display(Javascript("alert('ran'); fetch('http://stranger.invalid/javascript')"))
raise ValueError("".join(attacks))
"""
FILE = "<img src=x onerror=alert('ran')>.ipynb"
COMMENT = "Look at **the factor** again.\n\n" + "\n\n".join(SCRIPTS + FETCHES)


@pytest.fixture(scope="session")
def feedback_class(once) -> Path:
    """The folder of a course in which two students have got their pages."""
    return once("feedback_class", _grade)


def _grade(root: Path) -> None:
    make_course(root)
    hand_in(root, "attacker", _attacking(), name=FILE)
    hand_in(root, "honest", answered())
    succeed(root, "autograde", FOLDER)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.find_comment("double", NAME, FOLDER, "attacker").manual_comment = COMMENT
        gradebook.find_submission_notebook(NAME, FOLDER, "honest").late_submission_penalty = 1.5
        gradebook.find_grade("test_double", NAME, FOLDER, "honest").manual_score = 1
        gradebook.find_grade("test_biggest", NAME, FOLDER, "honest").needs_manual_grade = True
        gradebook.db.commit()
    succeed(root, "generate_feedback", FOLDER, "--student=attacker")
    _through_the_api(root, "honest")


def _through_the_api(root: Path, student: str) -> None:
    config = read_config(root)
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
    config.HTMLExporter.template_name = "formgrade"  # as the formgrader has it
    here = os.getcwd()
    try:
        result = NbGraderAPI(config=config).generate_feedback(FOLDER, student)
    finally:
        os.chdir(here)
    assert result["success"], result


def _attacking() -> nbformat.NotebookNode:
    work = answered(double="def double(x):\n    print(attacks)\n    return x * 1")
    cell_of(work, "double").metadata["name"] = SCRIPTS[0]
    prose = [nbformat.v4.new_markdown_cell(attack) for attack in ALL]
    after(work, "title", SHOW, *prose, nbformat.v4.new_raw_cell("".join(ALL)))
    for number, cell in enumerate(work.cells):
        if "nbgrader" not in cell.metadata:  # ids need not be what the format allows
            cell.id = f'"><script>alert({number})</script>'
    return work


SENTENCE = "Not one quagga was doubled: every number comes back as it went in."


def page_of(root, student):
    """Return where nbgrader puts a student's page."""
    return root / "feedback" / student / FOLDER / f"{NAME}.html"


def test_the_page_of_an_attacker_is_harmless(feedback_class):
    html = page_of(feedback_class, "attacker").read_text()
    seen = Seen(html)
    assert seen.harm(FRAME) == []
    assert SENTENCE in seen.text
    assert "tapir vectors 0 of 1" in seen.text
    assert "Look at the factor again." in seen.text
    assert "<img src=x onerror=alert('ran')>.ipynb" in seen.text  # the file's name, to be read
    for secret in ("HIDDEN TESTS", "check(", "okapi", "import check", "def unchanged"):
        assert secret not in html


def test_the_formgraders_button_makes_the_same_page(feedback_class):
    seen = Seen(page_of(feedback_class, "honest").read_text())
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
def test_in_a_browser_nothing_runs_or_is_asked_for(feedback_class, tmp_path, browser):
    caught = Watched(browser)  # the net has no hole: the same words as a page of their own do harm
    (tmp_path / "raw.html").write_text("".join(SCRIPTS[:2]) + FETCHES[0])
    caught.page.goto((tmp_path / "raw.html").as_uri())
    assert caught.dialogs and caught.strangers

    file = page_of(feedback_class, "attacker")
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
